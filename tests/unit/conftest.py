"""What all unit tests share."""

from hypothesis import settings

settings.register_profile("unit", deadline=None, max_examples=40)
settings.load_profile("unit")
