"""The help of `kubectl lns` and its subcommands."""

from __future__ import annotations

from lnamespace.plugins.help.create import CREATE

LNS = """\
Your LNamespaces: namespaces with a list of users, managers and sudoers.

Commands:
  create     Create an LNamespace, as kubectl create lns does
  list       What you have access to, as what, and until when
  describe   One LNamespace: who can do what, and why something is not ready
  grant      Give somebody access
  revoke     Take it away
  extend     Let access that ends by itself end later, or sooner
  leave      Give up your own access
  prune      Remove entries that have ended
  set        Change who pays, the profile, or the protection against deletion
  ledger     Who pays for one, since when, and why
  whoami     Who the cluster says you are, and what that gives you
  kubeconfig A context that leads to an LCluster, with the login that you have
  version    The version of these plugins

Examples:
  kubectl lns list
  kubectl lns grant team-a --user bob@example.com --sudoer alice@example.com,for=8h
  kubectl lns revoke team-a bob@example.com

  # As a sudoer who is no manager
  kubectl sudo lns grant team-a --user bob@example.com

NAME is an LNamespace; describe, grant, revoke, extend, leave, prune, set and ledger take lc/NAME
for an LCluster.

See also: kubectl create lns --help, kubectl create lcluster --help, kubectl sudo --help

Usage:
  kubectl lns COMMAND [options]
  kubectl lns --version

Use "kubectl lns COMMAND --help" for more about a command. kubectl's connection flags (kubectl
options) work everywhere, except --user, which names a person here.
"""

LIST = """\
List your LNamespaces: where you are a user, manager, sudoer or requester, by name or by a group.

Examples:
  kubectl lns list
  kubectl lns list --all -o wide
  kubectl lns list -o name | xargs -n 1 kubectl lns describe
  kubectl lns list -l stage=test --watch

Options:
    -A, --all=false:
        Everybody's LNamespaces.
    -l, --selector='':
        Only those with these labels, as in kubectl get.
    -o, --output='':
        wide, json, yaml or name. Long texts are cut but for these.
    -w, --watch=false:
        Then show each that changes, until interrupted.

Usage:
  kubectl lns list [options]
"""

DESCRIBE = """\
Show one LNamespace: who can do what, until when, and why something is not ready.

Examples:
  kubectl lns describe team-a

Options:
    -o, --output='':
        json or yaml.

Usage:
  kubectl lns describe NAME [options]
"""

SUBJECT = """\
A SUBJECT is NAME, group:NAME or serviceaccount:NAMESPACE:NAME, one per flag. A name that itself
begins with such a prefix, or has a comma in it, is written user:NAME.
"""

EDIT = """\
    --wait=true, --timeout=30s:
        Return when it is in force; exit with 1 if it is not, and say why.
    --dry-run=none|client|server, -o, --output=json|yaml|name:
        As in kubectl.
"""

GRANT = f"""\
Give access to an LNamespace. An entry that is there already keeps its end if you say none.

{SUBJECT}An end is said for all with --for or --until, or for one with ',for=8h',
',until=2030-12-31T18:00:00Z' or ',until=never' behind the name.

Examples:
  kubectl lns grant team-a --user bob@example.com --user group:data-science
  kubectl lns grant team-a --sudoer alice@example.com --for 8h
  kubectl lns grant team-a --manager carol,until=2030-12-31T18:00:00Z
  kubectl lns grant team-a --user serviceaccount:ci:deployer

Options:
    --user=SUBJECT, --manager=SUBJECT, --sudoer=SUBJECT:
        Whom to give which access; each may be repeated. A group cannot be a sudoer.
    --for=DURATION, --until=TIME:
        When the access ends by itself: 30m, 8h, 14d, or a time with its zone; --until never.
{EDIT}
Usage:
  kubectl lns grant NAME [--user=SUBJECT] [--manager=SUBJECT] [--sudoer=SUBJECT] [options]
"""

