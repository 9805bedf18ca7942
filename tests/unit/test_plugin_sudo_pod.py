"""`kubectl sudo` in a pod, where kubectl has no kubeconfig but the pod's account."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from lnamespace.plugins.sudo import pod

SIGNED = "eyJhbGciOi"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a pod's account."""
    for name, text in {"token": SIGNED, "ca.crt": "PEM", "namespace": "team-a\n"}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(pod, "FILES", str(tmp_path))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    return tmp_path


def written(files: Path) -> Any:
    pod.lead_to_own_cluster(())
    assert os.environ["KUBECONFIG"] != str(files / "none")
    return json.loads(Path(os.environ["KUBECONFIG"]).read_text())


def test_kubectl_gets_a_kubeconfig_of_the_pods_account_without_its_token(files: Path) -> None:
    """With `--as` kubectl asked localhost:8080."""
    config = written(files)
    (cluster,), (user,), (context,) = config["clusters"], config["users"], config["contexts"]
    assert cluster["cluster"] == {
        "server": "https://10.96.0.1:443",
        "certificate-authority": f"{files}/ca.crt",
    }
    assert user["user"] == {"tokenFile": f"{files}/token"}
    assert context["context"]["namespace"] == "team-a"
    assert config["current-context"] == context["name"]
    assert SIGNED not in json.dumps(config)
    descriptor = int(os.environ["KUBECONFIG"].rpartition("/")[2])
    assert os.get_inheritable(descriptor), "kubectl could not read it"
    os.close(descriptor)


def test_the_address_of_an_ipv6_cluster_is_in_brackets(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert written(files)["clusters"][0]["cluster"]["server"] == "https://[fd00::1]:443"


@pytest.mark.parametrize(
    "flag",
    ["--server=https://elsewhere", "--token=other", "--context=x", "--insecure-skip-tls-verify"],
)
def test_the_pods_token_is_sent_nowhere_else(flag: str, files: Path) -> None:
    pod.lead_to_own_cluster((flag,))
    assert os.environ["KUBECONFIG"] == str(files / "none")


@pytest.mark.parametrize("missing", ["a kubeconfig of its own", "host", "port", "token"])
def test_other_places_are_left_as_they_are(
    missing: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing == "token":
        (files / "token").unlink()
    elif missing in ("host", "port"):
        monkeypatch.delenv(f"KUBERNETES_SERVICE_{missing.upper()}")
    else:
        (files / "none").write_text("apiVersion: v1\nkind: Config\n")
    pod.lead_to_own_cluster(())
    assert os.environ["KUBECONFIG"] == str(files / "none")
