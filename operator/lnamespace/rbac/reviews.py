"""Answer the kinds by which clients ask who they are and what somebody may do.

A review is created and never stored: its answer is the object with a status. The answers have the
words of Kubernetes, for a tenant's own users, groups and objects.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from lnamespace.rbac.attributes import Attributes, User, path_attributes
from lnamespace.rbac.authorizer import Authorizer, aggregate_error, role_not_found
from lnamespace.rbac.objects import AccessRule
from lnamespace.rbac.selectors import ReviewSelector, selector_causes, selector_error
from lnamespace.translate.protocol.encodings import UNREADABLE
from lnamespace.translate.protocol.resources import GroupResource
from lnamespace.translate.protocol.status import Cause, Refused, bad_request, invalid

AUTHORIZATION = "authorization.k8s.io"
AUTHENTICATION = "authentication.k8s.io"
_Answer = Mapping[str, Any]
_Shape = TypeVar("_Shape")


class ResourceQuestion(Struct, rename="camel", omit_defaults=True):
    """The ``spec.resourceAttributes`` of an access review."""

    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    field_selector: ReviewSelector | None = None
    label_selector: ReviewSelector | None = None


class PathQuestion(Struct, omit_defaults=True):
    """The ``spec.nonResourceAttributes`` of an access review."""

    path: str = ""
    verb: str = ""


class AccessReviewSpec(Struct, rename="camel", omit_defaults=True):
    """The question of an access review, about somebody or the caller."""

    resource_attributes: ResourceQuestion | None = None
    non_resource_attributes: PathQuestion | None = None
    user: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None
    uid: str = ""


class _AccessReview(Struct, rename="camel"):
    kind: str | None = None
    api_version: str | None = None
    metadata: dict[str, Any] | None = None
    spec: AccessReviewSpec | None = None


class _RulesReviewSpec(Struct):
    namespace: str | None = None


class _RulesReview(Struct, rename="camel"):
    kind: str | None = None
    api_version: str | None = None
    spec: _RulesReviewSpec | None = None


class _SubjectReview(Struct, rename="camel"):
    kind: str | None = None
    api_version: str | None = None


class ReviewAnswers:
    """The answers to reviews of one caller, by one state of a tenant's Roles and bindings.

    Parameters
    ----------
    now
        The time, as in ``metadata.creationTimestamp``.
    """

    def __init__(self, authorizer: Authorizer, caller: User, now: str) -> None:
        self._authorizer = authorizer
        self._caller = caller
        self._now = now

    def answer(self, resource: GroupResource, namespace: str, body: bytes) -> bytes | None:
        """Return the body of the answer, or None if the resource is no review.

        The status is 201. TokenReviews are not answered here: they need the platform's API server.

        Raises
        ------
        Refused
            BadRequest or Invalid, if the API server would answer so.
        """
        answers: dict[tuple[str, str], Callable[[str, bytes], _Answer]] = {
            (AUTHORIZATION, "selfsubjectaccessreviews"): self._self_access,
            (AUTHORIZATION, "subjectaccessreviews"): self._access,
            (AUTHORIZATION, "localsubjectaccessreviews"): self._local_access,
            (AUTHORIZATION, "selfsubjectrulesreviews"): self._rules,
            (AUTHENTICATION, "selfsubjectreviews"): self._self,
        }
        answer = answers.get((resource.group, resource.plural))
        return None if answer is None else msgspec.json.encode(answer(namespace, body))

    def _self_access(self, _: str, body: bytes) -> _Answer:
        review = _decoded(body, _AccessReview, "SelfSubjectAccessReview", AUTHORIZATION)
        asked = review.spec or AccessReviewSpec()
        spec = AccessReviewSpec(asked.resource_attributes, asked.non_resource_attributes)
        _validate([*_causes(spec), *_metadata_causes(review)])
        return self._answered("SelfSubjectAccessReview", spec, self._caller)

    def _access(self, _: str, body: bytes) -> _Answer:
        review = _decoded(body, _AccessReview, "SubjectAccessReview", AUTHORIZATION)
        spec = review.spec or AccessReviewSpec()
        _validate([*_causes(spec, subject=True), *_metadata_causes(review)])
        return self._answered("SubjectAccessReview", spec, _subject(spec))

    def _local_access(self, namespace: str, body: bytes) -> _Answer:
        kind = "LocalSubjectAccessReview"
        review = _decoded(body, _AccessReview, kind, AUTHORIZATION)
        spec = review.spec or AccessReviewSpec()
        if ((review.metadata or {}).get("namespace") or namespace) != namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the"
                " request"
            )
        _validate(
            [
                *_causes(spec, subject=True),
                *_metadata_causes(review, local=True),
                *_local_causes(spec, namespace),
            ]
        )
        return self._answered(kind, spec, _subject(spec), {"namespace": namespace})

    def _answered(
        self,
        kind: str,
        spec: AccessReviewSpec,
        user: User,
        metadata: Mapping[str, Any] | None = None,
    ) -> _Answer:
        decision = self._authorizer.allows(user, _attributes(spec))
        question = spec.resource_attributes or ResourceQuestion()
        errors = (
            selector_error(question.field_selector, "field"),
            selector_error(question.label_selector, "label"),
        )
        status: dict[str, Any] = {"allowed": decision.allowed}
        if decision.reason:
            status["reason"] = decision.reason
        if any(errors):
            status["evaluationError"] = "; ".join(filter(None, errors))
        api_version = f"{AUTHORIZATION}/v1"
        head = {"kind": kind, "apiVersion": api_version, "metadata": metadata or {}}
        return head | {"spec": spec, "status": status}

    def _rules(self, _: str, body: bytes) -> _Answer:
        review = _decoded(body, _RulesReview, "SelfSubjectRulesReview", AUTHORIZATION)
        namespace = (review.spec and review.spec.namespace) or ""
        if not namespace:
            raise bad_request("no namespace on request")
        rules, missing, complete = self._authorizer.rules_for(self._caller, namespace)
        status: dict[str, Any] = {
            "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
            "nonResourceRules": [_path_rule(rule) for rule in rules if rule.non_resource_urls],
            "incomplete": not complete,
        }
        if missing:
            status["evaluationError"] = aggregate_error([role_not_found(role) for role in missing])
        head = {"kind": "SelfSubjectRulesReview", "apiVersion": f"{AUTHORIZATION}/v1"}
        return head | {"metadata": {}, "spec": {}, "status": status}

    def _self(self, _: str, body: bytes) -> _Answer:
        _decoded(body, _SubjectReview, "SelfSubjectReview", AUTHENTICATION)
        return {
            "kind": "SelfSubjectReview",
            "apiVersion": f"{AUTHENTICATION}/v1",
            "metadata": {"creationTimestamp": self._now},
            "status": {"userInfo": user_info(self._caller)},
        }


def user_info(user: User) -> dict[str, Any]:
    """Return a user as authentication.k8s.io/v1 UserInfo."""
    info = {"username": user.name, "uid": user.uid, "groups": user.groups, "extra": user.extra}
    return {key: value for key, value in info.items() if value}


def _decoded(body: bytes, shape: type[_Shape], kind: str, group: str) -> _Shape:
    try:
        review = msgspec.convert(_without_null(msgspec.json.decode(body)), shape)
    except UNREADABLE as error:
        raise _unreadable(kind, str(error)) from error
    for key, expected in (("kind", kind), ("api_version", f"{group}/v1")):
        if (getattr(review, key) or expected) != expected:
            raise _unreadable(kind, f"the object is no {kind} of {group}/v1")
    return review


def _without_null(value: Any) -> Any:
    """Return JSON without members that are null: Kubernetes reads them as absent."""
    if isinstance(value, dict):
        return {key: _without_null(each) for key, each in value.items() if each is not None}
    return [_without_null(each) for each in value] if isinstance(value, list) else value


def _unreadable(kind: str, why: str) -> Refused:
    return bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {why}')


def _subject(spec: AccessReviewSpec) -> User:
    extra = {key.lower(): tuple(values) for key, values in (spec.extra or {}).items()}
    return User(spec.user, spec.uid, tuple(spec.groups or ()), extra)


def _attributes(spec: AccessReviewSpec) -> Attributes:
    if spec.non_resource_attributes is not None:
        return path_attributes(spec.non_resource_attributes.verb, spec.non_resource_attributes.path)
    asked = spec.resource_attributes or ResourceQuestion()
    return Attributes(
        asked.verb,
        asked.group,
        asked.version or "*",
        asked.resource,
        asked.subresource,
        asked.namespace,
        asked.name,
    )


def _validate(causes: list[Cause]) -> None:
    if causes:
        # The API server has forgotten the kind where it says this.
        raise invalid(AUTHORIZATION, "", "", causes)


def _causes(spec: AccessReviewSpec, *, subject: bool = False) -> list[Cause]:
    causes = []
    resource, path = spec.resource_attributes, spec.non_resource_attributes
    if resource is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        causes.append(_wrong("spec.nonResourceAttributes", _shown(path), why))
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        causes.append(_wrong("spec.resourceAttributes", "null", why))
    if subject and not spec.user and not spec.groups:
        causes.append(_wrong("spec.user", '""', "at least one of user or group must be specified"))
    if resource is not None:
        at = "spec.resourceAttributes"
        causes += selector_causes(resource.field_selector, f"{at}.fieldSelector", "field")
        causes += selector_causes(resource.label_selector, f"{at}.labelSelector", "label")
    return causes


def _metadata_causes(review: _AccessReview, *, local: bool = False) -> list[Cause]:
    metadata = {key: each for key, each in (review.metadata or {}).items() if each}
    judged = metadata.keys() - {"managedFields"} - ({"namespace"} if local else set())
    if not judged:
        return []
    why = "must be empty except for namespace" if local else "must be empty"
    return [_wrong("metadata", msgspec.json.encode(metadata).decode(), why)]


def _local_causes(spec: AccessReviewSpec, namespace: str) -> list[Cause]:
    causes = []
    resource, path = spec.resource_attributes, spec.non_resource_attributes
    if resource is not None and resource.namespace != namespace:
        shown = msgspec.json.encode(resource.namespace).decode()
        at = "spec.resourceAttributes.namespace"
        causes.append(_wrong(at, shown, "must match metadata.namespace"))
    if path is not None:
        why = "disallowed on this kind of request"
        causes.append(_wrong("spec.nonResourceAttributes", _shown(path), why))
    return causes


def _wrong(field: str, shown: str, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {why}", field)


def _shown(question: PathQuestion) -> str:
    return msgspec.json.encode({"Path": question.path, "Verb": question.verb}).decode()


def _resource_rule(rule: AccessRule) -> dict[str, Any]:
    optional = {
        "apiGroups": rule.api_groups,
        "resources": rule.resources,
        "resourceNames": rule.resource_names,
    }
    return {"verbs": rule.verbs} | {key: each for key, each in optional.items() if each}


def _path_rule(rule: AccessRule) -> dict[str, Any]:
    return {"verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls}
