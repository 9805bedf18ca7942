"""Every metric, once: its name, its labels and its meaning.

* :mod:`~lnamespace.metrics.controller`, :mod:`~lnamespace.metrics.webhook`,
  :mod:`~lnamespace.metrics.ledger`, :mod:`~lnamespace.metrics.gateway`
  - the metrics of one process each.
* :mod:`~lnamespace.metrics.joined` - the metrics of several workers as those of one process; pure.
* :mod:`~lnamespace.metrics.base` - what a metric is; the info metric of every process.
* :mod:`~lnamespace.metrics.processes` - all by name, and the tables of docs/metrics.md, which
  a test compares with this package.

An import registers nothing: each instance of a class has a registry of its own, so that a process
exposes its own metrics only. No label carries the name of a user or of an LNamespace, nor other
text that people choose.
"""
