"""The help of `kubectl lns` and its subcommands."""

from __future__ import annotations

HELP = """\
Your LNamespaces: namespaces with a list of users, managers and sudoers.

Commands:
  list       What you have access to, as what, and until when
  describe   One LNamespace: who can do what, and why something is not ready
  grant      Give somebody access
  revoke     Take it away
  ledger     Who pays for one, since when, and why
  whoami     Who the cluster says you are, and what that gives you

Examples:
  kubectl lns list
  kubectl lns grant team-a --user bob@example.com --sudoer alice@example.com,for=8h
  kubectl lns revoke team-a bob@example.com

  # As a sudoer who is no manager
  kubectl sudo lns grant team-a --user bob@example.com

See also: kubectl create lns --help, kubectl sudo --help

Usage:
  kubectl lns COMMAND [options]

Use "kubectl lns COMMAND --help" for more about a command. kubectl's connection flags (kubectl
options) work everywhere, except --user, which names a person here.
"""

LIST = """\
List your LNamespaces: where you are a user, manager, sudoer or requester, by name or by a group.

Examples:
  kubectl lns list
  kubectl lns list --all -o wide
  kubectl lns list -o name

Options:
    -A, --all=false:
        Everybody's LNamespaces.
    -o, --output='':
        wide, json or name.

Usage:
  kubectl lns list [options]
"""

DESCRIBE = """\
Show one LNamespace: who can do what, until when, and why something is not ready.

Examples:
  kubectl lns describe team-a

Options:
    -o, --output='':
        json.

Usage:
  kubectl lns describe NAME [options]
"""

SUBJECT = """\
A SUBJECT is NAME, group:NAME or serviceaccount:NAMESPACE:NAME, one per flag. A name that itself
begins with such a prefix is written user:NAME.
"""

GRANT = f"""\
Give access to an LNamespace. Somebody who has it already gets the end that is said now, or none.

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
        When the access ends by itself: 30m, 8h, 14d, or a time with its zone.
    --dry-run=none|client|server, -o, --output=json|yaml|name:
        As in kubectl.

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
    --force=false:
        For cluster administrators: even if nobody is left who could change the LNamespace.
    --dry-run=none|client|server, -o, --output=json|yaml|name:
        As in kubectl.

Usage:
  kubectl lns revoke NAME [SUBJECT ...] [--user=SUBJECT] [--manager=SUBJECT] [--sudoer=SUBJECT]
"""

LEDGER = """\
Show who pays for an LNamespace, since when, by whose word and why; with former payers as long as
the cluster knows them. The whole history is in the ledger: lnamespace ledger show.

Examples:
  kubectl lns ledger team-a
  kubectl lns ledger team-a -o csv

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
Show who the cluster says you are, which groups you are in, and which LNamespaces that gives you.

Usage:
  kubectl lns whoami
"""

HELP_OF = {
    "list": LIST,
    "describe": DESCRIBE,
    "grant": GRANT,
    "revoke": REVOKE,
    "ledger": LEDGER,
    "whoami": WHOAMI,
}
