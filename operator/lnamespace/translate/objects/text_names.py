"""Remove the prefix from the tenant's names in texts, where the context identifies them.

A name that begins with the prefix may be a namespaced object's own name: a team ``acme`` names its
Deployment ``acme-api``. So the prefix is removed where the text says that the name is that of a
namespace, of a cluster-scoped object or of an API group, and kept everywhere else: a visible prefix
is less harmful than a wrong name.
"""

import re
from dataclasses import dataclass

from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX
from lnamespace.translate.names.tenant_view import SERVICE_ACCOUNTS_GROUP, TenantView
from lnamespace.translate.objects.quotas import CLASS_SUFFIXES, DEVICES

_BEFORE = 120
"""Characters before a name that are searched; kinds with their groups are shorter."""
_AFTER = 512
"""Characters from the name on that are searched; a name may have 253."""
AT_MOST = 64
"""The most names of a text that are translated."""


def _back(words: str) -> str:
    """Return words as they are read backwards, from a name to what is before it.

    A search for what ends at a name begins at every character before it. Texts of 1 KiB that repeat
    the prefix took 20 ms each, and an object has hundreds of texts.
    """
    return words[::-1]


_BETWEEN = (
    rf"""(?:"\s?:"{_back("ame")}[nN]"\s?,"?| :{_back("name")} ,[^,\s]*+ :{_back("namespace")} ,"""
    rf"""|["'`\[(\\]{{0,3}}(?:[\s:=]{{1,2}}d?{_back("name")}(?:{_back("with ")})?"""
    rf"""(?:{_back("object ")}|{_back("resource ")})?)?[\s:=/]{{1,2}}["'\])\\]{{0,3}})"""
)
"""The text between a kind and a name: ``"x"``, ``/x``, ``with name x``, ``: "x"``, ``\\":\\"x``."""
_KIND = re.compile(
    rf"{_BETWEEN}((?:\w{{2,}}+(?<=[A-Z])/[\w.]++/)?[\w.-]++(?<=[A-Za-z]))(?: ([A-Za-z]++)\b)?"
)
_OTHER_WORDS = re.compile(
    rf"[\s:=/]{_back('ns')}\b|['\"]{_back('external provisioner ')}"
    rf"|['\"]?{_back('csi driver ')}|['\"]?{_back('driver name ')}|\"{_back('requested volume ')}"
    rf"|\"{_back(' for volume ')}(?:{_back(' error')}|{_back(' failed')}\w++\.{_back('volume')})"
    rf"{_back('tach')}(?:{_back('at')}|{_back('de')})\b"
    rf"|/\({_back('object ')}\b"  # of a server-side apply: no namespace, a slash and the name
    rf"|'{_back(' with binding ')}'[^']*+'{_back('policy ')}|'{_back('policy ')}(?!\w)"
    rf"|\"? (?:{_back('group')}|{_back('version')}) (?:{_back('in')}|{_back('api')})\b"
    rf"|(?: [^\[\]\s]++)*+\[{_back('in ')}(?:{_back('not')})?{_back('class ')}"
    rf"(?:{_back('priority')}|{_back('volumeattributes')})\b"
    rf"|[\\\"]++ ?:[\\\"]++{_back('namespace')}-?{_back('secret')}"
    rf"|\( (?:{_back('object')}(?:{_back('provided ')})?{_back('of the ')}"
    rf"|(?:{_back('request')}|{_back('url')}){_back('on the ')}){_back('namespace ')}\b",
    re.IGNORECASE,
)
"""Other texts before a name with the prefix, in messages of Kubernetes."""
_GO_FIELDS = tuple(
    f'"{field}": "'
    for field in ("VolumeName", "StorageClassName", "PriorityClassName", "RuntimeClassName")
)
"""Fields of Kubernetes' own types as Go prints them; fields in JSON may be a tenant's."""
_IMAGES = tuple(f"image {quote}" for quote in ("", '"', "'", "`"))
_BEGINS = tuple(" \t\n\"'`([{<=,:;|")
"""Characters before a word; a name may also begin a text."""
_NAMESPACE = re.compile(r"[a-z0-9-]+")
_GROUP = re.compile(r"[a-z0-9.-]*[a-z0-9]")
_TOKEN = re.compile(r"""[^\s"'`,;:)\]}]*""")
_OBJECT = re.compile(r"""["']?/["']?[^\s/"']""")
_POD = re.compile(r"\([0-9a-f]{8}-[0-9a-f-]{27}\)")
"""The uid that a kubelet writes after the name and the namespace of a pod."""


