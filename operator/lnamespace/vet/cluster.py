"""The rights of a ClusterRole on a cluster, and the roles that are aggregated into it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from lnamespace.access.vetting import Right, rights_of
from lnamespace.errors import Forbidden, NotFound, SettingsError
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.metadata import PartialMetadata
from lnamespace.kube.objects import PolicyRule
from lnamespace.kube.resources import CLUSTER_ROLE


@dataclass(frozen=True)
class ObservedRole:
    """A ClusterRole as it is on a cluster.

    Parameters
    ----------
    server
        The version of the API server, such as v1.36.3.
    origins
        The roles from which an aggregated right comes; empty for a caller who may not list
        ClusterRoles.
    """

    name: str
    server: str
    rights: frozenset[Right]
    origins: Mapping[Right, Sequence[str]] = field(default_factory=dict)


class _ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str


class _Expression(msgspec.Struct, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class _Selector(msgspec.Struct, frozen=True, rename="camel"):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[_Expression, ...] = ()

    @property
    def query(self) -> str:
        """Return the selector as a list request has it."""
        labels = (f"{key}={value}" for key, value in self.match_labels.items())
        return ",".join([*labels, *map(_query, self.match_expressions)])


class _Aggregation(msgspec.Struct, frozen=True, rename="camel"):
    cluster_role_selectors: tuple[_Selector, ...] = ()


class _Role(msgspec.Struct, frozen=True, rename="camel"):
    metadata: PartialMetadata
    rules: tuple[PolicyRule, ...] | None = ()
    aggregation_rule: _Aggregation | None = None


class _Roles(msgspec.Struct, frozen=True):
    items: tuple[_Role, ...]


_version_decoder = msgspec.json.Decoder(_ServerVersion)
_role_decoder = msgspec.json.Decoder(_Role)
_roles_decoder = msgspec.json.Decoder(_Roles)


async def read(client: Client, name: str) -> ObservedRole:
    """Read a ClusterRole.

    Raises
    ------
    SettingsError
        There is no ClusterRole of that name.
    ClusterError
        The API server refused, or gave no answer.
    """
    try:
        raw = await client.get(CLUSTER_ROLE.path(name))
    except NotFound as error:
        raise SettingsError(
            f"there is no ClusterRole {name!r} on this cluster; --users-role names the one that "
            "users have in their namespace"
        ) from error
    role = answers.decode(_role_decoder, raw)
    version = answers.decode(_version_decoder, await client.get("/version"))
    return ObservedRole(
        name, version.git_version, rights_of(role.rules or ()), await _origins(client, role)
    )


async def _origins(client: Client, role: _Role) -> Mapping[Right, Sequence[str]]:
    found = defaultdict[Right, list[str]](list)
    for name, rules in sorted((await _parts(client, role)).items()):
        for right in rights_of(rules):
            found[right].append(name)
    return found


async def _parts(client: Client, whole: _Role) -> Mapping[str, Sequence[PolicyRule]]:
    """Return the rules of the roles that are aggregated into a role, through all levels."""
    parts, seen, left = dict[str, Sequence[PolicyRule]](), {whole.metadata.name}, [whole]
    while left:
        for part in await _selected(client, left.pop()):
            if part.metadata.name in seen:
                continue
            seen.add(part.metadata.name)
            if part.aggregation_rule:
                left.append(part)
            else:
                parts[part.metadata.name] = part.rules or ()
    return parts


async def _selected(client: Client, role: _Role) -> Sequence[_Role]:
    found: list[_Role] = []
    selectors = role.aggregation_rule.cluster_role_selectors if role.aggregation_rule else ()
    for selector in selectors:
        try:
            raw = await client.get(CLUSTER_ROLE.path(), labelSelector=selector.query)
        except Forbidden:
            continue
        found += answers.decode(_roles_decoder, raw).items
    return found


def _query(expression: _Expression) -> str:
    match expression.operator:
        case "Exists":
            return expression.key
        case "DoesNotExist":
            return f"!{expression.key}"
        case operator:
            return f"{expression.key} {operator.lower()} ({','.join(expression.values)})"
