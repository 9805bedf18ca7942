"""Impersonation inside a tenant's cluster (``kubectl --as``); pure."""

from lnamespace.http.messages import Headers
from lnamespace.rbac.attributes import Attributes, User
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.rbac.impersonation import impersonated_user
from lnamespace.translate.protocol.impersonation import impersonation_of


def acting_user(
    authorizer: Authorizer, user: User, headers: Headers, attributes: Attributes
) -> User:
    """Return the user of a request: its sender, or the user whom they impersonate.

    Raises
    ------
    Refused
        The sender may not impersonate that user.
    """
    wanted = impersonation_of(headers)
    if wanted is None:
        return user
    asked = User(wanted.user, wanted.uid, wanted.groups, dict(wanted.extra))
    return impersonated_user(authorizer, user, asked, attributes)
