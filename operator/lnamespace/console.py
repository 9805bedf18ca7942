"""The console script ``lnamespace``, also where only the kubectl plugins are installed."""

import sys


def main() -> int:
    """Run the command line; say how to install what it needs where that is missing."""
    try:
        from lnamespace import cli
    except ModuleNotFoundError as error:
        if (error.name or "lnamespace").startswith("lnamespace"):
            raise
        print(
            f"error: {error.name} is missing: only the kubectl plugins are installed here.\n"
            "For the controller, the webhook and the ledger: pip install 'lnamespace[server]'",
            file=sys.stderr,
        )
        return 1
    return cli.main()
