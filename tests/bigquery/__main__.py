"""The stand-in as a process: ``python -m tests.bigquery --port 9050 --dataset PROJECT.DATASET``.

Set ``BIGQUERY_EMULATOR_HOST`` to the URL that it prints. POST a list of faults to
``/standin/faults``, DELETE it to end them, GET ``/standin/requests`` for what came.
"""

import argparse
import signal
import sys

from tests.bigquery.server import standin


def main() -> int:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m tests.bigquery", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any that is free [0]")
    parser.add_argument("--dataset", action="append", default=[], help="make PROJECT.DATASET")
    arguments = parser.parse_args()
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with standin(arguments.port) as server:
        for name in arguments.dataset:
            with server.client(name.partition(".")[0]) as client:
                client.create_dataset(name)
        server.faults.forget()
        sys.stdout.write(f"{server.endpoint}\n")
        sys.stdout.flush()
        signal.sigwait(signals)
    return 0


if __name__ == "__main__":
    sys.exit(main())
