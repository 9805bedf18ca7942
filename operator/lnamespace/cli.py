"""The command line ``lnamespace``: its commands and their options."""

import argparse
import sys
from collections.abc import Mapping
from typing import TypeAlias

from lnamespace import settings
from lnamespace.errors import (
    Forbidden,
    LNamespaceError,
    OptionError,
    Unauthenticated,
    Unreachable,
)
from lnamespace.ledger.commands.arguments import add_commands
from lnamespace.settings import Settings

_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001


_ADVICE: Mapping[type[Exception], str] = {
    Unauthenticated: "Log in again, or choose another --context of the kubeconfig.",
    Forbidden: "This is for administrators of the cluster: ask one of them.",
    Unreachable: "The cluster cannot be reached; is it the right one? Choose another by --context.",
}


def main(argv: list[str] | None = None) -> int:
    """Run a command, and return the exit code: 2 if the command line is wrong."""
    parser = arguments_parser()
    first = next(iter(sys.argv[1:] if argv is None else argv), "")
    if first.startswith("--") and not any(own.startswith(first) for own in ("--help", "--version")):
        parser.error(f"options stand behind the command: lnamespace COMMAND {first} ...")
    arguments = parser.parse_args(argv)
    try:
        code: int = arguments.run(settings.load(arguments), arguments)
    except LNamespaceError as error:
        print(f"error: {error}", file=sys.stderr)
        if advice := _ADVICE.get(type(error)):
            print(advice, file=sys.stderr)
        return 2 if isinstance(error, OptionError) else 1
    return code


class _PrintVersion(argparse.Action):
    """The option --version; unlike argparse's own, it looks the version up only if asked."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version, and end."""
        from importlib.metadata import version

        print(f"lnamespace {version('lnamespace')}")
        parser.exit()


