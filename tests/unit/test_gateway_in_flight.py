"""How much one tenant may have under way at the gateway."""

from contextlib import ExitStack

import pytest
from lnamespace.gateway.fairness.in_flight import InFlight
from lnamespace.http.limits import ServerLimits
from lnamespace.translate.protocol.request import PathRequest, ResourceRequest
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused

PODS = ResourceType("", "pods", "Pod", namespaced=True)
GET = ResourceRequest("get", PODS, "v1", "default", "web")
EXEC = ResourceRequest("create", PODS, "v1", "default", "web", "exec")
WATCH = ResourceRequest("watch", PODS, "v1", "default")


@pytest.mark.parametrize("request_", [GET, EXEC])
def test_a_request_over_the_limit_is_refused_until_another_request_ends(
    request_: ResourceRequest,
) -> None:
    running = InFlight(1)
    with running.counted("acme", request_):
        with pytest.raises(Refused) as refused, running.counted("acme", request_):
            pass
        with running.counted("beta", request_):
            pass
    assert refused.value.status.code == 429
    with running.counted("acme", request_):
        pass


def test_streams_and_requests_are_counted_separately_and_watches_not_at_all() -> None:
    running = InFlight(1)
    with (
        running.counted("acme", EXEC),
        running.counted("acme", GET),
        running.counted("acme", WATCH),
        running.counted("acme", WATCH),
    ):
        pass


def test_a_failed_request_no_longer_counts_as_in_flight() -> None:
    running = InFlight(1)
    with pytest.raises(ZeroDivisionError), running.counted("acme", PathRequest("get", "/version")):
        raise ZeroDivisionError
    with running.counted("acme", GET):
        pass


def test_the_bodies_of_one_tenant_leave_room_for_those_of_other_tenants() -> None:
    running, limits = InFlight(100), ServerLimits()

    def hold_half_of_all() -> None:
        for _ in range(limits.bodies // limits.body // 2):
            stack.enter_context(running.holding("acme", limits.body))

    with ExitStack() as stack:
        with pytest.raises(Refused) as refused:
            hold_half_of_all()
        assert refused.value.status.code == 429
        stack.enter_context(running.holding("beta", limits.body))
    with running.holding("acme", limits.body):
        pass
