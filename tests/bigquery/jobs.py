"""Queries: as an answer at once (jobs.query), and as jobs whose result is fetched by pages."""

import itertools
import json
import threading
import time
from dataclasses import dataclass
from typing import Any

from tests.bigquery import parameters
from tests.bigquery.catalogue import Catalogue
from tests.bigquery.database import Database, Result
from tests.bigquery.errors import ApiError, duplicate, invalid, not_found
from tests.bigquery.limits import DmlRate, Limits
from tests.bigquery.statement import DML, Place, Statement, translate
from tests.bigquery.streaming import Streaming


@dataclass(frozen=True)
class Job:
    """A query that has run."""

    project: str
    name: str
    configuration: dict[str, Any]
    kind: str
    result: Result
    error: ApiError | None = None


class Jobs:
    """Runs queries, and remembers them."""

    def __init__(
        self, database: Database, catalogue: Catalogue, streaming: Streaming, limits: Limits
    ) -> None:
        self._database = database
        self._catalogue = catalogue
        self._streaming = streaming
        self._limits = limits
        self._rate = DmlRate(limits)
        self._lock = threading.RLock()
        self._jobs: dict[tuple[str, str], Job] = {}
        self._answered: dict[tuple[str, str], tuple[float, dict[str, Any]]] = {}
        self._numbers = itertools.count(1)

    def query(self, project: str, sent: dict[str, Any]) -> dict[str, Any]:
        """jobs.query: one request id is one execution, for as long as it is remembered."""
        key = (str(sent.get("requestId", "")), json.dumps(sent, sort_keys=True))
        with self._lock:
            known = self._answered.get(key)
            if known and known[0] > time.monotonic() - self._limits.request_id_window:
                return known[1]
            job = self._run(project, f"job_{next(self._numbers)}", {"query": sent})
            if job.error:
                raise job.error
            self._jobs[project, job.name] = job
            answer = results(job, {"maxResults": str(sent.get("maxResults", 10_000))})
            if key[0]:
                self._answered[key] = (time.monotonic(), answer)
            return answer

    def insert(self, project: str, sent: dict[str, Any]) -> dict[str, Any]:
        """jobs.insert: what goes wrong is said by the job, not by this answer."""
        if "query" not in sent["configuration"]:
            raise invalid("Only query jobs are known here")
        with self._lock:
            name = sent.get("jobReference", {}).get("jobId") or f"job_{next(self._numbers)}"
            if (project, name) in self._jobs:
                raise duplicate(f"Job {project}:US.{name}")
            job = self._run(project, name, sent["configuration"])
            self._jobs[project, name] = job
        return resource(job)

    def get(self, project: str, name: str) -> Job:
        """Return a job. Raises ApiError (404)."""
        with self._lock:
            if (project, name) not in self._jobs:
                raise not_found(f"Job {project}:US.{name}")
            return self._jobs[project, name]

    def _run(self, project: str, name: str, configuration: dict[str, Any]) -> Job:
        try:
            kind, result = self._execute(project, configuration["query"], configuration)
        except ApiError as error:
            return Job(project, name, configuration, "SELECT", Result([], []), error)
        return Job(project, name, configuration, kind, result)

    def _execute(
        self, project: str, sent: dict[str, Any], configuration: dict[str, Any]
    ) -> tuple[str, Result]:
        if sent.get("useLegacySql", True):
            raise invalid("Legacy SQL is not known here")
        given = parameters.read(sent.get("queryParameters", []))
        self._limits.check_query(sent["query"], len(given))
        default = sent.get("defaultDataset", {})
        place = Place(default.get("projectId", project), default.get("datasetId", ""))
        self._database.attach(project)
        self._database.attach(place.project)
        kinds = tuple((parameter.name, parameter.kind) for parameter in given)
        statement = translate(sent["query"], place, kinds)
        if sent.get("dryRun") or configuration.get("dryRun"):
            return statement.kind, Result([], [])
        by_name = {parameter.name: parameter.value for parameter in given}
        values = {f"p{place}": by_name[name] for place, name in enumerate(statement.names)}
        return statement.kind, self._carry_out(statement, values)

    def _carry_out(self, statement: Statement, values: dict[str, Any]) -> Result:
        if statement.kind == "SELECT":
            return self._database.query(statement.sql, values)
        if statement.kind not in DML:
            self._database.define(statement.sql)
            self._catalogue.defined(statement)
            return Result([], [])
        if statement.target:
            self._rate.count(statement.target)
        self._streaming.guard(statement, values)
        return Result([], [], self._database.change(statement.sql, values))


def results(job: Job, query: dict[str, str]) -> dict[str, Any]:
    """Return a page of a job's result, as jobs.query and jobs.getQueryResults answer it."""
    if job.error:
        raise job.error
    rows = job.result.rows
    start = int(query.get("pageToken") or query.get("startIndex") or 0)
    size = int(query.get("maxResults", 10_000))
    answer: dict[str, Any] = {
        "kind": "bigquery#queryResponse",
        "jobReference": _reference(job),
        "jobComplete": True,
        "schema": {"fields": job.result.schema},
        "totalRows": str(len(rows)),
        "rows": rows[start : start + size],
        "totalBytesProcessed": "0",
        "cacheHit": False,
    }
    if start + size < len(rows):
        answer["pageToken"] = str(start + size)
    if job.result.affected is not None:
        answer["numDmlAffectedRows"] = str(job.result.affected)
    if job.kind != "SELECT":
        del answer["rows"]
    return answer


def resource(job: Job) -> dict[str, Any]:
    """Return a job, as jobs.get answers it."""
    status: dict[str, Any] = {"state": "DONE"}
    if job.error:
        status |= {"errorResult": job.error.detail, "errors": [job.error.detail]}
    destination = {"projectId": job.project, "datasetId": "_anonymous", "tableId": job.name}
    configuration = {"jobType": "QUERY", **job.configuration}
    configuration["query"] = {"destinationTable": destination, **configuration["query"]}
    details: dict[str, Any] = {"statementType": job.kind, "totalBytesProcessed": "0"}
    if job.result.affected is not None:
        details["numDmlAffectedRows"] = str(job.result.affected)
    return {
        "kind": "bigquery#job",
        "id": f"{job.project}:US.{job.name}",
        "jobReference": _reference(job),
        "configuration": configuration,
        "status": status,
        "statistics": {"query": details},
    }


def _reference(job: Job) -> dict[str, str]:
    return {"projectId": job.project, "jobId": job.name, "location": "US"}
