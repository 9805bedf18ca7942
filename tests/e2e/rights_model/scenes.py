"""A play that is no accident: one of each kind of what goes wrong elsewhere, in a few steps.

Played first in `make test`: chance may take long to come to all of it.
"""

from collections.abc import Iterator
from typing import get_args

from tests.e2e.rights_model.accidents import Elapse, Hurry, Kill, Lose, Pause, Settle, Upgrade
from tests.e2e.rights_model.lines import AnyStep
from tests.e2e.rights_model.misdeeds import MADE, AtTheAccounts, Steal, Tamper
from tests.e2e.rights_model.model import Layout
from tests.e2e.rights_model.steps import (
    Clear,
    Create,
    Delete,
    Edit,
    Hold,
    Line,
    Propagation,
    Release,
    Script,
    Squat,
)


def scenes() -> Iterator[AnyStep]:
    """Yield all of them, with the names of a plot."""
    yield from _made_and_seized()
    yield from _revoked_and_expired()
    yield from _tampered()
    yield from _missed()
    yield from _held_and_left()


def scenes_of_accounts() -> Iterator[AnyStep]:
    """Yield what differs where sudo is by account, between two changes of layout."""
    yield from _changed()
    yield from _stolen()
    yield from _mended()
    yield from _succeeded()
    yield from _changed_back()


def _script(users: str = "", managers: str = "", sudoers: str = "") -> Script:
    """People by their labels; with a number after a dot, for so many seconds."""
    return Script(*(tuple(map(_line, some.split())) for some in (users, managers, sudoers)))


def _line(word: str) -> Line:
    label, _, seconds = word.partition(".")
    return Line(label, int(seconds or 0))


def _made_and_seized() -> Iterator[AnyStep]:
    yield Create(actor="ann", name="one", script=_script("ben devs", "ann", "cat robot"))
    yield Create(actor="ben", name="two")
    yield Squat(name="three")
    yield Settle()
    yield Create(actor="eve", name="three", script=_script("eve", "", "eve"), forged="ann")
    yield Steal(actor="eve", name="one", attack="other", label="cat")
    yield Steal(actor="cat", name="one", attack="disown")
    yield Settle()


def _revoked_and_expired() -> Iterator[AnyStep]:
    yield Edit(actor="cat", sudo=True, name="one", script=_script("", "ann", "robot ben"))
    yield Settle()
    expiring = _script("devs dan.2 ann", "ann", "robot dan.3 ben")
    yield Edit(actor="ann", name="one", script=expiring)
    yield Elapse()
    yield Elapse()
    yield Settle()


def _tampered() -> Iterator[AnyStep]:
    yield Tamper(actor="robot", sudo=True, name="one", target="users", how="add")
    yield Tamper(name="one", target="users", how="add")
    yield Tamper(name="one", target="editor", how="widen")
    yield Tamper(name="two", target="sudoer", how="strip")
    yield Tamper(name="two", target="self", how="add", label="ben")
    yield Settle()
    yield Tamper(actor="ben", name="two", target="users", how="unbind")
    yield Tamper(name="two", target="users", how="unbind")
    yield Tamper(name="one", target="users", how="swap")
    yield Tamper(name="one", target="editor", how="unrole")
    yield Tamper(name="two", target="sudoer", how="add")
    yield Settle()


def _missed() -> Iterator[AnyStep]:
    """Yield what happens while the controller is not there, or cannot see."""
    yield Kill(process="controller")
    yield Lose()
    yield Delete(actor="ben", name="two")
    yield Create(actor="cat", name="two", script=_script("dan", "", "cat"))
    yield Edit(actor="ann", name="one", script=_script("devs dan", "ann", "ben"))
    yield Settle()
    yield Pause()
    yield Edit(actor="ann", name="one", script=_script("dan", "ann", "robot"))
    yield Tamper(name="one", target="users", how="unbind")
    yield Delete(actor="cat", sudo=True, name="two")
    yield Kill(process="kube-apiserver")
    yield Settle()


