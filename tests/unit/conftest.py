"""What all unit tests share."""

from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "unit",
    deadline=None,
    max_examples=40,
    # A property of a rare case filters much; how much depends on the seed, and is no failure.
    suppress_health_check=[HealthCheck.filter_too_much],
)
settings.register_profile(
    "unshrunk",
    settings.get_profile("unit"),
    # For hack/mutations: that a test fails is all that is asked.
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile("unit")
