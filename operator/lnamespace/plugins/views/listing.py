"""`kubectl lns list`: the caller's LNamespaces."""

from __future__ import annotations

from lnamespace.plugins.cluster.kubectl import Call, Kubectl, caller, missing
from lnamespace.plugins.model.lnamespaces import collection
from lnamespace.plugins.runtime.errors import UsageError
from lnamespace.plugins.runtime.flags import Arguments, one_of
from lnamespace.plugins.runtime.terminal import printable, say
from lnamespace.plugins.runtime.values import TYPE_CHECKING

if TYPE_CHECKING:
    from lnamespace.plugins.model.lnamespaces import Object
    from lnamespace.plugins.model.subjects import Caller

# All other modules are imported while kubectl sends the request, which takes longer.


def list_lnamespaces(arguments: Arguments) -> int:
    """Show the caller's LNamespaces, or all of them."""
    if len(arguments.words) > 1:
        raise UsageError("list takes no names; for one LNamespace: kubectl lns describe NAME")
    output = one_of(arguments, "output", ("wide", "json", "yaml", "name", ""), "")
    if arguments.switch("watch") and output in ("json", "yaml"):
        raise UsageError("--watch shows a table or names; for objects: kubectl get -w -o json")
    _remark(arguments)
    asked = ask(arguments)
    from datetime import UTC, datetime

    from lnamespace.plugins.views.rows import chosen, shown, whole

    me, listed = answered(arguments, asked)
    found = chosen(arguments, items_of(listed), me)
    if arguments.switch("watch"):
        return _follow(arguments, me, listed, output)
    if output in ("json", "yaml"):
        from lnamespace.plugins.runtime.output import formatted

        print(formatted(whole(found), output), end="")
    elif not found:
        say("No lnamespaces found.")
    else:
        print(shown(found, me, datetime.now(UTC), output), end="")
    return 0


def _remark(arguments: Arguments) -> None:
    """Say that a namespace selects nothing; of `kubectl sudo -n NAME lns list`, it is sudo's."""
    namespace = arguments.one("namespace")
    if namespace and not arguments.given("as"):
        say(
            f"note: LNamespaces are in no namespace, so -n {printable(namespace)} selects nothing; "
            "for one of them: kubectl lns describe NAME"
        )


def ask(arguments: Arguments) -> tuple[Call, Call]:
    """Request our user and all LNamespaces at the same time."""
    kubectl = Kubectl(arguments.connection)
    return kubectl.start_whoami(), kubectl.start_get(collection() + _query(arguments))


def answered(arguments: Arguments, asked: tuple[Call, Call]) -> tuple[Caller, Object]:
    """Wait for the answers; return the caller and the list."""
    found, who = asked[1].reply(), asked[0].reply()
    me = caller(who)
    if found.code:
        raise missing(found, Kubectl(arguments.connection))
    listed: Object = found.document()
    return me, listed


def items_of(listed: Object) -> list[Object]:
    """Return the LNamespaces of a list."""
    return listed.get("items") or []


def _query(arguments: Arguments) -> str:
    """Return the query of a list or a watch; what the user typed is escaped."""
    selector = arguments.one("selector")
    if not selector:
        return ""
    from urllib.parse import urlencode

    return f"?{urlencode({'labelSelector': selector})}"


def _follow(arguments: Arguments, me: Caller, listed: Object, output: str) -> int:
    """Show the list, then a line for each change, until interrupted, as kubectl does."""
    from lnamespace.plugins.cluster.watching import changes
    from lnamespace.plugins.model.lnamespaces import name_of
    from lnamespace.plugins.runtime.terminal import ColumnLayout
    from lnamespace.plugins.views.rows import HEADER, WIDE, chosen, row_of

    first = chosen(arguments, items_of(listed), me)
    known = {name_of(lns): row_of(lns, me, output) for lns in first}
    header = [] if output == "name" else [HEADER + (WIDE if output == "wide" else ())]
    layout = ColumnLayout([*header, *known.values()])
    for line in layout.lines:
        print(line, flush=True)
    for lns in changes(Kubectl(arguments.connection), listed, _query(arguments)):
        name = name_of(lns)
        if lns in chosen(arguments, (lns,), me) or name in known:
            cells = row_of(lns, me, output)
            if known.get(name) != cells:
                known[name] = cells
                print(layout.line(cells), flush=True)
    return 0
