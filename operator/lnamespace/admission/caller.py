"""The address of the client whose request is being answered.

The API server does not authenticate itself to a webhook, so that any client that reaches the port
looks like it. So each address has the same part of what is scarce: a stranger gets no more than the
API server does.
"""

from contextvars import ContextVar

address: ContextVar[str] = ContextVar("address", default="")
"""The connection's peer address; the server sets it for each request."""
