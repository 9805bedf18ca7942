"""All plugins in one program, which runs the one by whose name it is called."""

from __future__ import annotations

import sys

PROGRAMS = {
    "kubectl-create-lc": ("create", "main_lcluster"),
    "kubectl-create-lcluster": ("create", "main_lcluster"),
    "kubectl-create-lnamespace": ("create", "main"),
    "kubectl-create-lns": ("create", "main"),
    "kubectl-lns": ("lns", "main"),
    "kubectl-sudo": ("sudo", "main"),
    "kubectl_complete-create-lc": ("complete", "create_lcluster"),
    "kubectl_complete-create-lcluster": ("complete", "create_lcluster"),
    "kubectl_complete-create-lnamespace": ("complete", "create"),
    "kubectl_complete-create-lns": ("complete", "create"),
    "kubectl_complete-lns": ("complete", "lns"),
    "kubectl_complete-sudo": ("complete", "sudo"),
}


def main() -> int:
    """Run the plugin by the name of this program; by any other name, run `kubectl lns`."""
    name = sys.argv[0].rpartition("/")[2]
    module, function = PROGRAMS.get(name, PROGRAMS["kubectl-lns"])
    # The import of `importlib` takes longer than that of the module.
    loaded = __import__(f"lnamespace.plugins.commands.{module}", fromlist=[function])
    code: int = getattr(loaded, function)()
    return code


if __name__ == "__main__":
    sys.exit(main())
