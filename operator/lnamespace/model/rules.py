"""What an LNamespace may be called and whom it may list.

The CRD says the same in CEL (:mod:`lnamespace.model.crd`), so that the API server refuses at
once; here it is said again, for the controller trusts no admission: a rule that was bypassed
must still give nobody anything. Sources: tenancy pitfalls such as reserved names being adopted
(CVE-2024-39690 in a peer) and ``system:masters`` in a list, which no RBAC can take back.
"""

import re
import unicodedata
from fnmatch import fnmatchcase

from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX, Member, SubjectKind

DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_SUBDOMAIN = rf"{DNS_LABEL}([.]{DNS_LABEL})*"
SERVICE_ACCOUNT_USERNAME = f"{SERVICE_ACCOUNT_PREFIX}{DNS_LABEL}:{DNS_SUBDOMAIN}"
"""Lengths are checked apart: CEL's cost estimate multiplies bounded repetitions."""

DNS_LABEL_MAX_LENGTH = 63
DNS_SUBDOMAIN_MAX_LENGTH = 253

RESERVED_NAMES = ("default", "kube-*", "openshift", "openshift-*", "lnamespace", "lnamespace-*")
"""Never a tenant's, as shell patterns: the system's own namespaces, and ours."""

_UNPRINTABLE = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""Unicode categories that a person cannot see in a list, and so cannot check."""


def name_problem(name: str, reserved: tuple[str, ...] = RESERVED_NAMES) -> str | None:
    """Why a namespace may not be called ``name``, or None."""
    if not _is_label(name):
        return "must be a DNS label of at most 63 characters"
    if any(fnmatchcase(name, pattern) for pattern in reserved):
        return f'"{name}" is reserved'
    return None


def member_problem(member: Member) -> str | None:
    """Why nobody may be listed like this, or None."""
    if member.namespace and member.kind is not SubjectKind.SERVICE_ACCOUNT:
        return "only a ServiceAccount has a namespace"
    subject = member.subject
    if subject.kind is SubjectKind.SERVICE_ACCOUNT:
        if _is_label(subject.namespace) and _is_subdomain(subject.name):
            return None
        return "a ServiceAccount needs a namespace and a name, both as Kubernetes spells them"
    return _name_problem(member.name)


def sudoer_problem(member: Member) -> str | None:
    """Why nobody may be a sudoer like this, or None.

    A group cannot: RBAC cannot limit each of its members to impersonating just themselves.
    """
    if member.kind is SubjectKind.GROUP:
        return "a Group cannot be a sudoer: list its people"
    return member_problem(member)


def _is_label(text: str) -> bool:
    return len(text) <= DNS_LABEL_MAX_LENGTH and re.fullmatch(DNS_LABEL, text) is not None


def _is_subdomain(text: str) -> bool:
    return len(text) <= DNS_SUBDOMAIN_MAX_LENGTH and re.fullmatch(DNS_SUBDOMAIN, text) is not None


def _name_problem(name: str) -> str | None:
    if any(unicodedata.category(character) in _UNPRINTABLE for character in name):
        return "must have no control or invisible characters"
    if not name or name != name.strip():
        return "must not be empty nor start or end with white space"
    if name == "*":
        return "must be one name, not a pattern"
    if name.startswith("system:"):
        return "system: names are the cluster's own; only ServiceAccounts may be listed"
    return None
