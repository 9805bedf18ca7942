"""Keys of labels and annotations, and values, that some program of the platform heeds.

A tenant may run what the platform runs: its ClusterRoles that add to others, and an LNamespace
operator. Upstream both would be taken for the platform's own, so their keys stand there in a domain
of the tenant's. Only cluster-scoped objects are written so; in a namespace nobody looks for them.
"""

import re

from lnamespace.translate.plans import Spelling
from lnamespace.translate.view import View

AGGREGATION = "aggregate-to-"
"""The beginning of names of labels that by convention add a ClusterRole to another one."""

_OPERATOR = "lnamespace"


def own_key_up(view: View, key: str) -> str:
    """Return the key of a label or an annotation, where the platform's operator heeds it not."""
    domain = key.rpartition("/")[0]
    return _private_key(view, key) if domain in _heeded_domains(view) else key


def role_key_up(view: View, key: str) -> str:
    """Return the key of a ClusterRole's label, where it adds to no role of the platform.

    Aggregation works across all ClusterRoles of a cluster: a tenant's role with the label
    ``rbac.authorization.k8s.io/aggregate-to-admin`` would give its rules to everybody's ``admin``.
    """
    adds = key.rpartition("/")[2].startswith(AGGREGATION)
    return _private_key(view, key) if adds else own_key_up(view, key)


def key_down(view: View, key: str) -> str:
    """Return the key of a label or an annotation as the tenant wrote it."""
    own = f"{_private_domain(view)}/"
    if not key.startswith(own):
        return key
    domain, underscore, name = key.removeprefix(own).partition("_")
    return f"{domain}/{name}" if underscore else domain


def _private_key(view: View, key: str) -> str:
    domain, slash, name = key.rpartition("/")
    return f"{_private_domain(view)}/{domain}{'_' if slash else ''}{name}"


def _heeded_domains(view: View) -> tuple[str, str]:
    # The second, so that no two keys become one.
    return view.platform_domain, _private_domain(view)


def _private_domain(view: View) -> str:
    return f"{view.tenant}.lcluster"


def manager_up(view: View, manager: str) -> str:
    """Return the value of the label ``managed-by``: no operator of the platform's is named so."""
    return f"{view.tenant}.{manager}" if _is_operator(view, manager) else manager


def manager_down(view: View, manager: str) -> str:
    """Return the value of the label ``managed-by`` as the tenant wrote it."""
    below = manager.removeprefix(f"{view.tenant}.")
    return below if below != manager and _is_operator(view, below) else manager


def _is_operator(view: View, manager: str) -> bool:
    return bool(re.match(rf"({view.tenant}\.)*{_OPERATOR}(\.|$)", manager))


MANAGER = Spelling(manager_up, manager_down)
