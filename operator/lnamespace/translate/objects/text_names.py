"""Remove the prefix from the tenant's names in texts, where the context identifies them.

A name that begins with the prefix may be a namespaced object's own name: a team ``acme`` names its
Deployment ``acme-api``. So the prefix is removed where the text says that the name is that of a
namespace, of a cluster-scoped object or of an API group, and kept everywhere else: a visible prefix
is less harmful than a wrong name.
"""

import re
from dataclasses import dataclass

from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX
from lnamespace.translate.names.view import SERVICE_ACCOUNTS_GROUP, View
from lnamespace.translate.objects.quotas import CLASS_SUFFIXES, DEVICES

_BEFORE = 120
"""Characters before a name that are searched; kinds with their groups are shorter."""
_AFTER = 512
"""Characters from the name on that are searched; a name may have 253."""
_AT_MOST = 256
"""The most names of a text that are translated."""
_BETWEEN = (
    r"""(?:"?,\s?"[nN]ame":\s?"|, namespace: [^,\s]*, name: """
    r"""|["'\])\\]{0,3}[\s:=/]{1,2}"""
    r"""(?:(?:object |resource )?(?:with )?named?[\s:=]{1,2})?["'`\[(\\]{0,3})"""
)
"""The text between a kind and a name: ``"x"``, ``/x``, ``with name x``, ``: "x"``, ``\\":\\"x``."""
_KIND = re.compile(
    rf"(?:\b([A-Za-z]+) )?(?<![\w.-])([A-Za-z][\w.-]*(?:/[\w.]+/[A-Z]\w+)?){_BETWEEN}$"
)
_OTHER_WORDS = re.compile(
    r"(?i:\bns[\s:=/]|external provisioner ['\"]|csi driver ['\"]?|driver name ['\"]?"
    r"|requested volume \"|\b(?:at|de)tach(?:volume\.\w+ failed| error) for volume \""
    r"|\bobject \(/"  # of a server-side apply: no namespace, a slash and the name
    r"|admissionpolicy '[^']*' with binding '|\b(?:in|api) (?:group|version) \"?"
    r"|\b(?:priority|volumeattributes)class (?:not)?in \[(?:[^\]\s]+ )*"
    r"|secret-?namespace[\\\"]+: ?[\\\"]+"
    r"|\bnamespace o(?:f the (?:provided )?object|n the (?:request|url)) \()$"
)
"""Other texts before a name with the prefix, in messages of Kubernetes."""
_GO_FIELD = re.compile(r"\"(?:VolumeName|(?:Storage|Priority|Runtime)ClassName)\": \"$")
"""Fields of Kubernetes' own types as Go prints them; fields in JSON may be a tenant's."""
_IMAGE = re.compile(r"""image ["'`]?$""")
_BEGINS = tuple(" \t\n\"'`([{<=,:;|")
"""Characters before a word; a name may also begin a text."""
_NAMESPACE = re.compile(r"[a-z0-9-]+")
_GROUP = re.compile(r"[a-z0-9.-]*[a-z0-9]")
_TOKEN = re.compile(r"""[^\s"'`,;:)\]}]*""")
_OBJECT = re.compile(r"""["']?/["']?[^\s/"']""")
_POD = re.compile(r"\([0-9a-f]{8}-[0-9a-f-]{27}\)")
"""The uid that a kubelet writes after the name and the namespace of a pod."""


_STORAGE_KEY = re.compile(r"(/registry/[^\s,]+)")
"""The storage key of an object, which the API server names if the uid differs."""


