"""Get Google groups from Cloud Identity (``groups.memberships.searchTransitiveGroups``).

The API needs Workspace Enterprise Standard or Plus, Education, or Cloud Identity Premium, and an
identity that may view all groups; Google answers 403 otherwise. Tests speak the protocol: no
test has asked Google itself.
"""

import re
from http import HTTPStatus

import google.auth
import msgspec
from google.auth.credentials import Credentials
from google.auth.exceptions import GoogleAuthError
from google.auth.transport.requests import AuthorizedSession
from requests import RequestException, Response

from lnamespace.errors import PayersError

ENDPOINT = "https://cloudidentity.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/cloud-identity.groups.readonly"
PAGES_MAX = 10
TIMEOUT_SECONDS = 10.0
"""Seconds that one page may take, with its retries."""

_GROUPS = "cloudidentity.googleapis.com/groups.discussion_forum"
_ADDRESS = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,190}")
"""Addresses that are safe between the quotes of a query. Google groups have no other members."""


class _Key(msgspec.Struct):
    id: str = ""


class _Relation(msgspec.Struct, rename="camel"):
    group_key: _Key = msgspec.field(default_factory=_Key)


class _MembershipsPage(msgspec.Struct, rename="camel"):
    memberships: list[_Relation] = []
    next_page_token: str = ""


class CloudIdentity:
    """A :class:`~lnamespace.payers.directory.Directory` of Google groups.

    Parameters
    ----------
    credentials
        None means the identity of this process (Application Default Credentials).
    """

    def __init__(self, credentials: Credentials | None = None, endpoint: str = ENDPOINT) -> None:
        self._credentials = credentials
        self._endpoint = endpoint

    def groups_of(self, username: str) -> frozenset[str]:
        """Return the addresses of all groups that the user is in, nested ones too.

        Raises
        ------
        PayersError
            Google refused, failed or did not answer in time.
        """
        if not _ADDRESS.fullmatch(username):
            return frozenset()
        session = AuthorizedSession(self._get_credentials())  # type: ignore[no-untyped-call]
        with session:
            return self._list_groups(session, username)

    def _get_credentials(self) -> Credentials:
        if self._credentials is None:
            try:
                self._credentials, _ = google.auth.default(scopes=[SCOPE])
            except GoogleAuthError as error:
                raise PayersError(f"no Google credentials for the directory: {error}") from error
        return self._credentials

    def _list_groups(self, session: AuthorizedSession, username: str) -> frozenset[str]:
        found: set[str] = set()
        token = ""
        for _ in range(PAGES_MAX):
            page = _decode(self._get_page(session, username, token))
            found.update(r.group_key.id for r in page.memberships if r.group_key.id)
            token = page.next_page_token
            if not token:
                return frozenset(found)
        raise PayersError(f"more than {PAGES_MAX} pages of groups for one user")

    def _get_page(self, session: AuthorizedSession, username: str, token: str) -> Response:
        query = {
            "query": f"member_key_id == '{username}' && '{_GROUPS}' in labels",
            "pageSize": "1000",
        }
        try:
            return session.request(  # type: ignore[no-untyped-call,no-any-return]
                "GET",
                f"{self._endpoint}/v1/groups/-/memberships:searchTransitiveGroups",
                params=query | ({"pageToken": token} if token else {}),
                timeout=TIMEOUT_SECONDS / 2,
                max_allowed_time=TIMEOUT_SECONDS,
            )
        except (GoogleAuthError, RequestException) as error:
            raise PayersError(f"Cloud Identity did not answer: {error}") from error


def _decode(response: Response) -> _MembershipsPage:
    if response.status_code == HTTPStatus.FORBIDDEN:
        raise PayersError(
            "Cloud Identity refuses (403): it needs Workspace Enterprise or Education, or Cloud "
            "Identity Premium, and an identity that may view all groups"
        )
    if response.status_code != HTTPStatus.OK:
        raise PayersError(f"Cloud Identity answers {response.status_code}")
    try:
        return msgspec.json.decode(response.content, type=_MembershipsPage)
    except msgspec.DecodeError as error:
        raise PayersError(f"Cloud Identity's answer cannot be read: {error}") from error
