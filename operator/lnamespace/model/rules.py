"""What an LNamespace may be called and whom it may list.

The CRD says the same in CEL (:mod:`lnamespace.model.crd`), so that the API server refuses at
once; here it is said again, for the controller trusts no admission: a rule that was bypassed
must still give nobody anything. Sources: tenancy pitfalls such as reserved names being adopted
(CVE-2024-39690 in a peer) and ``system:masters`` in a list, which no RBAC can take back.
"""

import re
import unicodedata
from collections.abc import Iterator
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

TIMESTAMP = r"2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
"""Narrower than the API server's date-time, which takes offsets that no clock has."""

MOMENT = (
    r"2\d{3}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)"
    r"|02-(0[1-9]|1\d|2[0-8]))T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?"
    r"(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
    r"|2(000|400|800|\d(0[48]|[2468][048]|[13579][26]))-02-29"
    r"T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
)
"""The same to the day, for a rule whose message says what to write: the API server's own check of
dates answers with a regular expression."""

MOMENT_PROBLEM = (
    "must be a time with its zone from the year 2000 on, such as 2030-01-31T17:00:00Z or "
    "2030-01-31T17:00:00+01:00; without expiresAt the entry does not end"
)
NULL_PROBLEM = (
    "may not be null, which would be for ever: write when the entry ends, or leave expiresAt out "
    "if it is not to end"
)

UNPRINTABLE = r"[^\p{L}\p{M}\p{N}\p{P}\p{S} ]"
"""All but letters, marks, digits, punctuation, symbols and the ordinary space, as RE2 spells it.

It is said by what is allowed, for RE2 has no class of characters that are not assigned. Of those
the tables of Python and of the API server may know some more or less; who knows less refuses."""

BLANK = (
    r"[\x{34F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2800}\x{3164}"
    r"\x{FE00}-\x{FE0F}\x{FFA0}\x{FFFC}\x{16FE4}\x{1D159}\x{E0100}-\x{E01EF}]"
)
"""Letters, marks and symbols that show nothing: fillers, joiners, variation selectors."""

SYSTEM_NAMESPACES = "kube-"
"""What the system's own namespaces begin with."""

SYSTEM_SUDOER_PROBLEM = (
    "the system's ServiceAccounts cannot be sudoers: nothing may impersonate them"
)

GROUP_SUDOER_PROBLEM = (
    "a Group cannot be a sudoer: RBAC cannot limit each of its members to impersonating just "
    "themselves; list its people"
)
INVISIBLE_PROBLEM = "must have no control or invisible characters, and no space but the ordinary"

TEXT_PROBLEM = (
    "must have no control or invisible characters, no space but the ordinary, and none around it"
)

FORMS = r"[\x{FF00}-\x{FFEF}]"
"""Letters and digits in another width, which look like others and are not."""

FORMS_PROBLEM = "must be written in ordinary letters and digits, not in full-width ones"

RESERVED_COST_CENTERS = ("shared", "unallocated")
RESERVED_PROBLEM = (
    "shared and unallocated are words of the reports, in whatever case: name who pays, or leave "
    "it out"
)

_PRINTABLE = frozenset("LMNPS")
_BLANK = re.compile(re.sub(r"\\x\{(\w+)\}", lambda found: chr(int(found[1], 16)), BLANK))

_LATIN_TWINS = frozenset("аеорсухіјѕһԁԛԝӏАВЕКМНОРСТУХІЈЅԚԜҮαινορυωχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
"""Letters of other scripts that look like Latin ones. Not all of Unicode's (UTS 39), which are a
table of thousands: the Cyrillic and Greek ones, which people really meet."""

_SCRIPTS = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "GEORGIAN"})
"""Scripts whose letters are taken for those of another; nobody takes an ideograph for an `a`."""

_WORD = re.compile(r"[^\W\d_]+")


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
    """Why nobody may be a sudoer like this, or None."""
    if member.kind is SubjectKind.GROUP:
        return GROUP_SUDOER_PROBLEM
    if member.subject.namespace.startswith(SYSTEM_NAMESPACES):
        return SYSTEM_SUDOER_PROBLEM
    return member_problem(member)


def text_problem(text: str) -> str | None:
    """Return why a text of the bill cannot be read by people as it stands, or None."""
    return TEXT_PROBLEM if _has_invisible(text) or text != text.strip() else None


def cost_center_problem(text: str) -> str | None:
    """Return why nobody may be charged by this name, or None.

    ``unallocated``, letter by letter, is what the default writes.
    """
    if problem := text_problem(text):
        return problem
    if unicodedata.normalize("NFKC", text) != text:
        return FORMS_PROBLEM
    if text.casefold() in RESERVED_COST_CENTERS and text != "unallocated":
        return RESERVED_PROBLEM
    return None


def lookalike_warning(name: str) -> str | None:
    """What is odd about the look of ``name``, for a warning; None where nothing is.

    Such a name is legal, for it may be somebody's, and may pass for somebody else's.
    """
    if name.isascii():
        return None
    if unicodedata.normalize("NFKC", name) != name:
        plain = unicodedata.normalize("NFKC", name)
        return f'is not "{plain}", which looks the same: is it spelt as the cluster knows it?'
    for word in _WORD.findall(name):
        scripts = sorted({script for letter in word for script in _script(letter)})
        if len(scripts) > 1:
            return f"has {' and '.join(scripts)} letters in one word: is it who it looks like?"
        if scripts != ["Latin"] and set(word) <= _LATIN_TWINS:
            return f"has {scripts[0]} letters that look like Latin ones: is it who it looks like?"
    return None


def _is_label(text: str) -> bool:
    return len(text) <= DNS_LABEL_MAX_LENGTH and re.fullmatch(DNS_LABEL, text) is not None


def _is_subdomain(text: str) -> bool:
    return len(text) <= DNS_SUBDOMAIN_MAX_LENGTH and re.fullmatch(DNS_SUBDOMAIN, text) is not None


def _name_problem(name: str) -> str | None:
    if _has_invisible(name):
        return INVISIBLE_PROBLEM
    if not name or name != name.strip():
        return "must not be empty nor start or end with white space"
    if name == "*":
        return "must be one name, not a pattern"
    if name.startswith("system:"):
        return "system: names are the cluster's own; only ServiceAccounts may be listed"
    return None


def _has_invisible(name: str) -> bool:
    # The same of ASCII, which nearly all names are, without a look at each letter: that took the
    # webhook 40 ms for lists of the greatest length.
    if name.isascii():
        return not name.isprintable()
    unprintable = (c for c in name if unicodedata.category(c)[0] not in _PRINTABLE and c != " ")
    return any(unprintable) or _BLANK.search(name) is not None


def _script(letter: str) -> Iterator[str]:
    script = unicodedata.name(letter, "").partition(" ")[0]
    if script in _SCRIPTS:
        yield script.capitalize()
