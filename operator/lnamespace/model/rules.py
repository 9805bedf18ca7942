"""Which names, list entries and texts are allowed in an LNamespace.

The CRD has the same rules in CEL (:mod:`lnamespace.model.crd`), by which the API server refuses an
object at once. The controller checks them again, because admission may have been bypassed, and
then the entry must give nobody anything. Some come from incidents elsewhere: reserved namespaces
that were adopted (CVE-2024-39690), ``system:masters`` in a list, which RBAC cannot revoke.
"""

import re
import unicodedata
from collections.abc import Iterator
from fnmatch import fnmatchcase

from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX, Member, SubjectKind

DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_SUBDOMAIN = rf"{DNS_LABEL}([.]{DNS_LABEL})*"
SERVICE_ACCOUNT_USERNAME = f"{SERVICE_ACCOUNT_PREFIX}{DNS_LABEL}:{DNS_SUBDOMAIN}"
"""Lengths are checked separately: CEL's cost estimate multiplies bounded repetitions."""

DNS_LABEL_MAX_LENGTH = 63
DNS_SUBDOMAIN_MAX_LENGTH = 253

RESERVED_NAMES = ("default", "kube-*", "openshift", "openshift-*", "lnamespace", "lnamespace-*")
"""Names that no tenant may have, as shell patterns: namespaces of the system and our own."""

TIMESTAMP = r"2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
"""A time with its zone; the API server's date-time also takes offsets that do not exist."""

_CLOCK = r"T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
MOMENT = (
    r"2\d{3}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)"
    rf"|02-(0[1-9]|1\d|2[0-8])){_CLOCK}"
    rf"|2(000|400|800|\d(0[48]|[2468][048]|[13579][26]))-02-29{_CLOCK}"
)
"""The same with valid days and hours only, for a rule with a readable message: the API server's
check of dates answers with a regular expression."""

MOMENT_PROBLEM = (
    "must be a time with its zone of the years 2000 to 2999, such as 2030-01-31T17:00:00Z or "
    "2030-01-31T17:00:00+01:00; without expiresAt the entry does not end"
)
NULL_PROBLEM = (
    "may not be null, which would be for ever: write when the entry ends, or leave expiresAt out "
    "if it is not to end"
)

UNPRINTABLE = r"[^\p{L}\p{M}\p{N}\p{P}\p{S} ]"
"""Any character but letters, marks, digits, punctuation, symbols and the ordinary space, in RE2.

It lists what is allowed, because RE2 has no class of unassigned characters. If Python and the API
server know different versions of Unicode, the older one refuses more."""

BLANK = (
    r"[\x{34F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2800}\x{3164}"
    r"\x{FE00}-\x{FE0F}\x{FFA0}\x{FFFC}\x{16FE4}\x{1D159}\x{E0100}-\x{E01EF}]"
)
"""Letters, marks and symbols that show nothing: fillers, joiners, variation selectors."""

SYSTEM_NAMESPACES = "kube-"
"""The prefix of the system's own namespaces."""

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
"""Letters and digits in full or half width, which look like ordinary ones."""

FORMS_PROBLEM = "must be written in ordinary letters and digits, not in full-width ones"

RESERVED_COST_CENTERS = ("shared", "unallocated")
RESERVED_PROBLEM = (
    "shared and unallocated are words of the reports, in whatever case: name who pays, or leave "
    "it out"
)

_PRINTABLE = frozenset("LMNPS")
_BLANK = re.compile(re.sub(r"\\x\{(\w+)\}", lambda found: chr(int(found[1], 16)), BLANK))

_LATIN_TWINS = frozenset("аеорсухіјѕһԁԛԝӏАВЕКМНОРСТУХІЈЅԚԜҮαινορυωχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
"""Cyrillic and Greek letters that look like Latin ones, which people really meet; the whole table
of Unicode (UTS 39) has thousands."""

_SCRIPTS = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "GEORGIAN"})
"""Scripts whose letters can be mistaken for those of another."""

_WORD = re.compile(r"[^\W\d_]+")


def name_problem(name: str, further_reserved: tuple[str, ...] = ()) -> str | None:
    """Return why no LNamespace may have this name, or None."""
    if not _is_label(name):
        return "must be a DNS label of at most 63 characters"
    if any(fnmatchcase(name, each) for each in (*RESERVED_NAMES, *further_reserved)):
        return f'"{name}" is reserved'
    return None


def member_problem(member: Member) -> str | None:
    """Return why the entry is not allowed in any list, or None."""
    if member.namespace and member.kind is not SubjectKind.SERVICE_ACCOUNT:
        return "only a ServiceAccount has a namespace"
    subject = member.subject
    if subject.kind is SubjectKind.SERVICE_ACCOUNT:
        if _is_label(subject.namespace) and _is_subdomain(subject.name):
            return None
        return "a ServiceAccount needs a namespace and a name, both as Kubernetes spells them"
    return _person_problem(member.name)


def sudoer_problem(member: Member) -> str | None:
    """Return why the entry is not allowed in the sudoers, or None."""
    if member.kind is SubjectKind.GROUP:
        return GROUP_SUDOER_PROBLEM
    if member.subject.namespace.startswith(SYSTEM_NAMESPACES):
        return SYSTEM_SUDOER_PROBLEM
    return member_problem(member)


def text_problem(text: str) -> str | None:
    """Return why a text is not allowed in ``spec.billing``, or None."""
    return TEXT_PROBLEM if _has_invisible(text) or text != text.strip() else None


def cost_center_problem(text: str) -> str | None:
    """Return why a cost centre is not allowed, or None.

    The exact word ``unallocated`` is, because the webhook's default is written so.
    """
    if problem := text_problem(text):
        return problem
    if unicodedata.normalize("NFKC", text) != text:
        return FORMS_PROBLEM
    if text.casefold() in RESERVED_COST_CENTERS and text != "unallocated":
        return RESERVED_PROBLEM
    return None


def lookalike_warning(name: str) -> str | None:
    """Return a warning about a name that looks like another one, or None.

    Such a name is allowed, because somebody may really have it.
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


def _person_problem(name: str) -> str | None:
    if _has_invisible(name):
        return INVISIBLE_PROBLEM
    if not name or name != name.strip():
        return "must not be empty nor start or end with white space"
    if name == "*":
        return "must be one name, not a pattern"
    if name.startswith("system:"):
        return "system: names are the cluster's own; only ServiceAccounts may be listed"
    return None


def billing_text_problem(attribute: str, text: str) -> str | None:
    """Return why a text is not allowed in an attribute of a charge, or None."""
    check = cost_center_problem if attribute == "cost_center" else text_problem
    return check(text)


def _has_invisible(name: str) -> bool:
    # Nearly all names are ASCII. Checking each letter of the longest lists took the webhook 40 ms.
    if name.isascii():
        return not name.isprintable()
    unprintable = (c for c in name if unicodedata.category(c)[0] not in _PRINTABLE and c != " ")
    return any(unprintable) or _BLANK.search(name) is not None


def _script(letter: str) -> Iterator[str]:
    script = unicodedata.name(letter, "").partition(" ")[0]
    if script in _SCRIPTS:
        yield script.capitalize()
