"""`kubectl lns kubeconfig`: a context that leads to an LCluster, with the login one already has.

With --mine it leads to the platform's own cluster, where one's LNamespaces are all namespaces.

`kubectl config` writes it, because it knows which of several files an entry belongs to. The address
of the gateway is in the LCluster's status, or in the flags --gateway and --gateway-ca. A person's
login is sent there, so it must be https.
"""

from __future__ import annotations

import time
from shlex import quote

from lnamespace.plugins.cluster.kubectl import Call, Kubectl, Reply, caller, missing
from lnamespace.plugins.kubeconfig.gateway import (
    MINE,
    GatewayAddress,
    by_name,
    by_path,
    read_certificates,
)
from lnamespace.plugins.model.api_group import DEFAULT_SUFFIX, advised, suffix
from lnamespace.plugins.model.lnamespaces import LCLUSTER, Object, path, read_name
from lnamespace.plugins.runtime.errors import PluginError, UsageError
from lnamespace.plugins.runtime.flags import Arguments, one_of
from lnamespace.plugins.runtime.terminal import say
from lnamespace.plugins.runtime.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

USABLE_DEADLINE, PAUSE = 5.0, 0.1  # seconds
NAMESPACES = "/api/v1/namespaces?limit=1"


class KubeconfigContext(NamedTuple):
    """A context of a kubeconfig: its name, cluster and user."""

    name: str
    gateway: GatewayAddress
    user: str  # an entry of the kubeconfig
    proxy: str = ""


def kubeconfig_command(arguments: Arguments) -> int:
    """Add a context for one LCluster, or for `mine`, or print it."""
    mine = arguments.switch("mine")
    if len(arguments.words) != (1 if mine else 2):
        raise UsageError("--mine takes no NAME" if mine else "exactly one NAME is required")
    output = one_of(arguments, "output", ("json", "yaml", ""), "")
    name = MINE if mine else read_name(arguments.words[1], LCLUSTER)
    kubectl = Kubectl(arguments.connection)
    viewed = start_view(arguments.connection)
    found = kubectl.start_get(mine_path() if mine else path(name, LCLUSTER))
    config, reply = viewed.reply().document(), found.reply()
    if mine:
        served = _mine_served(reply)
    elif reply.code:
        raise _no_lcluster(reply, kubectl, name)
    else:
        served = reply.document()
    wanted = context_of(served, config, arguments)
    if output:
        print(_printed(wanted, output), end="")
        return 0
    if not arguments.switch("force"):
        check_free(config, wanted)
    merge(Kubectl(_files(arguments.connection)), config, wanted)
    print(_success_text(name, wanted))
    say(f"Use it with: kubectl --context {quote(wanted.name)} get ns")
    return 0


def _no_lcluster(reply: Reply, kubectl: Kubectl, name: str) -> PluginError:
    """Return the error for an LCluster that could not be read; it may be an LNamespace."""
    if reply.reason == "NotFound" and not kubectl.start_get(path(name)).reply().code:
        return PluginError(
            f'"{name}" is an LNamespace, which needs no context of its own: '
            f"kubectl -n {name} get all"
        )
    return missing(reply, kubectl, name, LCLUSTER)


def mine_path() -> str:
    """Return the path of the ConfigMap with the address of the endpoint `mine`."""
    ours = suffix()
    prefix = "lnamespace" if ours == DEFAULT_SUFFIX else f"lnamespace.{ours}"
    return f"/api/v1/namespaces/kube-public/configmaps/{prefix}-gateway"


def _mine_served(reply: Reply) -> Object:
    """Return where `mine` is served, from the status of an LCluster; empty if it is not there."""
    if reply.code and reply.reason not in ("NotFound", "Forbidden"):
        raise reply.failure()
    data = {} if reply.code else reply.document().get("data", {})
    status = {"address": data.get("mine", ""), "caBundle": data.get("ca.crt", "")}
    return {"metadata": {"name": MINE}, "status": status}


