"""Namespaces and clusters for teams on a shared Kubernetes cluster.

The packages are layers, which `pyproject.toml` lists and `make lint` checks; docs/architecture.md
says what each does.

:mod:`lnamespace.plugins` stands apart: the kubectl plugins, on the standard library alone.
"""
