"""Translate ConversionReviews of a tenant's webhooks."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.catalogue import translator_of
from lnamespace.translate.objects.context import TranslationContext
from lnamespace.translate.objects.labels import UNCONVERTED
from lnamespace.translate.objects.translators import Encoded, ForeignObject, object_of
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import bad_request
from lnamespace.translate.webhooks.review_bodies import decoded, envelope, read_members

_SUCCESS = "Success"
_NO_TEXT, _NO_OBJECT = Raw(b'""'), Raw(b"{}")


class _Meta(msgspec.Struct, frozen=True):
    namespace: str = ""


class _ConversionQuestion(msgspec.Struct, frozen=True, rename="camel"):
    desired_api_version: str = msgspec.field(name="desiredAPIVersion", default="")
    objects: tuple[dict[str, Raw], ...] = ()


class _Result(msgspec.Struct, frozen=True):
    status: str | None = None
    message: str | None = None


class _ConversionAnswer(msgspec.Struct, frozen=True, rename="camel"):
    converted_objects: tuple[dict[str, Raw], ...] | None = None
    result: _Result | None = None

    @property
    def failure(self) -> str:
        """Return why the webhook says that it has failed; empty if it has not."""
        result = self.result or _Result()
        return "" if result.status == _SUCCESS else result.message or "the webhook fails"


class Conversion(NamedTuple):
    """The answer to a ConversionReview in upstream spelling, and why it failed; empty if not."""

    body: bytes
    failure: str = ""


@dataclass(frozen=True)
class ConversionReview:
    """A request of the API server to convert objects.

    Parameters
    ----------
    members
        The members of the review upstream.
    uid
        The review's UID, as JSON.
    wanted
        The version that is asked for, in upstream spelling.
    objects
        The objects in upstream spelling.
    own
        For each object, whether it is the tenant's. A list converts all objects of a kind, and
        whoever may write the kind past the gateway can have some in other namespaces.
    body
        The review of the tenant's objects in tenant spelling; empty if there is none.
    resource
        The resource that the review is about; None if it is not served.
    """

    members: Encoded
    uid: Raw | None
    wanted: str
    objects: tuple[Encoded, ...]
    own: tuple[bool, ...]
    body: bytes
    resource: ResourceType | None = None

    @property
    def into_preferred(self) -> bool:
        """Return whether the version is the one in which Kubernetes lists the kind."""
        versions = self.resource.versions if self.resource else ()
        return self.wanted.rpartition("/")[2] == (versions or ("",))[0]

    def answer_up(self, answer: bytes, view: TenantView) -> Conversion:
        """Translate the answer of a webhook into upstream spelling.

        Raises
        ------
        Refused
            The answer is not a review, or has a value that the tenant may not write.
        """
        members, response = read_members(answer, "response")
        review = decoded(members["response"], _ConversionAnswer)
        converted, asked = review.converted_objects or (), sum(self.own)
        if converted and len(converted) != asked:
            raise bad_request(f"the webhook returned {len(converted)} objects, expected {asked}")
        if not converted:
            failure = review.failure or "the webhook converts nothing"
            return Conversion(envelope(members, response={**response, **_NOTHING}), failure)
        above = iter([_Converted.from_object(each, view).up(each) for each in converted])
        objects = [
            next(above) if own else each | {"apiVersion": self.wanted}
            for each, own in zip(self.objects, self.own, strict=True)
        ]
        body = envelope(members, response={**response, "convertedObjects": objects})
        return Conversion(body, review.failure)

    def answer_without_webhook(self, *, labelled: bool = False) -> bytes:
        """Return the answer of conversion strategy ``None``, which changes the version alone.

        Parameters
        ----------
        labelled
            Whether the tenant's objects get the label :data:`UNCONVERTED`, so that they can be
            neither shown nor written.
        """
        objects = [
            _labelled(each, self.wanted) if labelled and own else each | {"apiVersion": self.wanted}
            for each, own in zip(self.objects, self.own, strict=True)
        ]
        success = {"uid": self.uid, "convertedObjects": objects, "result": {"status": _SUCCESS}}
        return envelope(self.members, response=success)


_NOTHING: dict[str, Any] = {"convertedObjects": []}


def read_conversion_review(body: bytes, view: TenantView) -> ConversionReview:
    """Translate a ConversionReview of the API server into tenant spelling.

    Raises
    ------
    Refused
        The body is not a ConversionReview.
    """
    members, asked = read_members(body, "request")
    request = decoded(members["request"], _ConversionQuestion)
    translated = [_down(each, view) for each in request.objects]
    below = {
        "desiredAPIVersion": view.api_version_down(request.desired_api_version),
        "objects": [each for each in translated if each is not None],
    }
    question = envelope(members, request={**asked, **below}) if below["objects"] else b""
    own = tuple(each is not None for each in translated)
    wanted, resource = request.desired_api_version, _resource_of(request, view)
    return ConversionReview(
        members, asked.get("uid"), wanted, request.objects, own, question, resource
    )


def converted_kind(body: bytes, view: TenantView) -> ResourceType | None:
    """Return the resource that a review is about; None if it is not served.

    Raises
    ------
    Refused
        The body is not a ConversionReview.
    """
    request = decoded(read_members(body, "request")[0]["request"], _ConversionQuestion)
    return _resource_of(request, view)


def _resource_of(request: _ConversionQuestion, view: TenantView) -> ResourceType | None:
    group = view.group_down(request.desired_api_version.rpartition("/")[0])
    kinds = {decoded(each.get("kind", _NO_TEXT), str) for each in request.objects}
    return view.resources.by_kind(group, kinds.pop()) if len(kinds) == 1 else None


def _down(members: Encoded, view: TenantView) -> Encoded | None:
    """Return an object in tenant spelling; None if it is not the tenant's."""
    try:
        return _Converted.from_object(members, view).down(members)
    except ForeignObject:
        return None


