"""Which folders `hack/cluster up` makes a cluster in."""

from pathlib import Path

import pytest
from controlplane.cluster import MARKER, up
from controlplane.console import ClusterError

CHECKED = "no Kubernetes is called so"
"""The version that is asked for; who is told so was not told to use another folder."""


def refusal(directory: Path) -> str:
    """Return why no cluster is made; it is a version that there is not, at the latest."""
    with pytest.raises(ClusterError) as refused:
        up(directory, CHECKED)
    return str(refused.value)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param((), id="empty"),
        pytest.param(("audit-policy.yaml", "controllers"), id="with what is chosen beforehand"),
        pytest.param((MARKER, "kubeconfig"), id="of a cluster"),
    ],
)
def test_a_cluster_can_be_made_in_a_folder(tmp_path: Path, names: tuple[str, ...]) -> None:
    """The guide said to put an audit policy there first, and `up` refused the folder."""
    for name in names:
        (tmp_path / name).touch()
    assert CHECKED in refusal(tmp_path)


def test_no_cluster_is_made_among_other_files(tmp_path: Path) -> None:
    for name in ("audit-policy.yaml", "thesis.txt"):
        (tmp_path / name).touch()
    assert "has other files in it" in refusal(tmp_path)
