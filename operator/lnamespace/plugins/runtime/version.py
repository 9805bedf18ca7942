"""The version of the plugins: that of their package, of which there are two (docs/release.md)."""

from __future__ import annotations

PACKAGES = ("lnamespace-plugins", "lnamespace")


def print_version(program: str) -> int:
    """Print the version, as `lnamespace --version` does; only then it is looked up."""
    from importlib.metadata import distributions

    found = (one.version for name in PACKAGES for one in distributions(name=name))
    print(f"{program} {next(found, 'unknown')}")  # from the source, nothing is installed
    return 0
