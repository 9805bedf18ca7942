"""The API server, asked through kubectl.

`kubectl` is one request and its answer, `logs` its log, `failures` what to do where it fails;
`watching` is a watch. `waiting` returns when an object is ready or a change in force; `instances`
finds which instances of LNamespaces there are.
"""
