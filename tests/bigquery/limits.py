"""BigQuery's quotas, as far as the ledger could meet them."""

import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from tests.bigquery.errors import ApiError, invalid_query, rate_limited
from tests.bigquery.names import TableId


@dataclass(frozen=True)
class Limits:
    """Quotas and windows. Source: the service's "Quotas and limits" page.

    A test makes them small to meet them. Windows are in seconds.
    """

    dml_statements: int = 25
    dml_window: float = 10.0
    parameters: int = 10_000
    sql_characters: int = 1024 * 1024
    request_bytes: int = 10 * 1024 * 1024
    request_id_window: float = 15 * 60.0
    insert_id_window: float = 60.0
    streaming_buffer_window: float = 90 * 60.0

    def check_request(self, size: int) -> None:
        """Refuse a request that is too large."""
        if size > self.request_bytes:
            raise ApiError(413, "uploadTooLarge", "Request payload size exceeds the limit")

    def check_query(self, sql: str, parameters: int) -> None:
        """Refuse a statement that is too long or has too many parameters."""
        if len(sql) > self.sql_characters:
            raise invalid_query("The query is too large. The maximum length is 1024.00K characters")
        if parameters > self.parameters:
            raise invalid_query(f"Too many query parameters: {parameters} > {self.parameters}")


class DmlRate:
    """Counts DML statements, table by table."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._times: defaultdict[TableId, deque[float]] = defaultdict(deque)

    def count(self, table: TableId) -> None:
        """Count one; refuse it if there were too many of late."""
        times, now = self._times[table], self._clock()
        while times and times[0] <= now - self._limits.dml_window:
            times.popleft()
        if len(times) >= self._limits.dml_statements:
            raise rate_limited(f"too many DML statements for {table}")
        times.append(now)
