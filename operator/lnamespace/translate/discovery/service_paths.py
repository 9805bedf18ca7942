"""Classify the non-resource paths that exist for tenants.

Other paths do not exist for them: ``/metrics``, ``/logs``, ``/debug``, ``/flagz`` and ``/statusz``
of the platform have data of all tenants.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

import msgspec

from lnamespace.translate.discovery.openapi_names import encoded, raw_object
from lnamespace.translate.protocol.status import no_such_path

ISSUER_PATH = "/.well-known/openid-configuration"
KEYS_PATH = "/openid/v1/jwks"
_HEALTH = re.compile(r"/(?:healthz|livez|readyz)(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_HEALTH_PARAMETERS = frozenset({"verbose", "exclude"})


class PathKind(StrEnum):
    """The kind of answer that a path has."""

    ROOT = "the list of all paths"
    CORE_VERSIONS = "the versions of the core group"
    GROUPS = "the API groups"
    GROUP = "one API group"
    RESOURCES = "the resources of one group version"
    OPENAPI_V2 = "the merged OpenAPI document"
    OPENAPI_V3_INDEX = "the index of OpenAPI documents"
    OPENAPI_V3 = "the OpenAPI document of one group version"
    ISSUER = "the issuer of ServiceAccount tokens"
    FORWARDED = "the platform's answer as it is"


@dataclass(frozen=True)
class ServicePath:
    """One non-resource path.

    Parameters
    ----------
    group
        In tenant spelling.
    path
        Of a document of OpenAPI v3, in tenant spelling, without a slash before it; of what is
        forwarded, the path upstream.
    """

    kind: PathKind
    group: str = ""
    version: str = ""
    path: str = ""


_FIXED = {
    "/": ServicePath(PathKind.ROOT),
    "/index.html": ServicePath(PathKind.ROOT),
    "/api": ServicePath(PathKind.CORE_VERSIONS),
    "/apis": ServicePath(PathKind.GROUPS),
    "/openapi/v2": ServicePath(PathKind.OPENAPI_V2),
    "/openapi/v3": ServicePath(PathKind.OPENAPI_V3_INDEX),
    ISSUER_PATH: ServicePath(PathKind.ISSUER),
    KEYS_PATH: ServicePath(PathKind.FORWARDED, path=KEYS_PATH),
    "/version": ServicePath(PathKind.FORWARDED, path="/version"),
}
_WITHOUT_FINAL_SLASH = ("/openapi", "/healthz", "/livez", "/readyz", "/index.html")


def service_path(path: str) -> ServicePath:
    """Classify a path that is not a path to objects.

    Parameters
    ----------
    path
        Decoded.

    Raises
    ------
    Refused
        If there is nothing for tenants; with status 404.
    """
    whole = path
    if path.endswith("/") and not path.startswith(_WITHOUT_FINAL_SLASH):
        whole = path[:-1] or "/"
    if whole in _FIXED:
        return _FIXED[whole]
    match whole.split("/")[1:]:
        case ["api", version] if version:
            return ServicePath(PathKind.RESOURCES, version=version)
        case ["apis", group] if group:
            return ServicePath(PathKind.GROUP, group)
        case ["apis", group, version] if group and version:
            return ServicePath(PathKind.RESOURCES, group, version)
        case ["openapi", "v3", *rest] if rest[0]:
            return ServicePath(PathKind.OPENAPI_V3, path="/".join(rest))
    if _HEALTH.fullmatch(whole):
        return ServicePath(PathKind.FORWARDED, path=whole)
    raise no_such_path()


def forwarded_target(path: ServicePath, query: Iterable[tuple[str, str]]) -> str:
    """Return the target upstream of a forwarded path, with the parameters of health checks."""
    if not _HEALTH.fullmatch(path.path):
        return path.path
    known = [(key, value) for key, value in query if key in _HEALTH_PARAMETERS]
    words = [f"{key}={quote(value, safe='')}" if value else key for key, value in known]
    return f"{path.path}?{'&'.join(words)}" if words else path.path


def forwarded_paths(upstream: bytes) -> list[str]:
    """Return those of the platform's RootPaths that tenants are served besides discovery."""
    found = msgspec.json.decode(upstream)["paths"]
    fixed = {path for path in _FIXED if path not in {"/", "/index.html"}}
    return sorted(fixed | {path for path in found if _HEALTH.fullmatch(path)})


def issuer_down(document: bytes, base: str) -> bytes:
    """Return the document of the issuer with the address at which the tenant reads its keys.

    The issuer stays that of the tokens, whose receivers compare both.

    Parameters
    ----------
    base
        The URL of the tenant's cluster, without a slash at its end.
    """
    return bytes(encoded(raw_object(document) | {"jwks_uri": encoded(base + KEYS_PATH)}))
