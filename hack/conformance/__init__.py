"""Kubernetes' own conformance tests: against a control plane, and through the gateway beside it.

The modules:

- :mod:`~conformance.suite` builds `e2e.test` from its pinned source and runs specs of it;
- :mod:`~conformance.clusters` is the control plane with the product and a tenant's cluster in it;
- :mod:`~conformance.comparison` sets both results side by side;
- :mod:`~conformance.cli` is the command line.
"""
