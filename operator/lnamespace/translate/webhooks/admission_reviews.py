"""Translate AdmissionReviews of a tenant's webhooks.

A review goes down to the webhook in tenant spelling. The webhook's JSON patch comes up, and is
translated as if the tenant had sent it: it can do no more.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from lnamespace.kube.json_pointer import keys_of
from lnamespace.kube.media_types import JSON_PATCH
from lnamespace.kube.resources import RBAC
from lnamespace.translate.bodies.answers import AnswerTranslator
from lnamespace.translate.bodies.patches import patch_up
from lnamespace.translate.bodies.readable_times import refuse_unreadable_times
from lnamespace.translate.names.acting_users import acts_for_tenant, user_info_down
from lnamespace.translate.names.tenant_view import CRDS, TenantView
from lnamespace.translate.objects.confinement.schema_sizes import schemas_after
from lnamespace.translate.objects.translators import Encoded, ForeignObject, object_of
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused, bad_request
from lnamespace.translate.webhooks.review_bodies import decoded, envelope, read_members

_ANSWERED = ("uid", "allowed", "status", "warnings")
"""Members of an answer that are kept. Annotations would enter the platform's audit log."""
_MANAGED = ("metadata", "managedFields")


class _AdmissionRequest(msgspec.Struct, frozen=True, rename="camel"):
    kind: dict[str, str]
    resource: dict[str, str]
    request_kind: dict[str, str] | None = None
    request_resource: dict[str, str] | None = None
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    user_info: dict[str, Any] = {}


class _AdmissionResponse(msgspec.Struct, frozen=True, rename="camel"):
    allowed: bool = False
    patch: str | None = None
    patch_type: str | None = None


class _PatchOperation(msgspec.Struct, frozen=True):
    path: str = ""


@dataclass(frozen=True)
class AdmissionReview:
    """An AdmissionReview with its request.

    Parameters
    ----------
    request
        The write under review, as a request of the tenant.
    body
        The review in tenant spelling.
    of_tenant
        Whether the tenant itself writes, and not Kubernetes or the platform.
    """

    request: ResourceRequest
    body: bytes
    of_tenant: bool = True

    def answer_up(self, answer: bytes, view: TenantView) -> bytes:
        """Translate the answer of a webhook into upstream spelling.

        Raises
        ------
        Refused
            The answer is not a review.
        """
        members, response = read_members(answer, "response")
        kept = {key: response[key] for key in _ANSWERED if key in response}
        try:
            patch = self._patch_up(decoded(members["response"], _AdmissionResponse), view)
        except Refused as refused:
            message = f"the patch of the webhook: {refused.status.message}"
            status = {"code": refused.status.code, "message": message}
            return envelope(members, response=kept | {"allowed": False, "status": status})
        return envelope(members, response=kept | patch)

    def _patch_up(self, response: _AdmissionResponse, view: TenantView) -> dict[str, str]:
        if not (response.allowed and response.patch):
            return {}
        try:
            patch = base64.b64decode(re.sub(r"[\r\n]", "", response.patch), validate=True)
        except binascii.Error as error:
            raise bad_request(f"it is not base64: {error}") from error
        if self.request.resource.group == RBAC:
            _refuse_other_than_metadata(patch)
        above = patch_up(self.request, JSON_PATCH, patch, view)
        if self.request.resource.group_resource == CRDS and schemas_after(above, 0):
            # Only what the gateway itself sends is counted for the LCluster.
            raise bad_request("webhooks add nothing to the schemas of a definition")
        above = _leaving_managed_fields(above)
        refuse_unreadable_times(self.request, above)
        return {"patchType": response.patch_type or "", "patch": base64.b64encode(above).decode()}


def _refuse_other_than_metadata(patch: bytes) -> None:
    """Refuse to change the rules, the role or the subjects of an RBAC object.

    Their escalation was checked by a dry run, and a webhook can distinguish a dry run.
    """
    operations = decoded(patch, list[_PatchOperation])
    if not all(each.path.startswith("/metadata/") for each in operations):
        raise bad_request("webhooks change no rules, roles and subjects")


def _leaving_managed_fields(patch: bytes) -> bytes:
    """Return a patch in upstream spelling that changes no managed fields: no webhook needs that.

    Of custom resources the API server stores what a webhook says there as it is. By the time
    ``9999-12-31T23:59:59-10:00`` it could read no object of the kind any more, and no version or
    schema helped: it shows times in UTC, with a year of five digits, and reads them twice.
    """
    if _MANAGED[-1].encode() not in patch:
        return patch
    operations = decoded(patch, list[dict[str, Any]])
    kept = [each for each in operations if keys_of(each["path"])[: len(_MANAGED)] != _MANAGED]
    for each in kept:
        path, value = keys_of(each["path"]), each.get("value")
        metadata = value.get("metadata") if path == () and isinstance(value, dict) else value
        if path in ((), _MANAGED[:1]) and isinstance(metadata, dict):
            metadata.pop(_MANAGED[-1], None)
    return msgspec.json.encode(kept)


def read_admission_review(body: bytes, view: TenantView) -> AdmissionReview:
    """Translate an AdmissionReview of the API server into tenant spelling.

    Raises
    ------
    Refused
        The body is not an AdmissionReview.
    ForeignObject
        The review is about an object that is not the tenant's.
    """
    members, asked = read_members(body, "request")
    admitted = decoded(members["request"], _AdmissionRequest)
    request = _request_down(admitted, view)
    below: dict[str, Any] = {**asked, **_grouped_down(admitted, view)}
    below["userInfo"] = user_info_down(admitted.user_info, view)
    if "name" in asked:
        below["name"] = request.name
    if "namespace" in asked:
        below["namespace"] = view.namespace_down(admitted.namespace)
    translator = AnswerTranslator(request, view)
    below |= _objects_down(asked, translator)
    of_tenant = acts_for_tenant(admitted.user_info, view)
    return AdmissionReview(request, envelope(members, request=below), of_tenant)


def _request_down(admitted: _AdmissionRequest, view: TenantView) -> ResourceRequest:
    resource = _resource_down(admitted, view)
    name = view.name_down(resource, admitted.name)
    namespace = view.namespace_down(admitted.namespace if resource.namespaced else "")
    if name is None or namespace is None:
        raise ForeignObject
    version = admitted.resource.get("version", "")
    subresource = admitted.sub_resource
    return ResourceRequest("patch", resource, version, namespace, name, subresource)


def _resource_down(admitted: _AdmissionRequest, view: TenantView) -> ResourceType:
    group = view.group_down(admitted.resource.get("group", ""))
    plural, kind = admitted.resource.get("resource", ""), admitted.kind.get("kind", "")
    # A CustomResourceDefinition may be new.
    unknown = ResourceType(group, plural, kind, bool(admitted.namespace), custom=bool(group))
    return view.resources.by_plural(group, plural) or unknown


def _grouped_down(admitted: _AdmissionRequest, view: TenantView) -> dict[str, dict[str, str]]:
    found = {
        "kind": admitted.kind,
        "resource": admitted.resource,
        "requestKind": admitted.request_kind,
        "requestResource": admitted.request_resource,
    }
    return {
        key: each | {"group": view.group_down(each.get("group", ""))}
        for key, each in found.items()
        if each
    }


def _objects_down(asked: Encoded, translator: AnswerTranslator) -> Encoded:
    found = {key: object_of(asked.get(key, Raw(b"null"))) for key in ("object", "oldObject")}
    return {key: translator.item(members) for key, members in found.items() if members}
