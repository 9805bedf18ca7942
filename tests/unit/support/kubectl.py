"""What plugins ask of kubectl, as tests read it."""

from lnamespace.plugins.cluster.kubectl import DEFAULTS


def asked(line: str) -> str:
    """Return a command line without the flags that only say kubectl's defaults."""
    defaults = {flag for flags in DEFAULTS.values() for flag in flags}
    return " ".join(word for word in line.split(" ") if word not in defaults)
