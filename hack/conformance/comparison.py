"""Both results side by side: what passes directly has to pass through the gateway."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

_WORDS = {None: "not run", "": "passed"}


@dataclass(frozen=True)
class Comparison:
    """The results of specs; a message is empty if the spec passed.

    Parameters
    ----------
    reasons
        Why a spec does not pass through the gateway, by its name.
    """

    specs: Sequence[str]
    direct: Mapping[str, str]
    gateway: Mapping[str, str]
    reasons: Mapping[str, str]

    def regressions(self) -> list[str]:
        """Return the specs that pass directly and not through the gateway, for no stated reason."""
        return [
            spec
            for spec in self.specs
            if self.direct.get(spec) == ""
            and self.gateway.get(spec) != ""
            and spec not in self.reasons
        ]

    @property
    def failed(self) -> bool:
        """Return whether a spec regressed or is outdated, or no spec passed at all."""
        return bool(self.regressions() or self.outdated()) or "" not in self.direct.values()

    def outdated(self) -> list[str]:
        """Return the specs that pass although there is a stated reason for which they do not."""
        return [
            spec for spec in self.specs if spec in self.reasons and self.gateway.get(spec) == ""
        ]

    def lines(self) -> Iterator[str]:
        """Yield the table, the reasons of failures, and the sums."""
        yield "directly  gateway   spec"
        for spec in self.specs:
            direct, gateway = self.direct.get(spec), self.gateway.get(spec)
            yield f"{_word(direct):<9} {_word(gateway):<9} {spec}"
            if gateway:
                yield f"{'':20}{self.reasons.get(spec) or _first_line(gateway)}"
        passed = [[each.get(spec) for spec in self.specs].count("") for each in self._results()]
        yield (
            f"{passed[0]} of {len(self.specs)} passed directly, {passed[1]} through the gateway; "
            f"{len(self.regressions())} of those that pass directly fail through it unexplained."
        )

    def _results(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return self.direct, self.gateway


def read_reasons(file: Path) -> dict[str, str]:
    """Read the stated reasons for which specs do not pass through the gateway."""
    entries = yaml.safe_load(file.read_text())["exceptions"]
    return {entry["spec"]: entry["reason"] for entry in entries}


def _word(message: str | None) -> str:
    return _WORDS.get(message, "failed")


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0][:200]
