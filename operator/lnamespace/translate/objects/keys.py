"""Keys of labels and annotations, and values, that programs of the platform act on.

A tenant may have aggregated ClusterRoles and its own LNamespace operator. Upstream their objects
would be taken for the platform's, so these keys are translated into a domain of the tenant. That is
done for cluster-scoped objects only; in namespaces the platform reads none of these keys but the
label ``managed-by`` on Roles and RoleBindings.
"""

import re

from lnamespace.kube.resources import RBAC
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.translators import Spelling
from lnamespace.translate.protocol.resources import ResourceType

AGGREGATION = "aggregate-to-"
"""The prefix of the names of labels that by convention aggregate a ClusterRole to another."""

_OPERATOR = "lnamespace"


def own_key_up(view: TenantView, key: str) -> str:
    """Return the key of a label or an annotation, which the platform's operator ignores."""
    domain = key.rpartition("/")[0]
    return _private_key(view, key) if _is_platform_domain(view, domain) else key


def role_key_up(view: TenantView, key: str) -> str:
    """Return the key of a ClusterRole's label, which aggregates it to no role of the platform.

    Aggregation works across all ClusterRoles of a cluster: a tenant's role with the label
    ``rbac.authorization.k8s.io/aggregate-to-admin`` would give its rules to everybody's ``admin``.
    """
    adds = key.rpartition("/")[2].startswith(AGGREGATION)
    return _private_key(view, key) if adds else own_key_up(view, key)


def key_down(view: TenantView, key: str) -> str:
    """Return the key of a label or an annotation as the tenant wrote it."""
    domain, _, name = key.rpartition("/")
    own = private_domain(view)
    if domain == own:
        return name
    return f"{domain.removesuffix(f'.{own}')}/{name}" if domain.endswith(f".{own}") else key


def _private_key(view: TenantView, key: str) -> str:
    """Return a key in the tenant's domain, which no program of the platform uses.

    The name stays as it is: it has 63 characters at most, of which Kubeflow's need 41.
    """
    domain, slash, name = key.rpartition("/")
    return f"{domain}{'.' if slash else ''}{private_domain(view)}/{name}"


def _is_platform_domain(view: TenantView, domain: str) -> bool:
    # The second, so that the translation stays one-to-one.
    own = private_domain(view)
    return domain in (view.platform_domain, own) or domain.endswith(f".{own}")


def private_domain(view: TenantView) -> str:
    """Return the domain for a tenant's keys that the platform would act on."""
    return f"{view.tenant}.lcluster"


def has_manager(resource: ResourceType) -> bool:
    """Return whether the platform's operator considers a resource's labelled objects its own.

    It deletes the Role of a ServiceAccount that is no sudoer of its own, and an operator in an
    LCluster gives its Roles the same names.
    """
    return not resource.namespaced or resource.group == RBAC


def manager_up(view: TenantView, manager: str) -> str:
    """Return the value of the label ``managed-by``, which names no operator of the platform."""
    return f"{view.tenant}.{manager}" if _is_operator(view, manager) else manager


def manager_down(view: TenantView, manager: str) -> str:
    """Return the value of the label ``managed-by`` as the tenant wrote it."""
    below = manager.removeprefix(f"{view.tenant}.")
    return below if below != manager and _is_operator(view, below) else manager


def _is_operator(view: TenantView, manager: str) -> bool:
    return bool(re.match(rf"({view.tenant}\.)*{_OPERATOR}(\.|$)", manager))


MANAGER = Spelling(manager_up, manager_down)
