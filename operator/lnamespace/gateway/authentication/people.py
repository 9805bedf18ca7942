"""Find the user of a login inside a tenant's cluster, and whom they impersonate; pure."""

from collections.abc import Container

from lnamespace.access.entries import ActiveEntries
from lnamespace.gateway.authentication.logins import Login
from lnamespace.http.messages import Headers
from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX, Subject, SubjectKind
from lnamespace.rbac.attributes import (
    AUTHENTICATED,
    LCLUSTER_USERS,
    MASTERS,
    Attributes,
    User,
    person,
)
from lnamespace.rbac.authorizer import Authorizer
from lnamespace.rbac.impersonation import impersonated_user
from lnamespace.rbac.token_reviews import CREDENTIAL_ID, KEPT_EXTRA
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.protocol.impersonation import impersonation_of


def user_of(
    login: Login, entries: ActiveEntries, view: TenantView, namespaces: Container[str]
) -> User | None:
    """Return the user of a login inside a tenant's cluster; None if it has no access there.

    Parameters
    ----------
    namespaces
        The tenant's namespaces in upstream spelling; a prefix alone makes none.
    """
    if login.tenant:
        return _holder_of_certificate(login) if login.tenant == view.tenant else None
    if account_namespace(login.user) in namespaces:
        return _service_account(login, view)
    return _listed(login, entries)


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


def account_namespace(user: str) -> str:
    """Return the namespace of a ServiceAccount by its user name; empty for other users."""
    if not user.startswith(SERVICE_ACCOUNT_PREFIX):
        return ""
    return user.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")[0]


def tenant_of_account(login: Login) -> str:
    """Return the tenant in whose namespace a ServiceAccount may be; empty for other users."""
    if login.tenant or not login.user.startswith(SERVICE_ACCOUNT_PREFIX):
        return ""
    tenant, dash, _ = login.user.removeprefix(SERVICE_ACCOUNT_PREFIX).partition("-")
    return tenant if dash and ":" not in tenant else ""


def audited_name(login: Login) -> str:
    """Return the sender's name for the platform's audit log, whatever user they impersonate.

    A tenant chooses the names in its own certificates, so the tenant is put before them.
    """
    return f"lcluster:{login.tenant}:{login.user}" if login.tenant else login.user


def _holder_of_certificate(login: Login) -> User:
    # Only the LCluster's lists give the one group; Kubernetes refuses the other in certificates of
    # this signer (the admission plugin CertificateSubjectRestriction).
    groups = (each for each in login.groups if each not in (LCLUSTER_USERS, MASTERS))
    extra = {CREDENTIAL_ID: (login.credential,)} if login.credential else {}
    return User(login.user, groups=(*groups, AUTHENTICATED), extra=extra)


def _service_account(login: Login, view: TenantView) -> User | None:
    name = view.user_down(login.user)
    if not name:
        return None
    groups = (view.user_group_down(each) or each for each in login.groups)
    kept = tuple(each for each in groups if each.startswith("system:"))
    extra = {key: values for key, values in login.extra if key in KEPT_EXTRA}
    return User(name, login.uid, kept, extra)


def _listed(login: Login, entries: ActiveEntries) -> User | None:
    subjects = login_subjects(login)
    sudoer = any(each in entries.sudoers for each in subjects)
    if not sudoer and not any(each in entries.users for each in subjects):
        return None
    return person(login.user, login.groups, sudoer=sudoer)


def login_subjects(login: Login) -> tuple[Subject, ...]:
    """Return the subjects that name a login in a list: its user or account, and its groups."""
    if login.user.startswith(SERVICE_ACCOUNT_PREFIX):
        namespace, _, name = login.user.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
        own = Subject(SubjectKind.SERVICE_ACCOUNT, name, namespace)
    else:
        own = Subject(SubjectKind.USER, login.user)
    return (own, *(Subject(SubjectKind.GROUP, group) for group in login.groups))
