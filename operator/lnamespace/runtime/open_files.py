"""How many files a process may have open; each connection is one."""

import resource


def raise_open_files() -> int:
    """Raise this process's limit of open files as far as it may; return the limit.

    Many systems begin with 1,024, for old programs. A gateway with a thousand idle clients then had
    no file left for a connection to the API server.
    """
    _, hardest = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = hardest if hardest != resource.RLIM_INFINITY else _ENDLESS
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hardest))
    return most


_ENDLESS = 1_048_576
"""The limit that is set where the system has none: the most that Linux gives by default."""
