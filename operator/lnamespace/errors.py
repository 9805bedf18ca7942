"""The exceptions of this package, in one tree.

::

    LNamespaceError
    ├── SettingsError            an option's value is wrong; the message says which and why
    │   └── OptionError          the value alone shows it: the exit code is 2
    ├── ModelError               an object that cannot be read as an LNamespace
    ├── ReviewError              the API server's question cannot be read
    ├── PayersError              the file that says who pays by default is wrong
    ├── ProfilesError            the file with the profiles is wrong
    ├── LedgerError              the ledger's database did not do what was asked
    │   ├── LedgerUnavailable    no answer, busy, asks for patience
    │   ├── LedgerMisconfigured  rights, table, quota: somebody has to do something
    │   └── RowsRefused          something in the rows; without it the others pass
    ├── LostLease                another process may lead; nothing may be written
    └── ClusterError             the cluster did not do what was asked
        ├── Unreachable      no answer: connection refused or cut, time-out              retryable
        ├── Throttled        429                                                         retryable
        ├── ServerFault      5xx                                                         retryable
        │   ├── Unreadable       an answer that cannot be decoded: a proxy's page, say
        │   └── NoRoom           the object would be larger than etcd takes
        ├── Conflict         409: somebody else was first; look again                    retryable
        │   └── AlreadyExists    409 on create
        ├── TooLarge         an answer of more bytes than the caller takes
        ├── Expired          410: the resource version is too old; list again            retryable
        ├── Terminating      403/409: the namespace is on its way out                    retryable
        ├── NoNamespace      404 on create: the namespace may yet come                   retryable
        ├── NoServiceAccount the ServiceAccount that is listed may yet come              retryable
        ├── Unauthenticated  401: credentials are renewed meanwhile                      retryable
        ├── Forbidden        403: an API server that has just started knows no roles
        │                    yet, and an admin can mend ours                             retryable
        ├── NotFound         404
        └── Invalid          400, 422 and what else will not pass by itself

Whether trying again can help is a property of a ClusterError's type, so that no caller decides it
by text.
"""

from typing import ClassVar


class LNamespaceError(Exception):
    """Any error that this package raises on purpose."""


class SettingsError(LNamespaceError):
    """An option has a value that cannot work."""


class OptionError(SettingsError):
    """An option has a value that cannot work on any machine and cluster."""


class ModelError(LNamespaceError):
    """An object cannot be read as an LNamespace."""


class ReviewError(LNamespaceError):
    """A review that the webhook was sent is not one; it is answered with 400."""


class PayersError(LNamespaceError):
    """The file that says who pays by default cannot be used; the message says which line."""


class ProfilesError(LNamespaceError):
    """The file with the profiles cannot be used; the message says where or what the server says."""


class LedgerError(LNamespaceError):
    """The database of the ledger refused, failed or did not answer."""


class LedgerUnavailable(LedgerError):
    """The database gave no answer, is busy, or asks for patience."""


class LedgerMisconfigured(LedgerError):
    """The database will not let us until somebody does something; nothing is lost meanwhile."""


class RowsRefused(LedgerError):
    """The database takes no such rows; which of them it is, it does not say."""


class LostLease(LNamespaceError):
    """The lease is lost: another process may lead, and ours must end and start as a standby."""


class ClusterError(LNamespaceError):
    """The API server refused, failed or did not answer.

    ``status`` is the HTTP status, 0 where there was no answer. ``retry_after`` is the server's
    own advice in seconds, 0 where it gave none.
    """

    retryable: ClassVar[bool] = False
    longest_delay: ClassVar[float] = 30.0
    """Seconds to which the delay between tries may grow."""

    def __init__(self, message: str, *, status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class Unreachable(ClusterError):
    """The API server gave no answer."""

    retryable = True


class Throttled(ClusterError):
    """The API server asks for patience."""

    retryable = True


class ServerFault(ClusterError):
    """The API server failed."""

    retryable = True


class Unreadable(ServerFault):
    """The answer cannot be decoded; something between us and the API server may have given it."""


class NoRoom(ServerFault):
    """The object would be larger than etcd takes, which the API server calls an internal error."""


class Conflict(ClusterError):
    """The object is not as the request assumed.

    It is retried without a growing delay: one of two writers would starve otherwise.
    """

    retryable = True
    longest_delay = 5.0


class AlreadyExists(Conflict):
    """An object of that name exists."""


class TooLarge(ClusterError):
    """The answer has more bytes than the caller takes."""


class Expired(ClusterError):
    """The resource version is no longer served."""

    retryable = True


class Terminating(ClusterError):
    """The namespace is being deleted: nothing can be created in it."""

    retryable = True


class NoNamespace(ClusterError):
    """The namespace to create something in is not there."""

    retryable = True
    longest_delay = 300.0


class NoServiceAccount(ClusterError):
    """A sudoer that is no ServiceAccount of its namespace yet; nothing is made for it.

    There may be very many, of somebody who lists what there is not, so they are seldom asked for.
    """

    retryable = True
    longest_delay = 120.0


class Unauthenticated(ClusterError):
    """The API server does not know us; a renewed token may help."""

    retryable = True


class NotFound(ClusterError):
    """The object does not exist."""


class Forbidden(ClusterError):
    """The API server does not allow it to us, for now."""

    retryable = True
    longest_delay = 300.0


class Invalid(ClusterError):
    """The request cannot succeed as it is."""
