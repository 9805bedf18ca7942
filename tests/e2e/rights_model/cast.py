"""The people of the play: who they are, and as whom lists name them."""

from collections.abc import Mapping

from tests.e2e.rights_model.model import Subject
from tests.e2e.support.people import Who, account, user

ADMIN = "admin"
ROBOT = "robot"
ROBOT_NAMESPACE = "default"

USERS: Mapping[str, tuple[str, ...]] = {
    "ann": (),
    "ben": (),
    "cat": (),
    "dan": ("model-devs",),
    "eve": (),
}
"""Those with a certificate, and the groups in it."""

_ROBOT = "model-robot"

WHO: Mapping[str, Who] = {
    **{label: user(f"model-{label}", *groups) for label, groups in USERS.items()},
    ROBOT: account(ROBOT_NAMESPACE, _ROBOT),
}
"""Those who act."""

STRANGER = user("model-stranger")
"""Somebody whom no list names."""

ASKED: tuple[Who, ...] = (
    *WHO.values(),
    STRANGER,
    account("kube-system", _ROBOT),  # a namesake
)
"""Those about whom is asked."""

SUBJECTS: Mapping[str, Subject] = {
    **{label: Subject("User", WHO[label].user) for label in USERS},
    ROBOT: Subject("ServiceAccount", _ROBOT, ROBOT_NAMESPACE),
    "devs": Subject("Group", "model-devs"),
}
"""Whom a list can name."""

LISTED: Mapping[str, Subject] = {**SUBJECTS, ADMIN: Subject("User", "lnamespace-admin")}
"""Whom a list comes to name: also an administrator who creates one and names nobody."""

SUDOERS = tuple(label for label, subject in SUBJECTS.items() if subject.kind != "Group")
"""Whom the list of sudoers can name."""