def start_view(connection: tuple[str, ...]) -> Call:
    """Begin to read the kubeconfig; kubectl leaves out its secrets."""
    whole = "--minify=false"  # by default, unless the user's kuberc has another
    return Kubectl(_files(connection)).start("config", "view", "-o", "json", whole)


def _files(connection: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flags that say which kubeconfig; the others lead to a cluster."""
    return tuple(flag for flag in connection if flag.startswith("--kubeconfig="))


def context_of(lcluster: Object, config: Mapping[str, Any], arguments: Arguments) -> Any:
    """Return the context that leads to an LCluster, with the login of the one that is used now.

    Raises
    ------
    PluginError
        Where nothing says the gateway's address, or there is no login in the kubeconfig.

    """
    name = str(lcluster["metadata"]["name"])
    base = _login(config, arguments.one("context"))
    return KubeconfigContext(
        name=arguments.one("name") or name,
        gateway=_address(lcluster, name, arguments),
        user=base["user"],
        proxy=str(_entry(config, "cluster", str(base.get("cluster"))).get("proxy-url") or ""),
    )


def _address(lcluster: Object, name: str, arguments: Arguments) -> GatewayAddress:
    status = lcluster.get("status", {})
    server = arguments.one("gateway") or str(status.get("address") or "")
    if not server and name == MINE:
        raise PluginError(
            "this cluster does not say that its gateway has an endpoint for LNamespaces "
            "(gateway.mine in the chart); where you know its address: "
            + advised("kubectl lns kubeconfig --mine --gateway https://HOST --gateway-ca FILE")
        )
    if not server:
        raise PluginError(
            f'the status of LCluster "{name}" does not say where it is served: this cluster has no '
            "gateway for LClusters, or it has just begun; where you know its address: "
            + advised(f"kubectl lns kubeconfig {name} --gateway https://HOST --gateway-ca FILE")
        )
    if file := arguments.one("gateway-ca"):
        certificates = read_certificates(file)
    else:
        certificates = str(status.get("caBundle") or "")
    choose = by_name if arguments.switch("sni") else by_path
    given = bool(arguments.one("gateway"))
    return choose(server, name, given)._replace(ca=certificates)


def _login(config: Mapping[str, Any], context: str) -> dict[str, Any]:
    """Return the context whose login is taken over."""
    chosen = context or str(config.get("current-context") or "")
    found = _entry(config, "context", chosen)
    if not found.get("user"):
        why = f'context "{chosen}" of the kubeconfig has no user' if found else "there is none"
        raise PluginError(
            f"a context with your login is needed, and {why}; choose one with --context "
            "(kubectl config get-contexts), or print the entry: -o yaml --context CONTEXT"
        )
    return found


def _entry(config: Mapping[str, Any], kind: str, name: str) -> dict[str, Any]:
    """Return a context or a cluster of a kubeconfig by its name; empty where there is none."""
    for item in config.get(f"{kind}s") or ():
        if item.get("name") == name:
            return dict(item.get(kind) or {})
    return {}


def check_free(config: Mapping[str, Any], wanted: KubeconfigContext) -> None:
    """Refuse to replace entries of these names that lead to something else.

    Raises
    ------
    PluginError
        With the ways out: to replace them, or another name.

    """
    cluster = _entry(config, "cluster", wanted.name)
    context = _entry(config, "context", wanted.name)
    other = ""
    if cluster and not _is_same(cluster, wanted.gateway):
        other = f'a cluster "{wanted.name}" that leads to {cluster.get("server")}'
    elif context and context.get("cluster") != wanted.name:
        other = f'a context "{wanted.name}" that leads to cluster "{context.get("cluster")}"'
    if other:
        raise PluginError(
            f"your kubeconfig has {other}; nothing was changed. Choose another name with "
            "--name CONTEXT, or replace it with --force"
        )


def _is_same(cluster: Mapping[str, Any], gateway: GatewayAddress) -> bool:
    found = (str(cluster.get("server") or ""), str(cluster.get("tls-server-name") or ""))
    return found == (gateway.server, gateway.tls_server_name)


def merge(kubectl: Kubectl, config: Mapping[str, Any], wanted: KubeconfigContext) -> None:
    """Write the context and its cluster by `kubectl config`."""
    if _entry(config, "cluster", wanted.name):  # nothing of the old one stays, such as its CA
        _run(kubectl, "unset", f"clusters.{wanted.name}")
    gateway = wanted.gateway
    flags = [f"--server={gateway.server}"]
    if gateway.tls_server_name:
        flags.append(f"--tls-server-name={gateway.tls_server_name}")
    if wanted.proxy:
        flags.append(f"--proxy-url={wanted.proxy}")
    if not gateway.ca:
        _run(kubectl, "set-cluster", wanted.name, *flags)
    else:
        from tempfile import NamedTemporaryFile

        with NamedTemporaryFile(suffix=".pem") as file:  # kubectl reads it twice: no pipe
            file.write(gateway.certificates)
            file.flush()
            flags += (f"--certificate-authority={file.name}", "--embed-certs=true")
            _run(kubectl, "set-cluster", wanted.name, *flags)
    _run(kubectl, "set-context", wanted.name, f"--cluster={wanted.name}", f"--user={wanted.user}")


def _run(kubectl: Kubectl, *words: str) -> None:
    reply = kubectl.run("config", *words)
    if reply.code:
        raise reply.failure()


def _printed(wanted: KubeconfigContext, output: str) -> str:
    """Return a kubeconfig with this context alone; the login stays where it is."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        kubectl = Kubectl((f"--kubeconfig={folder}/config",))
        merge(kubectl, {}, wanted)
        _run(kubectl, "use-context", wanted.name)
        reply = kubectl.run("config", "view", "--raw", "-o", output)
    if reply.code:
        raise reply.failure()
    return reply.out


def _success_text(lcluster: str, wanted: KubeconfigContext) -> str:
    where = "your LNamespaces" if lcluster == MINE else f'LCluster "{lcluster}"'
    return (
        f'context "{wanted.name}" leads to {where} ({wanted.gateway.shown}), '
        f'with the login "{wanted.user}"'
    )


def wait_for_context(arguments: Arguments, name: str, timeout: float) -> None:
    """Wait until an LCluster is ready, and add a context for it, if the caller may use it.

    The arguments are those of its creation.
    """
    from lnamespace.plugins.cluster.waiting import wait_ready
    from lnamespace.plugins.model.subjects import entries_covering

    kubectl = Kubectl(arguments.connection)
    asked, viewed = kubectl.start_whoami(), start_view(arguments.connection)
    lcluster = wait_ready(kubectl, name, timeout, LCLUSTER)
    me, config = caller(asked.reply()), viewed.reply().document()
    if not any(entries_covering(lcluster["spec"], on, me) for on in ("users", "sudoers")):
        say(f"For its users: {advised(f'kubectl lns kubeconfig {name}')}")
        return
    wanted = context_of(lcluster, config, arguments)
    check_free(config, wanted)
    files = _files(arguments.connection)
    merge(Kubectl(files), config, wanted)
    _wait_answered(Kubectl((*files, f"--context={wanted.name}")))
    say(_success_text(name, wanted))
    say(f"Use it with: kubectl --context {quote(wanted.name)} get ns")


def _wait_answered(kubectl: Kubectl) -> None:
    """Return when the gateway answers; it learns of a new LCluster a moment after we do."""
    deadline = time.monotonic() + USABLE_DEADLINE
    while (reply := kubectl.start_get(NAMESPACES).reply()).code:
        if time.monotonic() >= deadline:
            raise reply.failure()
        time.sleep(PAUSE)
