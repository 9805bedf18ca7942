"""Requests to the API server through kubectl.

`kubectl` has one request and its answer, `logs` its log, `failures` advice for its errors;
`watching` has watches. `waiting` returns when an object is ready or a change in force; `instances`
finds which instances of LNamespaces there are.
"""