def arguments_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands and their options."""
    parser = argparse.ArgumentParser(
        prog="lnamespace",
        description="A namespace for every team on a shared Kubernetes cluster, in one command.",
    )
    parser.add_argument(
        "--version", nargs=0, action=_PrintVersion, help="print the version, and end"
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_controller(commands)
    _add_webhook(commands)
    _add_gateway(commands)
    _add_ledger(commands)
    _add_render(commands)
    _add_migrate(commands)
    _add_check(commands)
    _add_vet(commands)
    _add_payers(commands)
    _add_completion(commands)
    return parser


def _add_controller(commands: _Commands) -> None:
    controller = commands.add_parser(
        "controller",
        help="make the cluster as its LNamespaces say, until told to stop",
        description="Watches LNamespaces and keeps their namespaces, roles and bindings as they "
        "should be. Every option is also an environment variable, given in brackets.",
    )
    settings.add_options(controller, "controller")
    controller.set_defaults(run=_controller)


def _add_webhook(commands: _Commands) -> None:
    webhook = commands.add_parser(
        "webhook",
        help="answer the API server's questions about LNamespaces, until told to stop",
        description="Fills in what is missing, refuses what is wrong, and converts between "
        "versions. Every option is also an environment variable, given in brackets.",
    )
    settings.add_options(webhook, "webhook")
    webhook.set_defaults(run=_webhook)


def _add_gateway(commands: _Commands) -> None:
    gateway = commands.add_parser(
        "gateway",
        help="show every LCluster's tenant a cluster of its own, until told to stop",
        description="Answers the tenants of LClusters as an API server of their own would, from "
        "the platform's cluster. Every option is also an environment variable, given in brackets.",
    )
    settings.add_options(gateway, "gateway")
    gateway.set_defaults(run=_gateway)
    _add_gateway_check(gateway.add_subparsers(title="commands", metavar="COMMAND"))


def _add_ledger(commands: _Commands) -> None:
    ledger = commands.add_parser("ledger", help="who pays for which namespace, for ever")
    add_commands(ledger)
    ledger.set_defaults(run=_ledger)


def _add_render(commands: _Commands) -> None:
    render = commands.add_parser("render", help="print what the code generates")
    render.add_argument(
        "what",
        choices=["crd", "lclusters", "billingrecords", "samples"],
        help="the CustomResourceDefinition of LNamespaces, LClusters or BillingRecords; or samples "
        "of objects, into files",
    )
    render.add_argument("directory", nargs="?", help="where samples go ['docs/resource-samples']")
    settings.add_options(render, "render")
    render.set_defaults(run=_render)


def _add_migrate(commands: _Commands) -> None:
    migrate = commands.add_parser(
        "migrate",
        help="have every LNamespace stored in the version of today",
        description="Writes every LNamespace anew, unchanged, so that none is stored in an older "
        "version, and says so in the CustomResourceDefinition (docs/compatibility.md).",
    )
    migrate.add_argument("--dry-run", action="store_true", help="count them, and change nothing")
    settings.add_options(migrate, "migrate")
    migrate.set_defaults(run=_migrate)


def _add_check(commands: _Commands) -> None:
    check = commands.add_parser(
        "check",
        help="see whether the API server reaches the webhook",
        description="Has the API server ask the webhook about an LNamespace that is not stored. "
        "Exits with 1 if it gets no answer.",
    )
    settings.add_options(check, "check")
    check.set_defaults(run=_check)


def _add_payers(commands: _Commands) -> None:
    payers = commands.add_parser("payers", help="who pays by default")
    _add_payers_check(payers.add_subparsers(title="commands", required=True, metavar="COMMAND"))


def _add_vet(commands: _Commands) -> None:
    vet = commands.add_parser(
        "vet",
        help="see whether the users' role gives more than was vetted",
        description="Compares what the users' role gives on this cluster with the last snapshot "
        "that somebody vetted for its version of Kubernetes (docs/vetting.md). Exits with 1 if it "
        "gives anything new, or what no tenant may have.",
    )
    vet.add_argument(
        "--users-role",
        "--role",
        metavar="STR",
        default=argparse.SUPPRESS,
        help="the ClusterRole that users have in their namespace [LNAMESPACE_USERS_ROLE; 'admin']",
    )
    vet.add_argument(
        "--snapshots",
        metavar="DIR",
        help="where they are ['docs/vetted'; where that is not, those that came with this program]",
    )
    vet.add_argument("--record", action="store_true", help="write a snapshot of what is now")
    vet.add_argument("-o", "--output", choices=["table", "json"], default="table")
    settings.add_options(vet, "vet")
    vet.set_defaults(run=_vet)


def _add_completion(commands: _Commands) -> None:
    completion = commands.add_parser(
        "completion",
        help="print what completes this command in a shell",
        description='Prints a script for the shell: eval "$(lnamespace completion bash)".',
    )
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])
    completion.set_defaults(run=_completion)


def _add_gateway_check(commands: _Commands) -> None:
    check = commands.add_parser(
        "check",
        help="see what of this cluster would leak into LClusters, or collide with them",
        description="Reads the platform's cluster and changes nothing in it: names that begin as "
        "those of LClusters, kinds that nobody has judged, what every account of an LCluster is "
        "given, rights of the gateway. Exits with 1 if there is a problem (docs/gateway.md).",
    )
    check.add_argument(
        "--account",
        metavar="NAMESPACE/NAME",
        default="lnamespace-system/lnamespace-gateway",
        help="the gateway's ServiceAccount ['lnamespace-system/lnamespace-gateway']",
    )
    check.add_argument("-o", "--output", choices=["table", "json"], default="table")
    settings.add_options(check, "gateway check")
    check.set_defaults(run=_gateway_check)


def _add_payers_check(commands: _Commands) -> None:
    check = commands.add_parser(
        "check",
        help="check the file that says who pays, and try it out",
        description="Checks the file that says who pays by default, and tells who would pay for "
        "what somebody creates, and why. Exits with 1 if they would be refused.",
    )
    check.add_argument("file", metavar="FILE", help="the file (docs/payers.md)")
    check.add_argument("--user", help="who creates an LNamespace (`kubectl auth whoami`)")
    check.add_argument(
        "--group", action="append", default=[], help="a group that they are in; may be repeated"
    )
    check.add_argument("--cost-center", default="", help="the cost centre that they ask for")
    check.set_defaults(run=_payers_check)


def _controller(chosen: Settings, _: argparse.Namespace) -> int:
    # Imported here: importing kopf takes half a second, for which `--help` need not wait.
    from lnamespace.controller import process as shell
    from lnamespace.runtime import logs

    logs.configure(chosen.log_format, chosen.log_level)
    shell.run(chosen)
    return 0


def _webhook(chosen: Settings, _: argparse.Namespace) -> int:
    from lnamespace.admission import webhook
    from lnamespace.runtime import logs

    logs.configure(chosen.log_format, chosen.log_level)
    webhook.run(chosen)
    return 0


def _gateway(chosen: Settings, _: argparse.Namespace) -> int:
    from lnamespace.gateway import process, supervisor
    from lnamespace.runtime import logs

    logs.configure(chosen.log_format, chosen.log_level)
    if chosen.gateway_workers > 1:
        supervisor.run(chosen)
    else:
        process.run(chosen)
    return 0


def _gateway_check(chosen: Settings, arguments: argparse.Namespace) -> int:
    from lnamespace.gateway.check import command

    return command.run(chosen, arguments)


def _ledger(chosen: Settings, arguments: argparse.Namespace) -> int:
    from lnamespace.ledger.commands import dispatch

    return dispatch.run(arguments.ledger_command, chosen, arguments)


def _render(chosen: Settings, arguments: argparse.Namespace) -> int:
    if arguments.what == "samples":
        return _render_samples(chosen, arguments.directory or "docs/resource-samples")
    if arguments.directory:
        raise OptionError(f"render {arguments.what} prints; a folder is for samples")
    from lnamespace.ledger.outbox.crd import billingrecords_crd
    from lnamespace.model.crd import build_crd, to_yaml
    from lnamespace.model.lcluster_crd import build_lcluster_crd
    from lnamespace.model.names import Names

    generate = {
        "crd": build_crd,
        "lclusters": build_lcluster_crd,
        "billingrecords": billingrecords_crd,
    }[arguments.what]
    print(to_yaml(generate(Names(chosen.api_group_suffix))), end="")
    return 0


def _render_samples(chosen: Settings, directory: str) -> int:
    from pathlib import Path

    from lnamespace.access.conventions import Conventions
    from lnamespace.commands import samples
    from lnamespace.model.names import Names

    names = Names(chosen.api_group_suffix)
    samples.write(Path(directory), Conventions(names))
    return 0


def _migrate(chosen: Settings, arguments: argparse.Namespace) -> int:
    from lnamespace.commands import migration

    return migration.run(chosen, arguments)


def _check(chosen: Settings, arguments: argparse.Namespace) -> int:
    from lnamespace.commands import check

    return check.run(chosen, arguments)


def _vet(chosen: Settings, arguments: argparse.Namespace) -> int:
    from lnamespace.vet import command

    return command.run(chosen, arguments)


def _payers_check(chosen: Settings, arguments: argparse.Namespace) -> int:
    from lnamespace.payers import command as payers_command

    return payers_command.check(chosen, arguments)


def _completion(_: Settings, arguments: argparse.Namespace) -> int:
    import shtab

    print(shtab.complete(arguments_parser(), arguments.shell))
    return 0


if __name__ == "__main__":
    sys.exit(main())