REVOKE = f"""\
Take access to an LNamespace away: from the lists named, or from all of them.

{SUBJECT}
Examples:
  # From every list
  kubectl lns revoke team-a bob@example.com

  # Only sudo
  kubectl lns revoke team-a --sudoer bob@example.com

Options:
    --user=SUBJECT, --manager=SUBJECT, --sudoer=SUBJECT:
        Whom to take which access from; each may be repeated.
    --ignore-not-found=false:
        Somebody who is on no list is no error.
    --force=false:
        For cluster administrators: even if nobody is left who could change the LNamespace.
{EDIT}
Usage:
  kubectl lns revoke NAME [SUBJECT ...] [--user=SUBJECT] [--manager=SUBJECT] [--sudoer=SUBJECT]
"""

EXTEND = f"""\
Move the end of access that ends by itself. Access without an end stays so.

{SUBJECT}
Examples:
  # On every list
  kubectl lns extend team-a bob@example.com --for 2w

  # Only sudo
  kubectl lns extend team-a --sudoer alice@example.com --until 2030-12-31T18:00:00Z

Options:
    --user=SUBJECT, --manager=SUBJECT, --sudoer=SUBJECT:
        Whose entry on which list; each may be repeated.
    --for=DURATION, --until=TIME:
        The new end, counted from now.
{EDIT}
Usage:
  kubectl lns extend NAME [SUBJECT ...] [--user=SUBJECT] [--manager=SUBJECT] [--sudoer=SUBJECT] \
--for=DURATION|--until=TIME
"""

LEAVE = f"""\
Take yourself off all lists of an LNamespace. What you have by a group stays.

Options:
    --force=false:
        For cluster administrators: even if nobody is left who could change the LNamespace.
{EDIT}
Usage:
  kubectl lns leave NAME
"""

PRUNE = f"""\
Remove the entries of an LNamespace that have ended. They give nobody anything any more.

Options:
{EDIT}
Usage:
  kubectl lns prune NAME
"""

SET = f"""\
Change an LNamespace besides its lists. An empty value takes a value away.

Examples:
  kubectl lns set team-a --cost-center R-42
  kubectl lns set team-a --environment production --billing-label app=shop --billing-label old-
  kubectl lns set team-a --deletion-protection

Options:
    --cost-center='', --owner='', --team='', --environment='':
        Who pays, from now on.
    --billing-label=KEY=VALUE, --billing-label=KEY-:
        A further label of the bill, or one less; may be repeated.
    --profile='':
        The guard rails of the namespace.
    --deletion-policy=Delete|Retain:
        What becomes of the namespace when the LNamespace is deleted.
    --deletion-protection=true|false:
        Whether to refuse to delete the LNamespace.
{EDIT}
Usage:
  kubectl lns set NAME [options]
"""

LEDGER = """\
Show who pays for an LNamespace, since when, by whose word and why; with former payers as long as
the cluster knows them. The whole history is in the ledger: lnamespace ledger show. Of an LCluster
it shows the payers of each of its namespaces.

Examples:
  kubectl lns ledger team-a
  kubectl lns ledger team-a -o csv
  kubectl lns ledger lc/acme

Options:
    -o, --output=table:
        table, csv or json.
    --exact=false:
        In csv, leave cells as they are. Otherwise one that a spreadsheet would take for a formula
        gets an apostrophe in front.

Usage:
  kubectl lns ledger NAME [options]
"""

WHOAMI = """\
Show who the cluster says you are and which groups you are in; which cost centers you may charge,
which profiles you may choose, and which LNamespaces you have.

Options:
    -o, --output='':
        json or yaml.

Usage:
  kubectl lns whoami [options]
"""

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

VERSION = """\
Print the version of these plugins; kubectl lns --version and kubectl sudo --version do so too.

Usage:
  kubectl lns version
"""

HELP_OF = {
    "create": CREATE,
    "list": LIST,
    "describe": DESCRIBE,
    "grant": GRANT,
    "revoke": REVOKE,
    "extend": EXTEND,
    "leave": LEAVE,
    "prune": PRUNE,
    "set": SET,
    "ledger": LEDGER,
    "whoami": WHOAMI,
    "kubeconfig": KUBECONFIG,
    "version": VERSION,
}
