"""The command line of ``hack/bigquery-check``."""

import argparse
import sys
import time
from collections.abc import Callable

from google.api_core.exceptions import GoogleAPIError
from google.auth.exceptions import GoogleAuthError
from lnamespace.errors import LNamespaceError

from bigquerycheck.check import Check, CheckError


def main() -> int:
    """Run the check, and print the result of each step."""
    chosen = _arguments()
    try:
        check = Check(chosen.project, chosen.dataset, chosen.location)
    except (GoogleAuthError, LNamespaceError) as error:
        print(f"error: {error}\nRun: gcloud auth application-default login", file=sys.stderr)
        return 2
    try:
        return 0 if all(_step(step.title, step.action) for step in check.steps()) else 1
    finally:
        if chosen.keep:
            print("kept:", *check.tables)
        else:
            _step("what was made is removed", check.clean_up)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="hack/bigquery-check", description=__doc__)
    parser.add_argument("project", help="the project that the dataset is in; jobs run in it too")
    parser.add_argument("dataset", help="a dataset that exists; tables are made in it and removed")
    parser.add_argument("--location", default="", help="the dataset's location, if not found")
    parser.add_argument("--keep", action="store_true", help="leave the tables for a look at them")
    return parser.parse_args()


def _step(title: str, action: Callable[[], None]) -> bool:
    started = time.monotonic()
    try:
        action()
    except (CheckError, LNamespaceError, GoogleAPIError) as error:
        print(f"✘ {title}\n  {type(error).__name__}: {error}")
        return False
    print(f"✔ {title} ({time.monotonic() - started:.1f} s)")
    return True
