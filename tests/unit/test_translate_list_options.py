"""Options of lists and watches that do not go together, in the words of the API server."""

import pytest
from lnamespace.translate.protocol.list_options import begins_with_everything, confirm_list_options
from lnamespace.translate.protocol.request import ResourceRequest
from lnamespace.translate.protocol.resources import ResourceType
from lnamespace.translate.protocol.status import Refused

PODS = ResourceType("", "pods", "Pod", namespaced=True)
NOT_OLDER = "NotOlderThan"


def asked(verb: str, query: dict[str, str]) -> ResourceRequest:
    return ResourceRequest(verb, PODS, "v1", query=tuple(query.items()))


@pytest.mark.parametrize(
    ("verb", "query"),
    [
        ("list", {}),
        ("list", {"resourceVersion": "5", "resourceVersionMatch": "Exact"}),
        ("list", {"resourceVersion": "0", "resourceVersionMatch": NOT_OLDER}),
        ("list", {"continue": "token", "resourceVersion": "0"}),
        ("watch", {"resourceVersion": "5", "limit": "2"}),
        ("watch", {"sendInitialEvents": "true", "resourceVersionMatch": NOT_OLDER}),
        ("watch", {"sendInitialEvents": "false", "resourceVersionMatch": NOT_OLDER}),
    ],
)
def test_valid_combinations_of_list_options_are_accepted(verb: str, query: dict[str, str]) -> None:
    confirm_list_options(asked(verb, query))


MATCH = "resourceVersionMatch: Forbidden: "
INITIAL = MATCH + "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
PROVIDED = "sendInitialEvents is provided"
UNSUPPORTED = "resourceVersionMatch: Unsupported value: "


@pytest.mark.parametrize(
    ("verb", "query", "words"),
    [
        (
            "list",
            {"resourceVersionMatch": "Exact"},
            MATCH + "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "list",
            {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
            MATCH + 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
        (
            "list",
            {"resourceVersionMatch": "x", "resourceVersion": "1"},
            UNSUPPORTED + '"x": supported values: "Exact", "NotOlderThan", ""',
        ),
        (
            "list",
            {"resourceVersionMatch": "Exact", "resourceVersion": "5", "continue": "token"},
            MATCH + "resourceVersionMatch is forbidden when continue is provided",
        ),
        (
            "list",
            {"sendInitialEvents": "x"},
            "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
        ),
        (
            "watch",
            {"sendInitialEvents": "true"},
            INITIAL,
        ),
        (
            "watch",
            {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
            f'[{INITIAL}, {UNSUPPORTED}"Exact": supported values: "NotOlderThan"]',
        ),
        (
            "watch",
            {"resourceVersionMatch": NOT_OLDER},
            MATCH + "resourceVersionMatch is forbidden for watch unless " + PROVIDED,
        ),
    ],
)
def test_invalid_combinations_are_refused_in_the_words_of_the_api_server(
    verb: str, query: dict[str, str], words: str
) -> None:
    with pytest.raises(Refused) as refusal:
        confirm_list_options(asked(verb, query))
    status = refusal.value.status
    assert status.code == 422
    assert status.message == f'ListOptions.meta.k8s.io "" is invalid: {words}'


@pytest.mark.parametrize(
    ("query", "begins"),
    [
        ({}, True),
        ({"resourceVersion": "0"}, True),
        ({"resourceVersion": "7"}, False),
        ({"resourceVersion": "7", "sendInitialEvents": "true"}, True),
        ({"sendInitialEvents": "false"}, False),
    ],
)
def test_a_watch_without_a_resource_version_begins_with_the_existing_objects(
    query: dict[str, str], begins: bool
) -> None:
    assert begins_with_everything(asked("watch", query)) is begins
