"""The API server, asked through kubectl.

`kubectl` is one request and its answer, `watching` a watch. `waiting` returns when an object is
ready or a change in force; `instances` finds which instances of LNamespaces there are.
"""