def read_review_of_former(body: bytes) -> ConversionReview:
    """Return a ConversionReview of an LCluster that is gone, to which all objects belong.

    Raises
    ------
    Refused
        The body is not a ConversionReview.
    """
    members, asked = read_members(body, "request")
    request = decoded(members["request"], _ConversionQuestion)
    own, wanted = (True,) * len(request.objects), request.desired_api_version
    return ConversionReview(members, asked.get("uid"), wanted, request.objects, own, b"")


def _labelled(members: Encoded, wanted: str) -> Encoded:
    """Return an object in another version, with the label for objects that nobody converted."""
    metadata: Encoded = decoded(members.get("metadata", _NO_OBJECT), dict[str, Raw])
    labels = object_of(metadata.get("labels", _NO_OBJECT)) or {}
    before = decoded(members.get("apiVersion", _NO_TEXT), str).rpartition("/")[2]
    labelled = metadata | {"labels": labels | {UNCONVERTED: before}}
    return members | {"apiVersion": wanted, "metadata": labelled}


def _without_label(members: Encoded) -> Encoded:
    """Return an object without the label of `_labelled`: its tenant stored it past the gateway."""
    if UNCONVERTED.encode() not in bytes(members.get("metadata", _NO_OBJECT)):
        return members
    metadata: Encoded = decoded(members["metadata"], dict[str, Raw])
    labels = object_of(metadata.get("labels", _NO_OBJECT)) or {}
    labels.pop(UNCONVERTED, None)
    return members | {"metadata": Raw(msgspec.json.encode(metadata | {"labels": labels}))}


def _namespace_of(members: Encoded) -> str:
    return decoded(members.get("metadata", _NO_OBJECT), _Meta).namespace


@dataclass(frozen=True)
class _Converted:
    """An object of a review, whose definition may be newer than the served resources."""

    api_version: str
    context: TranslationContext

    @classmethod
    def from_object(cls, members: Encoded, view: TenantView) -> "_Converted":
        api_version = decoded(members.get("apiVersion", _NO_TEXT), str)
        kind = decoded(members.get("kind", _NO_TEXT), str)
        namespace = _namespace_of(members)
        group, _, version = api_version.removeprefix(view.prefix).rpartition("/")
        resource = ResourceType(group, "", kind, bool(namespace), custom=True)
        return cls(f"{group}/{version}", TranslationContext(view, resource))

    def down(self, members: Encoded) -> Encoded:
        members = _without_label(members)
        below = translator_of(self.context.resource).members_down({**members}, self.context)
        return below | {"apiVersion": self.api_version}

    def up(self, members: Encoded) -> Encoded:
        if "items" in members:
            # An admission policy refuses it in what clients write, before it is converted.
            raise bad_request("items: the API server takes an object with this field for a list")
        above = translator_of(self.context.resource).members_up({**members}, self.context)
        return above | {"apiVersion": self.context.view.prefix + self.api_version}
