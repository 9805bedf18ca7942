"""Translate ConversionReviews of a tenant's webhooks."""

from dataclasses import dataclass

import msgspec
from msgspec import Raw

from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.catalogue import translator_of
from lnamespace.translate.objects.translators import Encoded, TranslationContext
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import bad_request
from lnamespace.translate.webhooks.review_bodies import decoded, envelope, read_members

_NO_TEXT, _NO_OBJECT = Raw(b'""'), Raw(b"{}")


class _Meta(msgspec.Struct, frozen=True):
    namespace: str = ""


class _ConversionQuestion(msgspec.Struct, frozen=True, rename="camel"):
    desired_api_version: str = msgspec.field(name="desiredAPIVersion", default="")
    objects: tuple[dict[str, Raw], ...] = ()


class _ConversionAnswer(msgspec.Struct, frozen=True, rename="camel"):
    converted_objects: tuple[dict[str, Raw], ...] | None = None


def conversion_down(body: bytes, view: TenantView) -> tuple[bytes, int]:
    """Return a review in tenant spelling, and the number of its objects.

    Raises
    ------
    Refused
        The body is not a ConversionReview.
    ForeignObject
        The review is about an object that is not the tenant's.
    """
    members, asked = read_members(body, "request")
    request = decoded(members["request"], _ConversionQuestion)
    below = {
        "desiredAPIVersion": view.api_version_down(request.desired_api_version),
        "objects": [_Converted.from_object(each, view).down(each) for each in request.objects],
    }
    return envelope(members, request={**asked, **below}), len(request.objects)


def converted_up(answer: bytes, view: TenantView, asked: int) -> bytes:
    """Translate the objects that a webhook converted into upstream spelling.

    Parameters
    ----------
    asked
        The number of objects in the review, which the API server expects back.

    Raises
    ------
    Refused
        The answer is not a review, or has a value that the tenant may not write.
    """
    members, response = read_members(answer, "response")
    objects = decoded(members["response"], _ConversionAnswer).converted_objects or ()
    if objects and len(objects) != asked:
        raise bad_request(f"the webhook returned {len(objects)} objects, expected {asked}")
    above = [_Converted.from_object(each, view).up(each) for each in objects]
    return envelope(members, response={**response, "convertedObjects": above})


def answer_without_webhook(body: bytes) -> bytes:
    """Return the answer of conversion strategy ``None``, which changes the version alone.

    Raises
    ------
    Refused
        The body is not a ConversionReview.
    """
    members, asked = read_members(body, "request")
    request = decoded(members["request"], _ConversionQuestion)
    wanted = {"apiVersion": request.desired_api_version}
    response = {
        "uid": asked.get("uid"),
        "convertedObjects": [each | wanted for each in request.objects],
        "result": {"status": "Success"},
    }
    return envelope(members, response=response)


@dataclass(frozen=True)
class _Converted:
    """An object of a review, whose definition may be newer than the served resources."""

    api_version: str
    context: TranslationContext

    @classmethod
    def from_object(cls, members: Encoded, view: TenantView) -> "_Converted":
        api_version = decoded(members.get("apiVersion", _NO_TEXT), str)
        kind = decoded(members.get("kind", _NO_TEXT), str)
        namespace = decoded(members.get("metadata", _NO_OBJECT), _Meta).namespace
        group, _, version = api_version.removeprefix(view.prefix).rpartition("/")
        resource = ResourceType(group, "", kind, bool(namespace), custom=True)
        return cls(f"{group}/{version}", TranslationContext(view, resource))

    def down(self, members: Encoded) -> Encoded:
        below = translator_of(self.context.resource).members_down({**members}, self.context)
        return below | {"apiVersion": self.api_version}

    def up(self, members: Encoded) -> Encoded:
        above = translator_of(self.context.resource).members_up({**members}, self.context)
        return above | {"apiVersion": self.context.view.prefix + self.api_version}
