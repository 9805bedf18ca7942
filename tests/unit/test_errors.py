"""Whether waiting can help is a property of an error's type."""

import pytest
from lnamespace import errors


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (errors.Unreachable, True),
        (errors.Throttled, True),
        (errors.ServerFault, True),
        (errors.Conflict, True),
        (errors.AlreadyExists, True),
        (errors.Expired, True),
        (errors.Terminating, True),
        (errors.Unauthenticated, True),
        (errors.NotFound, False),
        (errors.Forbidden, True),
        (errors.Invalid, False),
    ],
)
def test_the_type_of_an_error_determines_whether_it_is_retryable(
    error: type[errors.ClusterError], retryable: bool
) -> None:
    assert error.retryable is retryable
    assert issubclass(error, errors.ClusterError)


def test_every_type_of_a_cluster_error_is_in_the_documented_tree() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert all(issubclass(kind, errors.LNamespaceError) for kind in kinds)
    for kind in kinds:
        assert kind.__name__ in (errors.__doc__ or "")


def test_an_error_keeps_the_message_status_and_retry_after_of_the_server() -> None:
    error = errors.Throttled("slowly", status=429, retry_after=3)
    assert (str(error), error.status, error.retry_after) == ("slowly", 429, 3)
    silent = errors.Unreachable("cut")
    assert (silent.status, silent.retry_after) == (0, 0)
