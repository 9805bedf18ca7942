"""Authorize impersonation inside one tenant, as the API server's impersonation filter does.

Classic impersonation needs the verb ``impersonate`` on users, groups, uids and userextras.
Constrained impersonation (KEP-5284, on by default since Kubernetes 1.36) is tried before it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from lnamespace.rbac.attributes import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    SERVICE_ACCOUNTS,
    UNAUTHENTICATED,
    Attributes,
    User,
    access_denied,
)
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.translate.protocol.status import Refused

_AUTHENTICATION = "authentication.k8s.io"
_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_SERVICE_ACCOUNT = re.compile(f"system:serviceaccount:(?P<ns>{_LABEL}):(?P<name>{_SUBDOMAIN})")
_NODE = re.compile(f"system:node:(?P<name>{_SUBDOMAIN})")
_LONGEST_SUBDOMAIN = 253
_MANY = 4
"""With this many groups or extras or more, constrained impersonation checks all at once first."""


def impersonated_user(
    authorizer: Authorizer, requestor: User, wanted: User, attributes: Attributes
) -> User:
    """Return the user that a request is made as, with the groups that belong to them.

    Parameters
    ----------
    attributes
        The attributes of the request that is made as the wanted user.

    Raises
    ------
    Refused
        Forbidden if the requestor may not impersonate the wanted user.
    """
    if wanted.name != requestor.name:
        # A sudoer may enter system:masters only as themselves, not as another user.
        requestor = replace(requestor, sudoer=False)
    first: Refused | None = None
    for mode in _CONSTRAINED:
        if not mode.fits(wanted):
            continue
        try:
            return _constrained(authorizer, requestor, wanted, attributes, mode)
        except Refused as refused:
            first = first or refused
    try:
        return _Check(authorizer, requestor, "impersonate", "").user(wanted)
    except Refused as refused:
        raise (first or refused) from None


@dataclass(frozen=True)
class _Mode:
    """One way of constrained impersonation, and whom it is for."""

    name: str
    fits: Callable[[User], bool]


def _only_name(user: User) -> bool:
    return not (user.uid or user.groups or user.extra)


_CONSTRAINED = (
    _Mode("arbitrary-node", lambda user: _only_name(user) and _node(user.name) is not None),
    _Mode(
        "serviceaccount", lambda user: _only_name(user) and _service_account(user.name) is not None
    ),
    _Mode(
        "user-info", lambda user: _node(user.name) is None and _service_account(user.name) is None
    ),
)


def _constrained(
    authorizer: Authorizer, requestor: User, wanted: User, attributes: Attributes, mode: _Mode
) -> User:
    check = _Check(authorizer, requestor, f"impersonate:{mode.name}", _AUTHENTICATION)
    asked = Attributes(
        f"impersonate-on:{mode.name}:{attributes.verb}",
        attributes.group,
        attributes.version,
        attributes.resource,
        attributes.subresource,
        attributes.namespace,
        attributes.name,
        attributes.path,
        attributes.resource_request,
    )
    check.require(asked)
    return check.user(wanted)


@dataclass(frozen=True)
class _Check:
    """A check of each part of the user to impersonate.

    Parameters
    ----------
    group
        The API group of users and groups; with a group, impersonation is constrained.
    """

    authorizer: Authorizer
    requestor: User
    verb: str
    group: str

    def user(self, wanted: User) -> User:
        """Return the impersonated user if all of it is allowed."""
        groups = self._name(wanted)
        if wanted.uid:
            self.require(self._part("uids", wanted.uid, group=_AUTHENTICATION))
        self._groups(wanted.groups)
        self._extra(wanted)
        return User(wanted.name, wanted.uid, _completed(wanted.name, groups), wanted.extra)

    def require(self, attributes: Attributes) -> None:
        """Refuse the request unless the requestor has this right."""
        decision = self.authorizer.allows(self.requestor, attributes)
        if not decision.allowed:
            raise access_denied(self.requestor, attributes, decision.reason)

    def _may(self, attributes: Attributes) -> bool:
        return self.authorizer.allows(self.requestor, attributes).allowed

    def _name(self, wanted: User) -> tuple[str, ...]:
        account, node = _service_account(wanted.name), _node(wanted.name)
        if account is not None:
            namespace, name = account
            self.require(self._part("serviceaccounts", name, namespace=namespace))
            return wanted.groups or (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}")
        if node is not None and self.group:
            self.require(self._part("nodes", node))
            return ("system:nodes",)
        self.require(self._part("users", wanted.name))
        return wanted.groups

    def _groups(self, groups: tuple[str, ...]) -> None:
        if self.group and "" in groups:
            why = "impersonating the empty string group is not allowed"
            raise access_denied(self.requestor, self._part("groups", ""), why)
        if self.group and MASTERS in groups:
            why = "impersonating the system:masters group is not allowed"
            raise access_denied(self.requestor, self._part("groups", MASTERS), why)
        if self.group and len(groups) >= _MANY and self._may(self._part("groups", "*")):
            return
        for group in groups:
            self.require(self._part("groups", group))

    def _extra(self, wanted: User) -> None:
        if self.group and not all(_well_formed(key, wanted.extra[key]) for key in wanted.extra):
            why = "impersonating an invalid key or value in extra is not allowed"
            raise access_denied(
                self.requestor, self._part("userextras", "", group=_AUTHENTICATION), why
            )
        parts = sum(map(len, wanted.extra.values()))
        everything = self._part("userextras", "*", group=_AUTHENTICATION, subresource="*")
        if self.group and parts >= _MANY and self._may(everything):
            return
        for key, values in wanted.extra.items():
            for value in values:
                part = self._part("userextras", value, group=_AUTHENTICATION, subresource=key)
                self.require(part)

    def _part(
        self,
        resource: str,
        name: str,
        *,
        group: str | None = None,
        namespace: str = "",
        subresource: str = "",
    ) -> Attributes:
        of = self.group if group is None else group
        return Attributes(self.verb, of, "v1", resource, subresource, namespace, name)


def _well_formed(key: str, values: tuple[str, ...]) -> bool:
    return bool(key) and "/" in key and key == key.lower() and "" not in values


def _completed(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return groups with the one that says whether somebody is logged in."""
    if name == ANONYMOUS:
        return groups if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    return groups if {AUTHENTICATED, UNAUTHENTICATED} & set(groups) else (*groups, AUTHENTICATED)


def _service_account(username: str) -> tuple[str, str] | None:
    found = _SERVICE_ACCOUNT.fullmatch(username)
    if found is None or len(found["name"]) > _LONGEST_SUBDOMAIN:
        return None
    return found["ns"], found["name"]


def _node(username: str) -> str | None:
    found = _NODE.fullmatch(username)
    return found["name"] if found and len(found["name"]) <= _LONGEST_SUBDOMAIN else None
