"""Synthetic objects, which the gateway builds and the API server does not store for a tenant.

A tenant's cluster has no nodes and no addresses. Its APIServices list the served groups. Nothing of
this is read from the platform.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

import msgspec

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.list_options import (
    INITIAL_EVENTS_END,
    begins_with_everything,
    takes_bookmarks,
)
from lnamespace.translate.protocol.negotiation import accept_clauses
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import GroupResource, ResourceTable, ServingPolicy
from lnamespace.translate.protocol.selectors import (
    FieldTerm,
    LabelTerm,
    Operator,
    parse_field_selector,
    parse_label_selector,
)
from lnamespace.translate.protocol.status import bad_request, expired, not_found

API_SERVICES = GroupResource("apiregistration.k8s.io", "apiservices")
NODES = GroupResource("", "nodes")
_FIELDS = ("metadata.name", "metadata.namespace")
_NODE_FIELDS = ("metadata.name", "spec.unschedulable")
_META = "meta.k8s.io/v1"
_WITHOUT_LABEL = frozenset({Operator.DOES_NOT_EXIST, Operator.NOT_EQUALS, Operator.NOT_IN})
_ADDRESSES = GroupResource("networking.k8s.io", "ipaddresses")
_COLUMNS: Mapping[GroupResource, tuple[str, ...]] = {
    API_SERVICES: ("Name", "Service", "Available", "Age"),
    NODES: ("Name", "Status", "Roles", "Age", "Version"),
    _ADDRESSES: ("Name", "ParentRef"),
}
_WIDE_COLUMNS: Mapping[GroupResource, tuple[str, ...]] = {
    NODES: ("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime")
}
_CELLS = ("Local", "True", "<unknown>")
"""The cells of APIServices, the only kind with objects."""

_SYNTHETIC = frozenset(_COLUMNS)
Object = dict[str, Any]


class ObjectForm(StrEnum):
    """The form in which a client requests objects."""

    WHOLE = ""
    TABLE = "Table"
    PARTIAL = "PartialObjectMetadata"
    PARTIAL_LIST = "PartialObjectMetadataList"


def object_form(accept: str) -> ObjectForm:
    """Return the preferred form of a header Accept."""
    asked = accept_clauses(accept)[0].transforms.get("as", "")
    return ObjectForm(asked) if asked in set(ObjectForm) else ObjectForm.WHOLE


def is_synthetic(request: ResourceRequest) -> bool:
    """Return whether a request is for synthetic objects."""
    resource = request.resource
    return resource.policy is ServingPolicy.SHARED and resource.group_resource in _SYNTHETIC


@dataclass(frozen=True)
class SyntheticObjects:
    """The synthetic objects of one resource, as a request selects and formats them.

    Parameters
    ----------
    everything
        All objects of the resource.
    """

    request: ResourceRequest
    everything: tuple[Object, ...]
    form: ObjectForm

    @cached_property
    def resource_version(self) -> str:
        """Return the resource version, which changes with the objects."""
        names = "\n".join(each["metadata"]["name"] for each in self.everything)
        return str(zlib.crc32(names.encode()) + 1)

    def one(self) -> bytes:
        """Return the requested object.

        Raises
        ------
        Refused
            There is no object of the name.
        """
        name = self.request.name
        found = next((each for each in self.everything if each["metadata"]["name"] == name), None)
        if found is None:
            raise not_found(self.request.resource.group_resource, name)
        if self.form is ObjectForm.TABLE:
            return _json(self._table([found]))
        return _json(self._written(found))

    def all(self) -> bytes:
        """Return the list of the selected objects."""
        if self.form is ObjectForm.TABLE:
            return _json(self._table(self._selected()))
        whole = self.form is ObjectForm.WHOLE
        items = [self._written(each) for each in self._selected()]
        if whole:
            items = [{k: v for k, v in each.items() if k not in _TYPE} for each in items]
        kind = f"{self.request.resource.kind}List" if whole else ObjectForm.PARTIAL_LIST.value
        version = self._api_version if whole else _META
        metadata = {"resourceVersion": self.resource_version}
        return _json({"kind": kind, "apiVersion": version, "metadata": metadata, "items": items})

    def events(self) -> Iterator[bytes]:
        """Yield the initial events of a watch; no others follow.

        Raises
        ------
        Refused
            The resource version is that of other objects, or a selector is not supported.
        """
        selected = self._selected()
        version = self.request.parameter("resourceVersion") or ""
        initial = begins_with_everything(self.request)
        if version not in {"", "0", self.resource_version} and not initial:
            raise expired("too old resource version")
        if not initial:
            return
        for each in selected:
            yield self._event("ADDED", each)
        if takes_bookmarks(self.request):
            yield self._event("BOOKMARK", self._bookmark())

    def _selected(self) -> list[Object]:
        fields = parse_field_selector(self.request.parameter("fieldSelector") or "")
        _confirm_fields(self.request.resource.group_resource, fields)
        labels = parse_label_selector(self.request.parameter("labelSelector") or "")
        if any(_requires_label(each) for each in labels):
            return []
        return [
            each
            for each in self.everything
            if all(term.matches({"metadata.name": each["metadata"]["name"]}) for term in fields)
        ]

    def _event(self, kind: str, subject: Object) -> bytes:
        table = self.form is ObjectForm.TABLE
        written = self._table([subject]) if table else self._written(subject)
        return _json({"type": kind, "object": written})

    def _bookmark(self) -> Object:
        metadata = {
            "resourceVersion": self.resource_version,
            "annotations": {INITIAL_EVENTS_END: "true"},
        }
        return {
            "kind": self.request.resource.kind,
            "apiVersion": self._api_version,
            "metadata": metadata,
        }

    def _written(self, subject: Object) -> Object:
        if self.form is not ObjectForm.WHOLE:
            return self._partial(subject)
        return subject | {"metadata": self._metadata(subject)}

    def _partial(self, subject: Object) -> Object:
        metadata = self._metadata(subject)
        return {"kind": ObjectForm.PARTIAL.value, "apiVersion": _META, "metadata": metadata}

    def _metadata(self, subject: Object) -> Object:
        versioned: Object = subject["metadata"] | {"resourceVersion": self.resource_version}
        return versioned

    def _table(self, objects: list[Object]) -> Object:
        resource = self.request.resource.group_resource
        columns = [_column(each, 0) for each in _COLUMNS[resource]]
        columns += [_column(each, 1) for each in _WIDE_COLUMNS.get(resource, ())]
        rows = [
            {"cells": [each["metadata"].get("name", ""), *_CELLS], "object": self._partial(each)}
            for each in objects
        ]
        metadata = {"resourceVersion": self.resource_version}
        return {
            "kind": ObjectForm.TABLE.value,
            "apiVersion": _META,
            "metadata": metadata,
            "columnDefinitions": columns,
            "rows": rows,
        }

    @property
    def _api_version(self) -> str:
        group, version = self.request.resource.group, self.request.version
        return f"{group}/{version}" if group else version


_TYPE = frozenset({"kind", "apiVersion"})


def build_synthetic_objects(
    request: ResourceRequest, view: TenantView, accept: str
) -> SyntheticObjects:
    """Return the objects that a request reads.

    Parameters
    ----------
    accept
        The client's header Accept.
    """
    services: tuple[Object, ...] = ()
    if request.resource.group_resource == API_SERVICES:
        services = tuple(_api_services(view.resources, view.tenant))
    return SyntheticObjects(request, services, object_form(accept))


def _api_services(resources: ResourceTable, tenant: str) -> Iterator[Object]:
    versions = dict.fromkeys(
        (version, each.group) for each in resources.types for version in each.versions or ()
    )
    for version, group in sorted(versions, key=lambda each: f"{each[0]}.{each[1]}"):
        name = f"{version}.{group}"
        yield {
            "kind": "APIService",
            "apiVersion": "apiregistration.k8s.io/v1",
            "metadata": {
                "name": name,
                "uid": str(uuid5(NAMESPACE_DNS, f"{name}.apiservices.{tenant}")),
            },
            "spec": _spec(group, version),
            "status": {"conditions": [_AVAILABLE]},
        }


def _spec(group: str, version: str) -> Mapping[str, Any]:
    named = {"group": group} if group else {}
    return {**named, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 100}


_AVAILABLE = {
    "type": "Available",
    "status": "True",
    "lastTransitionTime": "1970-01-01T00:00:00Z",
    "reason": "Local",
    "message": "Local APIServices are always available",
}


def _confirm_fields(resource: GroupResource, terms: Sequence[FieldTerm]) -> None:
    """Refuse unsupported field selectors, with the API server's message."""
    for each in terms:
        if resource == NODES and each.field not in _NODE_FIELDS:
            raise bad_request(f"field label not supported: {each.field}")
        if resource != NODES and each.field not in _FIELDS:
            known = ", ".join(f'"{field}"' for field in _FIELDS)
            raise bad_request(f'"{each.field}" is not a known field selector: only {known}')


def _requires_label(term: LabelTerm) -> bool:
    return term.operator not in _WITHOUT_LABEL


def _column(name: str, priority: int) -> Object:
    form = "name" if name == "Name" else ""
    return {"name": name, "type": "string", "format": form, "description": "", "priority": priority}


def _json(value: Object) -> bytes:
    return msgspec.json.encode(value)
