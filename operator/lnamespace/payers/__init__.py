"""Who pays for a namespace by default: the platform team's file, and the rules that apply it.

Read the modules in this order:

* :mod:`~lnamespace.payers.patterns` - regular expressions over group names.
* :mod:`~lnamespace.payers.entries` - the configuration and the requester, as values.
* :mod:`~lnamespace.payers.resolution` - the rules R1 to R10, pure: who pays for a new LNamespace.
* :mod:`~lnamespace.payers.refusals` - the messages of those rules.
* :mod:`~lnamespace.payers.parsing` - YAML to configuration.
* :mod:`~lnamespace.payers.file` - the file, read again when it changes.
* :mod:`~lnamespace.payers.directory` - groups that a login does not name, cached;
  :mod:`~lnamespace.payers.cloud_identity` gets them from Google.
* :mod:`~lnamespace.payers.command` - ``lnamespace payers check``.
"""