_STORAGE_KEY = re.compile(r"((?:/registry|(?<=\bKey: ))/[^\s,]+)")
"""The storage key of an object, which the API server names if the uid differs.

Kubernetes 1.36 leaves ``/registry`` out.
"""


@dataclass(frozen=True)
class _Occurrence:
    """A name that begins with the prefix, and the text around it."""

    view: TenantView
    before: str
    after: str
    """Begins with the name."""
    groups: frozenset[str]
    request_namespace: str

    @property
    def begins_word(self) -> bool:
        if self.before.endswith(_IMAGES):
            return False
        return not self.before or self.before.endswith(_BEGINS)

    def is_service_account(self) -> bool:
        return self.before.endswith((SERVICE_ACCOUNT_PREFIX, SERVICE_ACCOUNTS_GROUP))

    def is_domain(self) -> bool:
        """Return whether it is a namespace in the DNS name of a Service."""
        return self.before.endswith(".") and self._behind_namespace().startswith(".svc")

    def is_of_pod(self) -> bool:
        """Return whether it is a pod's namespace in a kubelet's ``pod_namespace(uid)``."""
        if not self.before.endswith("_"):
            return False
        return bool(_POD.match(self._behind_namespace())) or self._is_known()

    def is_namespace_segment(self) -> bool:
        """Return whether it is a namespace in ``namespace/name``."""
        if not self.begins_word or not _OBJECT.match(self._behind_namespace()):
            return False
        # A server-side apply names the namespace in the body, which need not exist.
        return self.before.endswith(" object (") or self._is_known()

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
        back = _back(self.before)
        if self.before.endswith(_GO_FIELDS) or _OTHER_WORDS.match(back):
            return True
        found = _KIND.match(back)
        if found is None:
            return False
        word = _qualified(self.view, _back(found[1]))
        kinds = self.view.resources.prefixed_words
        return word in kinds or f"{_back(found[2] or '')}{word}".lower() in kinds

    def _behind_namespace(self) -> str:
        found = _NAMESPACE.match(self.after)
        return self.after[found.end() :] if found else ""

    def _is_known(self) -> bool:
        found = _NAMESPACE.match(self.after)
        name = found[0] if found else ""
        return name in self.view.namespaces or name == self.request_namespace


def names_down(
    view: TenantView, text: str, groups: frozenset[str], namespace: str, at_most: int
) -> str:
    """Return a text without the prefix of the names that certainly have it.

    Parameters
    ----------
    groups
        API groups in tenant spelling that the text may name besides those that are served.
    namespace
        The namespace of the request in upstream spelling, which may be deleted by now.
    at_most
        How many names are translated; the others stay as they are.
    """
    if view.prefix not in text:
        return text
    groups |= view.resources.custom_groups
    parts = _STORAGE_KEY.split(text)
    parts[1 : 2 * at_most : 2] = [_key_down(view, each) for each in parts[1 : 2 * at_most : 2]]
    for index in range(0, len(parts), 2):
        part = parts[index]
        parts[index] = _words_down(view, part, groups, namespace, at_most)
        at_most = max(at_most - part.count(view.prefix), 0)
    return "".join(parts)


def _words_down(
    view: TenantView, text: str, groups: frozenset[str], namespace: str, at_most: int
) -> str:
    shown, start = list[str](), 0
    for _ in range(at_most):
        at = text.find(view.prefix, start)
        if at < 0:
            break
        end = at + len(view.prefix)
        before = text[max(0, at - _BEFORE) : at]
        begins = not before or not (before[-1].isalnum() or before[-1] == "-")
        found = _Occurrence(view, before, text[at : at + _AFTER], groups, namespace)
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


def _qualified(view: TenantView, word: str) -> str:
    """Return the word for a kind, with its group in tenant spelling: ``gadget.example.com``."""
    group, slash, kind = word.rpartition("/")
    word = f"{kind}.{group.partition('/')[0].removeprefix(view.prefix)}" if slash else word
    return word.replace(f".{view.prefix}", ".").lower()


def _key_down(view: TenantView, key: str) -> str:
    """Return a key of the storage: ``[/registry]/[GROUP/]RESOURCE/[NAMESPACE/]NAME``."""
    root = "/registry" if key.startswith("/registry/") else ""
    above, _, name = key.removeprefix(root).rpartition("/")
    segments = above.removeprefix("/").split("/")
    namespaced = len(segments) > 1 and segments[-1].startswith(view.prefix)
    names = [each.removeprefix(view.prefix) for each in segments]
    if not namespaced:
        plural, dot, group = name.partition(f".{view.prefix}")
        name = f"{plural}{dot and '.'}{group}".removeprefix(view.prefix)
    return "/".join([root, *names, name])
