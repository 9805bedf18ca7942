"""LNamespaces for namespaces that exist: `python3 hack/adoption --help`."""
