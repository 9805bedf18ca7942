"""Ask the API server what the gateway's account may do."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from lnamespace.gateway.check.rights import AccountRight
from lnamespace.kube.answers import decode
from lnamespace.kube.client import Client

_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_AT_ONCE = 10


class _RightReviewStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _RightReview(msgspec.Struct, frozen=True):
    status: _RightReviewStatus


_review = msgspec.json.Decoder(_RightReview)


async def review_rights(
    client: Client, account: str, rights: Sequence[AccountRight]
) -> Mapping[AccountRight, bool]:
    """Return which of some rights a ServiceAccount has, as NAMESPACE/NAME."""
    namespace, _, name = account.partition("/")
    room = asyncio.Semaphore(_AT_ONCE)

    async def allowed(right: AccountRight) -> bool:
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": f"system:serviceaccount:{namespace}:{name}",
                "groups": [
                    "system:serviceaccounts",
                    f"system:serviceaccounts:{namespace}",
                    "system:authenticated",
                ],
                "resourceAttributes": right,
            },
        }
        async with room:
            answer = await client.create(_REVIEWS, msgspec.json.encode(body))
        return decode(_review, answer).status.allowed

    return dict(zip(rights, await asyncio.gather(*map(allowed, rights)), strict=True))
