"""The headers ``Impersonate-*`` of a client.

They name a user inside the tenant's cluster, and need a right there. A spelling that only some
servers take for one of these headers is refused, so that none is silently ignored.
"""

from dataclasses import dataclass
from urllib.parse import unquote

from lnamespace.translate.protocol.status import bad_request

_EXTRA = "impersonate-extra-"
_SINGLE = frozenset({"impersonate-user", "impersonate-uid"})
_KNOWN = _SINGLE | {"impersonate-group"}


@dataclass(frozen=True)
class ImpersonationHeaders:
    """The impersonated user, in tenant spelling.

    Parameters
    ----------
    extra
        Keys in lower case and decoded, each with its values in their order.
    """

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


def impersonation_of(headers: tuple[tuple[str, str], ...]) -> ImpersonationHeaders | None:
    """Return the impersonated user; None without impersonation.

    Parameters
    ----------
    headers
        All of the request's, with names in lower case.

    Raises
    ------
    Refused
        If a header is given twice, is spelled oddly, or names no user.
    """
    ours = [each for each in headers if each[0].replace("_", "-").startswith("impersonate")]
    if not ours:
        return None
    for name, value in ours:
        _refuse_odd(name, value)
    single = [name for name, _ in ours if name in _SINGLE]
    if len(single) != len(set(single)):
        raise bad_request("an impersonation header is given more than once")
    values = dict(ours)
    if not values.get("impersonate-user"):
        raise bad_request("requested impersonation without impersonating a user")
    groups = tuple(value for name, value in ours if name == "impersonate-group")
    return ImpersonationHeaders(
        values["impersonate-user"], groups, values.get("impersonate-uid", ""), _extra(ours)
    )


def _refuse_odd(name: str, value: str) -> None:
    if name not in _KNOWN and not (name.startswith(_EXTRA) and name != _EXTRA):
        raise bad_request("unknown impersonation header")
    if not value.isprintable():
        raise bad_request("an impersonation header has a value with control characters")


def _extra(ours: list[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for name, value in ours:
        if name.startswith(_EXTRA):
            found.setdefault(unquote(name.removeprefix(_EXTRA)), []).append(value)
    return tuple((key, tuple(values)) for key, values in found.items())
