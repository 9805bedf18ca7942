"""The version of the plugins: that of the package, which the one file and krew's archive carry."""

from __future__ import annotations


def print_version(program: str) -> int:
    """Print the version, as `lnamespace --version` does; only then it is looked up."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        told = version("lnamespace")
    except PackageNotFoundError:  # run from the source, without an installation
        told = "unknown"
    print(f"{program} {told}")
    return 0
