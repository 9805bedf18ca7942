"""The help of the commands for LClusters."""

from __future__ import annotations

KUBECONFIG = """\
Let a context of the kubeconfig lead to an LCluster, with the login of the current context.

The context and its cluster are called like the LCluster. Entries of that name that lead elsewhere
are left alone. Where the LCluster is served, its status says.

Examples:
  kubectl lns kubeconfig acme
  kubectl --context acme get ns

  # In a file of its own, without the login
  kubectl lns kubeconfig acme -o yaml > acme.yaml

  # From the context of the platform's cluster, while another one is the current context
  kubectl lns kubeconfig acme --context platform --name acme-eu

  # To this cluster, where your LNamespaces are all namespaces that you see
  kubectl lns kubeconfig --mine
  kubectl --context mine get pods -A

Options:
    --mine=false:
        Lead to your LNamespaces, and to no LCluster.
    --name='':
        How to call the context, if not like the LCluster.
    --force=false:
        Replace entries of that name that lead elsewhere.
    --sni=false:
        Name the LCluster in the TLS handshake and not in the path, for clients that take no path.
    --gateway='', --gateway-ca='':
        Where the status does not say it: https://HOST of the gateway, and a file with its CA.
    -o, --output='':
        json or yaml: print it and change nothing.

Usage:
  kubectl lns kubeconfig (NAME | --mine) [options]
"""

CREATE_LCLUSTER = """\
Create an LCluster: a cluster of your own within this one, and a context that leads to it.

With no --user, --manager or --sudoer you become all three. Where any is given, only those listed
get access, except that you become the manager if none of them could change it. What you leave out
is filled in by the cluster; --dry-run=server -o yaml shows with what.

Users work in the LCluster, managers change the LCluster object, sudoers may use kubectl sudo in it.
A SUBJECT is NAME, group:NAME or serviceaccount:NAMESPACE:NAME, one per flag, with an optional end:
',for=8h' or ',until=2030-12-31T18:00:00Z'.

The context is called like the LCluster and uses the login of the context that you have now. For
the others: kubectl lns kubeconfig NAME

Examples:
  # A cluster for yourself
  kubectl create lcluster acme
  kubectl --context acme get ns

  # For a team, billed to a cost centre
  kubectl create lcluster acme --user group:acme --manager alice@example.com --cost-center R-42

Options:
    --user=SUBJECT, --manager=SUBJECT, --sudoer=SUBJECT:
        Who gets which access; each may be repeated.
    --cost-center='', --owner='', --team='', --environment='':
        Who pays; what is left out is filled in by the cluster.
    --billing-label=KEY=VALUE:
        A further label of the bill; may be repeated.
    --label=KEY=VALUE:
        A label of the LCluster; may be repeated.
    --deletion-policy=Delete|Retain:
        What becomes of the namespaces when the LCluster is deleted: they go, or stay with all that
        is in them and nobody's access, and hold the name. Administrators of LClusters may set it.
    --deletion-protection=false:
        Refuse to delete the LCluster until this is taken back.
    --wait=true, --timeout=60s:
        Return when the context can be used; exit with 1 if that takes longer. Without waiting
        there is no context.
    --dry-run=none|client|server, -o, --output=json|yaml|name|...:
        As in kubectl create.
  and kubectl's connection flags (kubectl options), except --user, which names a person here.

Usage:
  kubectl create lcluster NAME [--user=SUBJECT] [--manager=SUBJECT] [--sudoer=SUBJECT] [options]
"""