def _held_and_left() -> Iterator[AnyStep]:
    yield Kill(process="webhook")
    yield Create(actor="ben", name="two")
    yield Edit(actor="ann", name="one", script=_script("eve", "eve", "eve"))
    yield Clear(name="three")
    yield Settle()
    yield Hold(name="one")
    yield Kill(process="etcd")
    yield Settle()
    yield Release(name="one")
    yield Delete(actor="eve", name="three", propagation=Propagation.ORPHAN)
    yield Settle()
    yield Create(actor="cat", name="three")
    yield Settle()


def _changed() -> Iterator[AnyStep]:
    """Revoke somebody while sudo changes, who then has it in neither layout."""
    yield Create(actor="ann", name="one", script=_script("ben devs", "ann", "cat robot eve"))
    yield Create(actor="ben", name="two")
    yield Settle()
    yield Hurry()
    yield Edit(actor="cat", sudo=True, name="one", script=_script("ben", "ann", "cat robot dan.4"))
    yield Upgrade(layout=Layout.ACCOUNT)
    yield Edit(actor="ann", name="one", script=_script("ben devs", "ann", "cat robot dan.4"))
    yield Create(actor="cat", name="three", script=_script("", "dan", "cat robot"))
    yield Settle()


def _stolen() -> Iterator[AnyStep]:
    for attack in get_args(AtTheAccounts):
        yield Steal(actor="eve", name="one", attack=attack)
        yield Steal(actor="cat", name="one", attack=attack)
    yield from (Steal(name="one", attack=attack) for attack in MADE)
    yield Steal(actor="ben", name="one", attack="namesake")
    yield Steal(actor="cat", name="two", attack="stand")
    yield Edit(actor="robot", sudo=True, name="one", script=_script("ben", "ann", "robot dan.4"))
    yield Elapse()
    yield Settle()


def _mended() -> Iterator[AnyStep]:
    yield Tamper(name="one", target="sudoer", how="widen")
    yield Tamper(name="two", target="sudoer", how="add")
    yield Tamper(name="three", target="sudoer", how="strip")
    yield Tamper(actor="ben", sudo=True, name="two", target="sudo", how="add")
    yield Tamper(name="two", target="sudo", how="add")
    yield Tamper(actor="ben", name="one", target="decoy", how="add")
    yield Tamper(name="one", target="decoy", how="add")
    yield Settle()
    yield Tamper(name="one", target="sudoer", how="unrole")
    yield Tamper(name="two", target="sudoer", how="unbind")
    yield Tamper(actor="cat", sudo=True, name="three", target="sudo", how="unbind")
    yield Tamper(name="three", target="sudo", how="unbind")
    yield Tamper(actor="robot", sudo=True, name="one", target="users", how="swap")
    yield Tamper(name="one", target="users", how="swap")
    yield Settle()


def _succeeded() -> Iterator[AnyStep]:
    """Accounts have the names of LNamespaces: who comes after must not be who was before."""
    yield Kill(process="controller")
    yield Delete(actor="ben", sudo=True, name="two")
    yield Create(actor="ann", name="two", script=_script("dan", "", "ann"))
    yield Edit(actor="dan", name="three", script=_script("", "dan", ""))
    yield Settle()
    yield Delete(actor="dan", name="three", propagation=Propagation.ORPHAN)
    yield Create(actor="eve", name="three")
    yield Hold(name="one")
    yield Settle()


def _changed_back() -> Iterator[AnyStep]:
    yield Release(name="one")
    yield Clear(name="three")
    yield Kill(process="controller")
    yield Upgrade(layout=Layout.GROUP)
    yield Edit(actor="ann", name="two", script=_script("dan", "ann", "cat"))
    yield Settle()
    yield from (Steal(name="two", attack=attack) for attack in MADE)
