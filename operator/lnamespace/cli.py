"""The command line: ``lnamespace controller`` and what helps around it."""

import argparse
import sys

from lnamespace import settings
from lnamespace.errors import LNamespaceError
from lnamespace.settings import Settings


def main(argv: list[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        code: int = arguments.run(settings.load(arguments), arguments)
    except LNamespaceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lnamespace",
        description="A namespace for every team on a shared Kubernetes cluster, in one command.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    controller = commands.add_parser(
        "controller",
        help="make the cluster as its LNamespaces say, until told to stop",
        description="Watches LNamespaces and keeps their namespaces, roles and bindings as they "
        "should be. Every option is also an environment variable, given in brackets.",
    )
    settings.add_options(controller)
    controller.set_defaults(run=_controller)
    render = commands.add_parser("render", help="print what the code generates")
    render.add_argument("what", choices=["crd"], help="crd: the CustomResourceDefinition")
    settings.add_options(render)
    render.set_defaults(run=_render)
    return parser


def _controller(chosen: Settings, _: argparse.Namespace) -> int:
    # Imported here: kopf takes half a second that `--help` need not wait for.
    from lnamespace import logs
    from lnamespace.controller import shell

    logs.configure(chosen.log_format, chosen.log_level)
    shell.run(chosen)
    return 0


def _render(chosen: Settings, _: argparse.Namespace) -> int:
    from lnamespace.model.crd import as_yaml, crd
    from lnamespace.model.names import Names

    print(as_yaml(crd(Names(chosen.api_group_suffix))), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
