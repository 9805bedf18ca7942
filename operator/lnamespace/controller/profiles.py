"""The profiles in force: read from a file, and normalized by the API server.

An API server writes a spec in another form than people do (``1000m`` is ``1``) and adds defaults.
Compared with what people wrote, every object would differ for ever. So the server is asked by a dry
run how it would write each spec; one that it refuses is a mistake in the file.

A file that cannot be used changes nothing. Before the first one that can, no profile is known.
"""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from lnamespace.access.profiles import ProfileSet, ResolvedProfile
from lnamespace.errors import ClusterError, LostLease, ProfilesError
from lnamespace.files.changing import ChangingFile
from lnamespace.kube import answers
from lnamespace.kube.client import Client
from lnamespace.kube.resources import (
    DEFAULT_NAMESPACE,
    LIMIT_RANGE,
    NETWORK_POLICY,
    PROFILE_RESOURCES,
    RESOURCE_QUOTA,
    Resource,
)
from lnamespace.kube.state import canonical_json
from lnamespace.model.names import Names
from lnamespace.model.profile import Profile, decode_profiles

POLL_SECONDS = 1.0
"""Seconds between two checks whether the file has changed."""

RETRY_SECONDS = 30.0
"""Seconds before the API server is asked again about profiles that could not be used."""

log = logging.getLogger(__name__)


class _DryRunResult(msgspec.Struct, frozen=True):
    spec: msgspec.Raw


_dry_run_result = msgspec.json.Decoder(_DryRunResult)


class Profiles:
    """The profiles of one file; without a path there are none, and no request is sent.

    ``current`` are those in force. ``problem`` says why the present content is not in force; else
    it is empty.
    """

    def __init__(self, client: Client, path: str, names: Names, refresh_seconds: float) -> None:
        self._client = client
        self._names = names
        self._file = ChangingFile(Path(path)) if path else None
        self._refresh_seconds = refresh_seconds
        self._profiles: Mapping[str, Profile] = {}
        self._dry_run_at = 0.0
        self.current = ProfileSet(problem="they have not been read yet" if path else "")
        self.problem = ""

    @property
    def kinds(self) -> tuple[Resource, ...]:
        """Return the resources that profiles may contain."""
        return PROFILE_RESOURCES if self._file else ()

    async def run(self, changed: Callable[[], Awaitable[None]]) -> None:
        """Follow the file for ever; await ``changed`` when other profiles are in force."""
        while self._file:
            await asyncio.sleep(POLL_SECONDS)
            if await self.refresh():
                await changed()

    async def refresh(self) -> bool:
        """Read the file if it has changed; return whether other profiles are in force."""
        if not self._file:
            return False
        try:
            changed_file = self._read(self._file)
            if not changed_file and time.monotonic() < self._dry_run_at + self._dry_run_interval:
                return False
            resolved = ProfileSet(await self._resolve_all(self._file))
        except (ProfilesError, ClusterError) as error:
            return self._record_problem(str(error))
        self.problem, before, self.current = "", self.current, resolved
        return resolved != before

    @property
    def _dry_run_interval(self) -> float:
        """Return the seconds between two dry runs: a new API server may write another form."""
        return RETRY_SECONDS if self.problem else self._refresh_seconds

    def _read(self, file: ChangingFile) -> bool:
        try:
            content = file.changed()
        except OSError as error:
            reason = error.strerror or os.strerror(error.errno or 0)
            raise ProfilesError(f"{file.path}: cannot be read: {reason}") from error
        if content is None:
            return False
        self._dry_run_at = float("inf")
        self._profiles = decode_profiles(content, str(file.path), self._names)
        log.info("read the profiles", extra={"profiles": len(self._profiles)})
        return True

    async def _resolve_all(self, file: ChangingFile) -> dict[str, ResolvedProfile]:
        self._dry_run_at = time.monotonic()
        resolved = {}
        for name, profile in self._profiles.items():
            try:
                resolved[name] = await self._resolve(name, profile)
            except LostLease:
                raise
            except ClusterError as error:
                raise ProfilesError(f"{file.path}: {name}: {error}") from error
        return resolved

    async def _resolve(self, name: str, profile: Profile) -> ResolvedProfile:
        specs = {
            RESOURCE_QUOTA: profile.resource_quota,
            LIMIT_RANGE: profile.limit_range,
            NETWORK_POLICY: profile.network_policy,
        }
        given = {kind: spec for kind, spec in specs.items() if spec is not None}
        normalized = {
            kind: await self._normalized_spec(kind, name, spec) for kind, spec in given.items()
        }
        return ResolvedProfile(normalized, profile.labels)

    async def _normalized_spec(self, kind: Resource, name: str, spec: dict[str, Any]) -> bytes:
        """Return the spec as the API server writes it."""
        body = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": f"lnamespace-profile-{name}"},
            "spec": spec,
        }
        path = kind.path(namespace=DEFAULT_NAMESPACE)
        answer = await self._client.create(path, msgspec.json.encode(body), dry_run=True)
        return canonical_json(bytes(answers.decode(_dry_run_result, answer).spec))

    def _record_problem(self, problem: str) -> bool:
        """Log a problem once; return whether that changes the profiles in force."""
        if problem == self.problem:
            return False
        self.problem = problem
        log.error("the profiles cannot be used; those before go on", extra={"problem": problem})
        if not self.current.problem:
            return False
        self.current = ProfileSet(problem=problem)
        return True
