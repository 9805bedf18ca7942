"""What all unit tests share."""

import sys
from pathlib import Path

from hypothesis import settings

# So that tests can import what they share as `tests.unit.support`.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

settings.register_profile("unit", deadline=None, max_examples=40)
settings.load_profile("unit")
