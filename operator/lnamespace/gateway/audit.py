"""The audit log: a line for each request, in the format of the API server's (audit.k8s.io/v1).

The level is Metadata: user, request, time and status; no bodies and no credentials. Names are those
of the tenant's own cluster. A line with the annotation of an LCluster has nothing that its tenant
may not know; a line without it is of a request that was not let in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

import msgspec

from lnamespace.gateway.authentication.logins import Login
from lnamespace.gateway.authentication.people import audited_name
from lnamespace.http.exchange import Exchange
from lnamespace.model.lcluster import LCluster
from lnamespace.model.names import Names
from lnamespace.rbac.attributes import User
from lnamespace.rbac.token_reviews import CREDENTIAL_ID
from lnamespace.runtime.lines import LineWriter
from lnamespace.translate.protocol.request import PathRequest, ResourceRequest
from lnamespace.translate.protocol.status import ApiStatus
from lnamespace.translate.protocol.verbs import CONNECTIONS

STARTED = "ResponseStarted"
COMPLETE = "ResponseComplete"
_DECISION = "authorization.k8s.io/decision"
_LONGEST_AGENT = 1024
"""Characters of the User-Agent that are kept, as the API server does."""


@dataclass
class RequestRecord:
    """The facts about one request, filled in while it is served.

    Parameters
    ----------
    user
        The sender's user in the tenant's cluster.
    acting
        The user after impersonation; otherwise the same.
    target
        Path and query inside the tenant's cluster.
    allowed
        Whether the request is authorized; None before that is decided.
    refused
        The refusal by the gateway itself.
    """

    audit_id: str = ""
    received: datetime | None = None
    login: Login | None = None
    lcluster: LCluster | None = None
    user: User | None = None
    acting: User | None = None
    target: str = ""
    request: ResourceRequest | PathRequest | None = None
    allowed: bool | None = None
    refused: ApiStatus | None = None
    audited: bool = True


class _AuditedUser(msgspec.Struct, frozen=True, omit_defaults=True):
    username: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


class _ObjectReference(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    api_group: str = ""
    api_version: str = ""
    subresource: str = ""


class _ResponseStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    metadata: dict[str, str]
    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0


class AuditEvent(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """An Event of audit.k8s.io/v1; the order of the fields is that of the API server's."""

    stage: str
    audit_id: str = msgspec.field(name="auditID")
    request_uri: str = msgspec.field(name="requestURI")
    verb: str
    user: _AuditedUser
    request_received_timestamp: str
    stage_timestamp: str
    source_ips: tuple[str, ...] = msgspec.field(name="sourceIPs")
    user_agent: str = ""
    impersonated_user: _AuditedUser | None = None
    object_ref: _ObjectReference | None = None
    response_status: _ResponseStatus | None = None
    annotations: Mapping[str, str] = {}


class _NamedMeta(msgspec.Struct, frozen=True):
    name: str = ""


class _Named(msgspec.Struct, frozen=True):
    metadata: _NamedMeta = _NamedMeta()


_created = msgspec.json.Decoder(_Named)
_HEAD = b'{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata",'


@dataclass(frozen=True)
class AuditLog:
    """A log of complete requests; watches and streams have a line at their start too."""

    names: Names
    writer: LineWriter
    encoder: msgspec.json.Encoder = field(default_factory=msgspec.json.Encoder)

    def open(self) -> RequestRecord:
        """Return the record of a request that has just arrived."""
        return RequestRecord(str(uuid4()), datetime.now(UTC))

    def started(self, exchange: Exchange, record: RequestRecord) -> None:
        """Write the start of an answer, if it is a watch or a stream."""
        if _is_long(record.request):
            self._write(STARTED, exchange, record)

    def completed(self, exchange: Exchange, record: RequestRecord) -> None:
        """Write the end of an answer, or that none was sent."""
        if record.audited:
            self._write(COMPLETE, exchange, record)

    def _write(self, stage: str, exchange: Exchange, record: RequestRecord) -> None:
        event = audit_event(self.names, stage, exchange, record, datetime.now(UTC))
        self.writer.put(_HEAD + self.encoder.encode(event)[1:])


def audit_event(
    names: Names, stage: str, exchange: Exchange, record: RequestRecord, now: datetime
) -> AuditEvent:
    """Return the audit event of a request."""
    sent, acting = exchange.request, record.acting
    impersonated = acting if acting != record.user else None
    return AuditEvent(
        stage=stage,
        audit_id=record.audit_id,
        request_uri=record.target or sent.target,
        verb=record.request.verb if record.request else sent.method.lower(),
        user=_sender(record),
        impersonated_user=_audited(impersonated) if impersonated else None,
        source_ips=(exchange.connection.peer,),
        user_agent=sent.value("user-agent")[:_LONGEST_AGENT],
        object_ref=_reference(exchange, record),
        response_status=_status(exchange, record),
        request_received_timestamp=_instant(record.received or now),
        stage_timestamp=_instant(now),
        annotations=_annotations(names, record),
    )


def _sender(record: RequestRecord) -> _AuditedUser:
    login, user = record.login, record.user
    if login is None:
        return _AuditedUser("system:anonymous")
    extra = {CREDENTIAL_ID: (login.credential,)} if login.credential else {}
    if user is None:
        return _AuditedUser(audited_name(login), extra=extra)
    return _AuditedUser(user.name, user.uid, user.groups, {**user.extra, **extra})


def _audited(user: User) -> _AuditedUser:
    return _AuditedUser(user.name, user.uid, user.groups, user.extra)


def _reference(exchange: Exchange, record: RequestRecord) -> _ObjectReference | None:
    request = record.request
    if not isinstance(request, ResourceRequest):
        return None
    return _ObjectReference(
        request.resource.plural,
        request.namespace,
        request.name or _name_of(exchange.created),
        request.resource.group,
        request.version,
        request.subresource,
    )


def _name_of(created: bytes) -> str:
    """Return the name of the created object, which the path does not have."""
    try:
        return _created.decode(created).metadata.name
    except ValueError:
        return ""


def _status(exchange: Exchange, record: RequestRecord) -> _ResponseStatus | None:
    if record.refused:
        refused = record.refused
        return _ResponseStatus({}, "Failure", refused.message, refused.reason, refused.code)
    if not exchange.status:
        return None  # The client was gone before there was an answer.
    return _ResponseStatus({}, "Failure" if exchange.status >= 400 else "", code=exchange.status)


def _annotations(names: Names, record: RequestRecord) -> dict[str, str]:
    found = {}
    if record.lcluster:
        found[names.lcluster_label] = record.lcluster.name
        found[names.lcluster_annotation] = record.lcluster.uid
    if record.allowed is not None:
        found[_DECISION] = "allow" if record.allowed else "forbid"
    return found


def _is_long(request: ResourceRequest | PathRequest | None) -> bool:
    if not isinstance(request, ResourceRequest):
        return False
    return request.verb == "watch" or request.subresource in CONNECTIONS


def _instant(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
