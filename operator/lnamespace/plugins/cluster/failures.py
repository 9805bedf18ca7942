"""Advice that is printed after kubectl's own error messages.

Users of a command know neither our webhook nor our admission policies.
"""

from __future__ import annotations

import os

from lnamespace.plugins.model.api_group import group, policy_prefix
from lnamespace.plugins.model.lnamespaces import LCLUSTER, LNAMESPACE, RESOURCE_KINDS
from lnamespace.plugins.runtime.memory import kubeconfigs

NO_WEBHOOK = (
    "LNamespaces and LClusters can be neither created nor changed while their webhook does not "
    "answer, but for taking users off the list. All else works as before. Try again in a minute, "
    "or tell your platform team."
)
# Where kubectl got no answer, it says one of these; and asks this server if it has no kubeconfig.
UNREACHED = (
    "connection refused",
    "was refused - did you specify the right host or port?",
    "no such host",
    "i/o timeout",
    "context deadline exceeded",
    "network is unreachable",
    "Client.Timeout exceeded",
    "TLS handshake timeout",
)
NO_SERVER = "localhost:8080"
LOGIN = "Your login is not valid there, or no longer. Log in again, or choose another context."
BUSY = "Try again in a minute; if that does not help, tell your platform team."
NO_API = "That is no Kubernetes API server, but perhaps a proxy that asks for a login."
# Kubectl's words, and what to do; without "Error from server" it is `kubectl create` that says so.
REMEDIES = (
    ("You must be logged in to the server", LOGIN),
    ("asked for the client to provide credentials", LOGIN),
    ("(ServiceUnavailable)", BUSY),
    ("currently unable to handle the request", BUSY),
    ("(TooManyRequests)", BUSY),
    ("has received too many requests", BUSY),
    ("serializer for text/html", NO_API),
    ("cannot parse invalid wire-format data", NO_API),
    ("the server responded with the status code 30", NO_API),
)
POLICY, DENIED = ": ValidatingAdmissionPolicy ", " denied request: "  # the API server's words
# Advice where somebody may not even read a kind; for LNamespaces mostly after an uninstall.
FORBIDDEN = {
    LNAMESPACE: "LNamespaces are perhaps no longer installed in this cluster, or not for you. Ask "
    "your platform team; the namespaces that there are, access to them and kubectl sudo go on.",
    LCLUSTER: "LClusters may not be switched on in this cluster, or not for you. Ask your platform "
    "team; a namespace of your own is: kubectl create lns NAME",
}


# Where a cluster has none of our kinds.
OTHER_CONTEXT = (
    "If it is an LCluster, choose the context of the platform's cluster: "
    "add --context NAME at the end"
)


def webhook_unreachable(err: str) -> bool:
    """Return whether the API server could not call our webhook."""
    return "failed calling webhook" in err and group() in err


def remedy(err: str) -> str:
    """Return advice if kubectl got no answer, or none that it could use; else an empty text."""
    if webhook_unreachable(err):
        return NO_WEBHOOK
    answered = "Error from server" in err  # which may not have reached something else
    if not answered and any(words in err for words in UNREACHED):
        return _unreached(err)
    return next((advice for words, advice in REMEDIES if words in err), "")


def _unreached(err: str) -> str:
    files = [file for file in kubeconfigs() if file]
    if NO_SERVER in err and not any(os.path.exists(file) for file in files):  # noqa: PTH110 - slow
        return f"There is no kubeconfig: no file {' or '.join(files)}; see the variable KUBECONFIG"
    if NO_SERVER in err:  # which nobody has named, unless the kubeconfig does
        return "Does the kubeconfig name a current context? See: kubectl config get-contexts"
    return "The cluster cannot be reached; is it the right one? See: kubectl config get-contexts"


def without_policy(message: str) -> str:
    """Return kubectl's words without the names of our own admission policies.

    They mean nothing to users. Other policies keep their names, by which the platform team finds
    them. Kubernetes puts an empty field in front: ``is invalid: : ``.
    """
    before, found, rest = message.partition(f"{POLICY}'{policy_prefix()}")
    named, denied, reason = rest.partition(DENIED)
    if not found or not denied or ": " in named or "\n" in named:
        return message
    return before.removesuffix(": ") + ": " + without_policy(reason)


def elsewhere(err: str) -> bool:
    """Return whether the objects may be in another API group than the one that was asked.

    There are three such failures: kubectl does not know the kind; it still knows one that is gone,
    which is then forbidden; or the group has other kinds, and kubectl looks for this definition.
    """
    return any(
        f'no matches for kind "{one.kind}" in version "{group()}/' in err
        or f"{one.plural}.{group()} is forbidden" in err
        for one in RESOURCE_KINDS
    ) or ("failed to check CRD" in err and "validating data" in err)


def hinted(message: str) -> str:
    """Return kubectl's message, with advice if the user may not even read the kind."""
    for kind, advice in FORBIDDEN.items():
        if f'resource "{kind.plural}" in API group "{group()}"' in message:
            return f"{message}\n{advice}"
    return message
