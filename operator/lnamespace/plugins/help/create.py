"""The help of `kubectl create lns` and `kubectl create lcluster`."""

from __future__ import annotations

CREATE = """\
Create an LNamespace: a namespace of that name, with the access it needs.

With no --user, --manager or --sudoer you become all three. Where any is given, only those listed
get access, except that you become the manager if none of them could change it. What you leave out
is filled in by the cluster; --dry-run=server -o yaml shows with what.

Users work in the namespace, managers change the LNamespace, sudoers may use kubectl sudo.
A SUBJECT is NAME, group:NAME or serviceaccount:NAMESPACE:NAME, one per flag, with an optional end:
',for=8h' or ',until=2030-12-31T18:00:00Z'.

Examples:
  # A namespace for yourself
  kubectl create lns team-a

  # For a team, billed to a cost centre
  kubectl create lns team-a --user group:team-a --manager alice@example.com --cost-center R-42

  # A contractor for two weeks, and a sudoer for today
  kubectl create lns team-a --user bob,for=2w --sudoer alice,for=8h

  # Look at what it would be, without creating it
  kubectl create lns team-a --dry-run=server -o yaml

Options:
    --user=SUBJECT, --manager=SUBJECT, --sudoer=SUBJECT:
        Who gets which access; each may be repeated.
    --cost-center='', --owner='', --team='', --environment='':
        Who pays; what is left out is filled in by the cluster.
    --billing-label=KEY=VALUE:
        A further label of the bill; may be repeated.
    --profile='':
        The guard rails of the namespace; what is left out is the profile default, if there is one.
    --label=KEY=VALUE:
        A label of the LNamespace; may be repeated.
    --deletion-policy=Delete|Retain:
        What becomes of the namespace when the LNamespace is deleted.
    --deletion-protection=false:
        Refuse to delete the LNamespace until this is taken back.
    --wait=true, --timeout=60s:
        Return when the namespace can be used; exit with 1 if that takes longer.
    --dry-run=none|client|server, -o, --output=json|yaml|name|...:
        As in kubectl create.
  and kubectl's connection flags (kubectl options), except --user, which names a person here.

Usage:
  kubectl create lns NAME [--user=SUBJECT] [--manager=SUBJECT] [--sudoer=SUBJECT] [options]
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
