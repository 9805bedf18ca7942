"""The console script ``lnamespace``, which also works where only the kubectl plugins are."""

import os
import sys

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def main() -> int:
    """Run the command line; after Ctrl-C, which may come while it is loaded, say nothing."""
    try:
        code = _run()
        if sys.stdout:  # None where the caller has closed it
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        # Any other one is a defect, of the controller say, and keeps its stack trace.
        if not _is_of_output(error):
            raise
        if not isinstance(error, BrokenPipeError):  # as after `| head`
            print(f"error: standard output: {error.strerror}", file=sys.stderr)
        return 1
    return code


def _is_of_output(error: OSError) -> bool:
    """Return whether standard output fails in the same way again; what is left of it is dropped.

    A flush alone tells nothing: of a long text that failed, nothing is left in the buffer.
    """
    try:
        if sys.stdout:
            print(flush=True)
    except OSError as again:
        # The interpreter flushes at its end too, and would fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return again.errno == error.errno
    return False


def _run() -> int:
    """Run the command line; where a library is missing, print how to install it."""
    try:
        from lnamespace import cli
    except ModuleNotFoundError as error:
        if (error.name or "lnamespace").startswith("lnamespace"):
            raise
        print(
            f"error: {error.name} is missing: only the kubectl plugins are installed here.\n"
            "For the controller, the webhook and the ledger run pip install '.[server]' in a clone "
            "of LNamespace.",
            file=sys.stderr,
        )
        return 1
    return cli.main()
