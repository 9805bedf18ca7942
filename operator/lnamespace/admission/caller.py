"""Who sent the request that is being answered, as far as it can be known: an address.

The API server calls without saying who it is, so everybody who reaches the port looks like it. What
is scarce is therefore shared out by address, and a stranger gets no more than the API server does.
"""

from contextvars import ContextVar

address: ContextVar[str] = ContextVar("address", default="")
"""Of the connection; set by the server for each request."""
