"""Keys of labels and annotations, and values, that some program of the platform heeds.

A tenant may run what the platform runs: its ClusterRoles that add to others, and an LNamespace
operator. Upstream both would be taken for the platform's own, so their keys stand there in a domain
of the tenant's. Only cluster-scoped objects are written so; in a namespace nobody looks for them.
"""

import re

from lnamespace.translate.names.view import View
from lnamespace.translate.objects.plans import Spelling

AGGREGATION = "aggregate-to-"
"""The beginning of names of labels that by convention add a ClusterRole to another one."""

_OPERATOR = "lnamespace"


def own_key_up(view: View, key: str) -> str:
    """Return the key of a label or an annotation, where the platform's operator heeds it not."""
    domain = key.rpartition("/")[0]
    return _private_key(view, key) if _is_heeded(view, domain) else key


def role_key_up(view: View, key: str) -> str:
    """Return the key of a ClusterRole's label, where it adds to no role of the platform.

    Aggregation works across all ClusterRoles of a cluster: a tenant's role with the label
    ``rbac.authorization.k8s.io/aggregate-to-admin`` would give its rules to everybody's ``admin``.
    """
    adds = key.rpartition("/")[2].startswith(AGGREGATION)
    return _private_key(view, key) if adds else own_key_up(view, key)


def key_down(view: View, key: str) -> str:
    """Return the key of a label or an annotation as the tenant wrote it."""
    domain, _, name = key.rpartition("/")
    own = private_domain(view)
    if domain == own:
        return name
    return f"{domain.removesuffix(f'.{own}')}/{name}" if domain.endswith(f".{own}") else key


def _private_key(view: View, key: str) -> str:
    """Return a key in a domain below which no program of the platform looks.

    The name stays as it is: it has 63 characters at most, of which Kubeflow's need 41.
    """
    domain, slash, name = key.rpartition("/")
    return f"{domain}{'.' if slash else ''}{private_domain(view)}/{name}"


def _is_heeded(view: View, domain: str) -> bool:
    # The second, so that no two keys become one.
    own = private_domain(view)
    return domain in (view.platform_domain, own) or domain.endswith(f".{own}")


def private_domain(view: View) -> str:
    """Return the domain in which a tenant's keys stand that mean something to the platform."""
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
