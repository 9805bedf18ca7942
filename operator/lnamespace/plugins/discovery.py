"""Which API group LNamespaces are in, where that is not the default one.

Nothing is asked before the usual answer turned out to be wrong: then the command begins again
with the group that was found, which is remembered. Where the default group is, it costs nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from lnamespace.plugins.errors import NotHere, PluginError
from lnamespace.plugins.kubectl import Kubectl
from lnamespace.plugins.lnamespaces import GROUP_PREFIX, SUFFIX_VARIABLE, VERSION, group

REMEMBERED_SECONDS = 6 * 3600  # as long as kubectl remembers what a cluster has
PLACES_MAX = 50
# Flags that lead to another cluster than the current context does.
LEADING = ("--kubeconfig", "--context", "--cluster", "--server", "-s")

Command = Callable[[list[str]], int]


def discovering(command: Command, argv: list[str]) -> int:
    """Run a command; where its LNamespaces are not, once more where they are."""
    if os.environ.get(SUFFIX_VARIABLE):
        return _here(command, argv)
    if known := _recalled(argv):
        os.environ[SUFFIX_VARIABLE] = known
    try:
        return command(argv)
    except NotHere as error:
        present = instances(Kubectl(error.connection))
        found = _chosen(error, present)
    # For the command, and for what it starts: `kubectl sudo lns grant ...` need not look again.
    os.environ[SUFFIX_VARIABLE] = found.removeprefix(GROUP_PREFIX)
    if present == [found]:
        _remember(_place(argv), os.environ[SUFFIX_VARIABLE])
    return _here(command, argv)


def _here(command: Command, argv: list[str]) -> int:
    try:
        return command(argv)
    except NotHere as error:
        raise error.told from None


def instances(kubectl: Kubectl) -> list[str]:
    """The API groups that have LNamespaces, of all that the cluster has."""
    reply = kubectl.run("get", "--raw", "/apis")
    if reply.code:
        return []
    return [name for name in _candidates(json.loads(reply.out)) if _has_lnamespaces(kubectl, name)]


def _candidates(listing: Any) -> list[str]:
    """Others have groups of that kind too, such as tenancy.kiosk.sh."""
    return [
        item["name"]
        for item in listing.get("groups") or ()
        if item["name"].startswith(GROUP_PREFIX)
        and VERSION in [version["version"] for version in item["versions"]]
    ]


def _has_lnamespaces(kubectl: Kubectl, name: str) -> bool:
    reply = kubectl.run("get", "--raw", f"/apis/{name}/{VERSION}")
    resources = [] if reply.code else json.loads(reply.out).get("resources") or ()
    return any(resource["name"] == "lnamespaces" for resource in resources)


def _chosen(error: NotHere, present: list[str]) -> str:
    """The one group that was meant.

    Where the group that was asked exists, only an LNamespace of that very name is worth going
    elsewhere: a namespace belongs to one instance.
    """
    others = [name for name in present if name != group()]
    if group() in present:
        kubectl = Kubectl(error.connection)
        others = [one for one in others if error.name and _has(kubectl, one, error.name)]
    if not others:
        raise error.told
    if len(others) > 1:
        suffixes = ", ".join(one.removeprefix(GROUP_PREFIX) for one in sorted(others))
        raise PluginError(
            f"which LNamespaces? This cluster has several instances; set {SUFFIX_VARIABLE} to one "
            f"of: {suffixes}"
        )
    return others[0]


def _has(kubectl: Kubectl, name: str, lns: str) -> bool:
    return kubectl.run("get", "--raw", f"/apis/{name}/{VERSION}/lnamespaces/{lns}").code == 0


# What was found is kept by cluster, or rather by what leads to it: to read that out of a kubeconfig
# would take longer than to ask.


def _place(argv: Sequence[str]) -> str:
    """What tells whether the same cluster is meant; a kubeconfig that was changed is another."""
    home = os.path.expanduser("~/.kube/config")  # noqa: PTH111 - pathlib is slow to load
    files = (os.environ.get("KUBECONFIG") or home).split(os.pathsep)
    states = [[file, *_state(file)] for file in files if file]
    pairs = zip(argv, (*argv, "")[1:], strict=True)
    flags = [[flag, value] for flag, value in pairs if flag.startswith(LEADING)]
    return json.dumps([states, flags])


def _state(file: str) -> tuple[int, int]:
    try:
        found = os.stat(file)  # noqa: PTH116 - as above
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _file() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    return f"{cache}/lnamespace/api-groups.json"


def _read() -> dict[str, Any]:
    try:
        with open(_file(), encoding="utf-8") as file:  # noqa: PTH123
            known = json.load(file)
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _recalled(argv: Sequence[str]) -> str:
    known = _read()
    match known.get(_place(argv)) if known else None:
        case {"suffix": str(suffix), "at": int(at)} if time.time() - at < REMEMBERED_SECONDS:
            return suffix
    return ""


def _remember(place: str, suffix: str) -> None:
    """Best effort: who has no home asks again each time."""
    known = dict(list(_read().items())[1 - PLACES_MAX :])
    known[place] = {"suffix": suffix, "at": int(time.time())}
    path = _file()
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump(known, file)
        os.replace(f"{path}.{os.getpid()}", path)  # noqa: PTH105
    except OSError:
        pass
