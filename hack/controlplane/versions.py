"""The pinned versions, read from go.mod so that they are written down once."""

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
GO_MOD = HERE / "go.mod"
GO_SUM = HERE / "go.sum"


@dataclass(frozen=True)
class Versions:
    """Versions without the leading `v`; `go` is the oldest Go that can build the others."""

    kubernetes: str
    etcd: str
    helm: str
    go: str


def pinned() -> Versions:
    """Read go.mod."""
    text = GO_MOD.read_text()
    return Versions(
        kubernetes=_required(text, "k8s.io/kubernetes"),
        etcd=_required(text, "go.etcd.io/etcd/server/v3"),
        helm=_required(text, "helm.sh/helm/v3"),
        go=_first(text, r"^go (\S+)$"),
    )


def _required(text: str, module: str) -> str:
    return _first(text, rf"^\s*(?:require )?{re.escape(module)} v(\S+)")


def _first(text: str, pattern: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise ValueError(f"{GO_MOD} has no line like {pattern}")
    return match[1]
