"""What all unit tests share."""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "unit",
    deadline=None,
    max_examples=40,
    # What lands fails for what it changed, and not for an example that was never tried before:
    # those are found by `make thorough`, and each becomes an example in the test.
    derandomize=True,
    # A property of a rare case filters much; how much depends on the seed, and is no failure. How
    # fast examples are made depends on what else the machine does.
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
settings.register_profile(
    "thorough", settings.get_profile("unit"), derandomize=False, max_examples=1000
)
settings.register_profile(
    "unshrunk",
    settings.get_profile("unit"),
    # For hack/mutations: that a test fails is all that is asked.
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile("unit")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let a worker (pytest-xdist) end in silence: DuckDB lists what it leaks at the very end."""
    if hasattr(config, "workerinput"):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
