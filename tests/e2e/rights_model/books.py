"""The ledger beside the play: its process may crash and its database be away.

Rights do not depend on it, and what waits for the books is written once they are there again.
"""

from pathlib import Path

from tests.e2e.support.api import Api, Object
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.ledger import BILLINGRECORDS
from tests.e2e.support.waiting import eventually

LONG = 90.0
"""Seconds that a busy machine may take for the slowest of all this."""


class Books:
    """A database in a file, and the process that writes it."""

    def __init__(self, cluster: Cluster) -> None:
        folder = cluster.folder.parent
        self._file, self._away = folder / "ledger.db", folder / "ledger.away"
        self._publisher = cluster.publisher(f"sqlite:///{self._file}")

    def start(self) -> None:
        """Have both there."""
        if self._away.exists():
            self._file.rmdir()
            self._away.rename(self._file)
        if not self._publisher.running:
            since = self._publisher.launch()
            ready = self._publisher.ready
            eventually(lambda: ready(self._publisher.log(since)), LONG, "no ledger", tick=0.05)

    def kill(self) -> None:
        """Crash the process."""
        if self._publisher.running:
            self._publisher.kill()

    def lose(self) -> None:
        """Start the process where the database is not."""
        self.kill()
        if not self._away.exists():
            _move(self._file, self._away)
            self._file.mkdir()
        self._publisher.launch()

    def stop(self) -> None:
        """Leave no process."""
        self._publisher.stop()


def _move(file: Path, to: Path) -> None:
    """Also one that was never written."""
    file.touch()
    file.rename(to)


def unwritten(admin: Api, lnamespaces: list[Object]) -> list[str]:
    """Return what waits for the books; an end that is announced waits for what is still there."""
    there = {item["metadata"]["uid"] for item in lnamespaces}
    names = [item["metadata"]["name"] for item in admin.items(BILLINGRECORDS)]
    return [f"is not in the ledger: {name}" for name in names if not _announced(name, there)]


def _announced(record: str, there: set[str]) -> bool:
    uid, _, rest = record.partition(".")
    return rest.endswith(".ending") and uid in there
