"""Makes an LNamespace for each namespace that exists, with the people whom its RoleBindings name.

    kubectl get namespaces,rolebindings -A -o json | python3 hack/adoption > lnamespaces.json

It only reads what it is given and prints; docs/migration/gitops.md says what to do with it.
"""

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

Manifest = dict[str, Any]
NOT_TENANTS = re.compile(r"default|(kube-|openshift|lnamespace).*")


def lnamespaces(objects: Iterable[Manifest], options: argparse.Namespace) -> Iterator[Manifest]:
    """Yield an LNamespace for each namespace without one that is not the system's."""
    namespaces: list[Manifest] = []
    people: dict[str, dict[str, Manifest]] = defaultdict(dict)
    for found in objects:
        if found["kind"] == "Namespace":
            namespaces.append(found["metadata"])
        elif found["kind"] == "RoleBinding" and found["roleRef"]["name"] in options.role:
            for one in found.get("subjects", ()):
                people[found["metadata"]["namespace"]][json.dumps(one, sort_keys=True)] = one
    for metadata in namespaces:
        users = [_member(one) for one in people[metadata["name"]].values() if _is_listed(one)]
        if users and not _is_taken(metadata):
            yield _lnamespace(metadata, users, options)


def _lnamespace(metadata: Manifest, users: list[Manifest], options: argparse.Namespace) -> Manifest:
    spec: Manifest = {
        "users": users,
        "managers": [{"kind": "Group", "name": name} for name in options.manager_group]
        or [one for one in users if one["kind"] != "ServiceAccount"],
        "deletionPolicy": "Retain",
    }
    known = {**metadata.get("annotations", {}), **metadata.get("labels", {})}
    if options.cost_center_label in known:
        spec["billing"] = {"costCenter": known[options.cost_center_label]}
    return {
        "apiVersion": f"tenancy.{options.suffix}/v1beta1",
        "kind": "LNamespace",
        "metadata": {"name": metadata["name"]},
        "spec": spec,
    }


def _is_taken(metadata: Manifest) -> bool:
    ours = metadata.get("labels", {}).get("app.kubernetes.io/managed-by") == "lnamespace"
    return ours or bool(NOT_TENANTS.fullmatch(metadata["name"]))


def _is_listed(subject: Manifest) -> bool:
    return not subject["name"].startswith("system:")


def _member(subject: Manifest) -> Manifest:
    return {key: subject[key] for key in ("kind", "name", "namespace") if key in subject}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--role",
        action="append",
        help="a role whose subjects become users; may be repeated [admin, edit]",
    )
    parser.add_argument(
        "--manager-group",
        action="append",
        default=[],
        help="a group that manages all of them; otherwise the users manage theirs",
    )
    parser.add_argument(
        "--cost-center-label", default="", help="the label or annotation that says who pays"
    )
    parser.add_argument("--suffix", default="loblaw.digital", help="of the API group")
    options = parser.parse_args()
    options.role = options.role or ["admin", "edit"]
    return options


def _objects() -> list[Manifest]:
    """Read the list that kubectl printed; exit with the reason if it is not a list."""
    if sys.stdin.isatty():
        print("Reading kubectl's output from the terminal; Ctrl-D ends it.", file=sys.stderr)
    try:
        found: list[Manifest] = json.load(sys.stdin)["items"]
    except (ValueError, KeyError, TypeError):
        sys.exit(
            "error: the input must be what `kubectl get namespaces,rolebindings -A -o json` prints"
        )
    return found


def _summary(count: int) -> str:
    return (
        f"{count} LNamespaces. Whoever creates them is the requester of all {count}: where "
        f"limitPerRequester is lower, raise theirs first (limitExceptions). A dry run does not "
        f"tell, for it asks for each alone."
    )


if __name__ == "__main__":
    # Before anything is read: --help and a mistyped option must not wait for input.
    chosen = _options()
    items = list(lnamespaces(_objects(), chosen))
    json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout, indent=2)
    print()
    print(_summary(len(items)), file=sys.stderr)
