"""The console script ``lnamespace``, which also works where only the kubectl plugins are."""

import sys

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def main() -> int:
    """Run the command line; after Ctrl-C, which may come while it is loaded, say nothing."""
    try:
        return _run()
    except KeyboardInterrupt:
        return INTERRUPTED


def _run() -> int:
    """Run the command line; where a library is missing, print how to install it."""
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
