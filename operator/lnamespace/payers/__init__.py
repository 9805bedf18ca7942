"""Who pays for a namespace by default.

In the order in which they build on each other:

* :mod:`~lnamespace.payers.patterns` - patterns of group names.
* :mod:`~lnamespace.payers.entries` - who pays for whom, as values.
* :mod:`~lnamespace.payers.parsing` - the YAML of it; :mod:`~lnamespace.payers.file` reads it anew
  when it changes.
* :mod:`~lnamespace.payers.refusals` - why nobody pays, and what to do about it.
* :mod:`~lnamespace.payers.resolution` - who pays for what somebody creates; pure.
* :mod:`~lnamespace.payers.directory` - groups that the API server does not know;
  :mod:`~lnamespace.payers.cloud_identity` asks Google for them.
* :mod:`~lnamespace.payers.command` - ``lnamespace payers check``.
"""
