"""Lines of the gateway's audit log: the API server's format, the tenant's names, no credentials."""

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from lnamespace.gateway.audit import AuditLog, RequestRecord
from lnamespace.gateway.authentication.logins import Login
from lnamespace.http.connection import ClientConnection
from lnamespace.http.exchange import Exchange
from lnamespace.http.messages import HttpRequest
from lnamespace.model.lcluster import LCluster
from lnamespace.model.lnamespace import Metadata
from lnamespace.model.names import Names
from lnamespace.rbac.attributes import User
from lnamespace.runtime.lines import LineWriter
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.status import forbidden

from tests.unit.support.translation import asked

ALICE = User("alice", groups=("lcluster:users", "system:authenticated"), sudoer=True)
SUDO = User("alice", groups=("system:masters", "system:authenticated"))
URI = "/api/v1/namespaces/prod/pods?limit=5"
MOMENT = datetime(2026, 11, 23, 18, 45, 27, 5, tzinfo=UTC)


def exchange(status: int = 200) -> Exchange:
    """Return a request of a client at 192.0.2.7, which was answered."""
    connection = cast(ClientConnection, SimpleNamespace(peer="192.0.2.7"))
    sent = (("authorization", "Bearer s3cret"), ("user-agent", "kubectl/v1.36"))
    made = Exchange(HttpRequest("GET", f"/clusters/acme{URI}", sent, b"b0dy"), connection)
    made.status = status
    return made


def record(**more: Any) -> RequestRecord:
    """Return a request of alice in acme."""
    of_alice: dict[str, Any] = {
        "audit_id": "id-1",
        "received": MOMENT,
        "login": Login("alice", credential="JTI=1"),
        "lcluster": LCluster(Metadata("acme", "uid-a", "1")),
        "user": ALICE,
        "acting": ALICE,
        "target": URI,
        "request": asked("pods", "list"),
        "allowed": True,
    }
    return RequestRecord(**of_alice | more)


def lines(
    tmp_path: Path, request: RequestRecord, sent: Exchange, *, stream: bool = False
) -> list[dict[str, Any]]:
    """Return what is written of a request."""
    file = tmp_path / "audit.log"
    writer = LineWriter(str(file), print)
    audit = AuditLog(Names(), writer)
    if stream:
        audit.started(sent, request)
    audit.completed(sent, request)
    writer.close()
    assert "s3cret" not in file.read_text()
    assert "b0dy" not in file.read_text()
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_line_has_the_format_of_the_api_servers_audit_log(tmp_path: Path) -> None:
    (line,) = lines(tmp_path, record(), exchange())
    assert line.pop("stageTimestamp") > "2026-11-23T"
    request = cast(ResourceRequest, record().request)
    assert line == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "id-1",
        "stage": "ResponseComplete",
        "requestURI": URI,
        "verb": "list",
        "user": {
            "username": "alice",
            "groups": ["lcluster:users", "system:authenticated"],
            "extra": {"authentication.kubernetes.io/credential-id": ["JTI=1"]},
        },
        "sourceIPs": ["192.0.2.7"],
        "userAgent": "kubectl/v1.36",
        "objectRef": {
            "resource": "pods",
            "namespace": request.namespace,
            "apiVersion": request.version,
        }
        | ({"name": request.name} if request.name else {}),
        "responseStatus": {"metadata": {}, "code": 200},
        "requestReceivedTimestamp": "2026-11-23T18:45:27.000005Z",
        "annotations": {
            "tenancy.loblaw.digital/lcluster": "acme",
            "lcluster.tenancy.loblaw.digital/uid": "uid-a",
            "authorization.k8s.io/decision": "allow",
        },
    }


def test_sudo_is_recorded_with_the_user_and_the_impersonated_user(tmp_path: Path) -> None:
    (line,) = lines(tmp_path, record(acting=SUDO), exchange())
    assert line["user"]["username"] == "alice"
    assert line["impersonatedUser"]["groups"] == ["system:masters", "system:authenticated"]


def test_a_watch_is_recorded_at_its_start_and_at_its_end(tmp_path: Path) -> None:
    watch = record(request=asked("pods", "watch"))
    told = lines(tmp_path, watch, exchange(), stream=True)
    assert [each["stage"] for each in told] == ["ResponseStarted", "ResponseComplete"]


def test_a_long_list_is_recorded_once_although_its_answer_is_streamed(tmp_path: Path) -> None:
    told = lines(tmp_path, record(), exchange(), stream=True)
    assert [each["stage"] for each in told] == ["ResponseComplete"]


def test_a_refusal_is_recorded_with_its_reason(tmp_path: Path) -> None:
    refused = forbidden(record().request.resource.group_resource, "", "no").status  # type: ignore[union-attr]
    (line,) = lines(tmp_path, record(allowed=False, refused=refused), exchange(403))
    assert line["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert (line["responseStatus"]["reason"], line["responseStatus"]["code"]) == ("Forbidden", 403)


def test_a_caller_of_another_tenant_is_recorded_for_the_platform_only(tmp_path: Path) -> None:
    """This tenant must not learn the name of another tenant's account."""
    login = Login("system:serviceaccount:beta-prod:robot")
    stranger = RequestRecord("id-2", MOMENT, login)
    (line,) = lines(tmp_path, stranger, exchange(403))
    assert "annotations" not in line
    assert line["user"]["username"] == "system:serviceaccount:beta-prod:robot"
    assert line["requestURI"].startswith("/clusters/acme/")


def test_a_request_without_a_login_is_anonymous_and_without_an_answer_has_no_status(
    tmp_path: Path,
) -> None:
    (line,) = lines(tmp_path, RequestRecord("id-3", MOMENT), exchange(0))
    assert line["user"] == {"username": "system:anonymous"}
    assert "responseStatus" not in line


@pytest.mark.parametrize(
    ("created", "name"),
    [
        (b'{"metadata":{"name":"web-x7"},"data":{"a":"b0dy"}}', "web-x7"),
        (b'{"kind":"SelfSubjectReview","metadata":{"creationTimestamp":null}}', ""),
        (b'{"kind":"TokenRequest"}', ""),
        (b"", ""),
    ],
)
def test_a_creation_is_recorded_with_the_name_of_the_created_object(
    tmp_path: Path, created: bytes, name: str
) -> None:
    """The path of a creation has no name, and kubectl sends protobuf."""
    sent = exchange(201)
    sent.created = created
    (line,) = lines(tmp_path, record(request=asked("pods", "create")), sent)
    assert line["objectRef"].get("name", "") == name