@dataclass(frozen=True)
class _Occurrence:
    """A name that begins with the prefix, and the text around it."""

    view: View
    before: str
    after: str
    """Begins with the name."""
    groups: frozenset[str]
    request_namespace: str

    @property
    def begins_word(self) -> bool:
        return (not self.before or self.before.endswith(_BEGINS)) and not _IMAGE.search(self.before)

    def is_service_account(self) -> bool:
        return self.before.endswith((SERVICE_ACCOUNT_PREFIX, SERVICE_ACCOUNTS_GROUP))

    def is_domain(self) -> bool:
        """Return whether it is a namespace in the DNS name of a Service."""
        return self.before.endswith(".") and self._behind(_NAMESPACE).startswith(".svc")

    def is_of_pod(self) -> bool:
        """Return whether it is a pod's namespace in a kubelet's ``pod_namespace(uid)``."""
        if not self.before.endswith("_"):
            return False
        return bool(_POD.match(self._behind(_NAMESPACE))) or self._is_known()

    def is_namespace_segment(self) -> bool:
        """Return whether it is a namespace in ``namespace/name``."""
        found = self.begins_word and _OBJECT.match(self._behind(_NAMESPACE))
        return bool(found) and self._is_known()

    def is_group(self) -> bool:
        found = _GROUP.match(self.after)
        named = found and found[0].removeprefix(self.view.prefix) in self.groups
        return bool(named) and (self.before.endswith(".") or self.begins_word)

    def is_class(self) -> bool:
        """Return whether it is a class in the name of a counted resource."""
        token = _TOKEN.match(self.after)
        counted = token and any(f"{each}/" in token[0] for each in CLASS_SUFFIXES)
        return bool(counted) or self.before.endswith(DEVICES)

    def is_named_by_kind(self) -> bool:
        """Return whether it follows a kind whose names have the prefix."""
        if _OTHER_WORDS.search(self.before) or _GO_FIELD.search(self.before):
            return True
        found = _KIND.search(self.before)
        if found is None:
            return False
        word = _qualified(self.view, found[2])
        kinds = self.view.resources.prefixed_words
        return word in kinds or f"{found[1] or ''}{word}".lower() in kinds

    def _behind(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.after)
        return self.after[found.end() :] if found else ""

    def _is_known(self) -> bool:
        found = _NAMESPACE.match(self.after)
        name = found[0] if found else ""
        return name in self.view.namespaces or name == self.request_namespace


def names_down(
    view: View, text: str, groups: frozenset[str] = frozenset(), namespace: str = ""
) -> str:
    """Return a text without the prefix of the names that certainly have it.

    Parameters
    ----------
    groups
        API groups in tenant spelling that the text may name besides those that are served.
    namespace
        The namespace of the request in upstream spelling, which may be deleted by now.
    """
    if view.prefix not in text:
        return text
    groups |= view.resources.custom_groups
    parts = _STORAGE_KEY.split(text)
    parts[1::2] = [_key_down(view, each) for each in parts[1::2]]
    parts[::2] = [_words_down(view, each, groups, namespace) for each in parts[::2]]
    return "".join(parts)


def _words_down(view: View, text: str, groups: frozenset[str], namespace: str) -> str:
    shown, start = list[str](), 0
    for _ in range(_AT_MOST):
        at = text.find(view.prefix, start)
        if at < 0:
            break
        end = at + len(view.prefix)
        before = text[max(0, at - _BEFORE) : at]
        found = _Occurrence(view, before, text[at : at + _AFTER], groups, namespace)
        begins = not before or not (before[-1].isalnum() or before[-1] == "-")
        shown.append(text[start : at if begins and _has_prefix(found) else end])
        start = end
    return "".join((*shown, text[start:]))


def _has_prefix(found: _Occurrence) -> bool:
    """Return whether the name has the prefix, and does not just begin like it."""
    return (
        found.is_service_account()
        or found.is_domain()
        or found.is_of_pod()
        or found.is_namespace_segment()
        or found.is_group()
        or found.is_class()
        or found.is_named_by_kind()
    )


def _qualified(view: View, word: str) -> str:
    """Return the word for a kind, with its group in tenant spelling: ``gadget.example.com``."""
    group, slash, kind = word.rpartition("/")
    word = f"{kind}.{group.partition('/')[0].removeprefix(view.prefix)}" if slash else word
    return word.replace(f".{view.prefix}", ".").lower()


def _key_down(view: View, key: str) -> str:
    """Return a key of the storage: ``/registry/[GROUP/]RESOURCE/[NAMESPACE/]NAME``."""
    above, _, name = key.rpartition("/")
    root, *segments = above.removeprefix("/").split("/")
    namespaced = len(segments) > 1 and segments[-1].startswith(view.prefix)
    names = [each.removeprefix(view.prefix) for each in segments]
    if not namespaced:
        plural, dot, group = name.partition(f".{view.prefix}")
        name = f"{plural}{dot and '.'}{group}".removeprefix(view.prefix)
    return "/" + "/".join([root, *names, name])
