"""The objects and settings of the platform that objects of tenants may use."""

from dataclasses import dataclass

import msgspec

from lnamespace.errors import OptionError

_FIELDS = {
    "csiDrivers": "csi_drivers",
    "provisioners": "provisioners",
    "ingressControllers": "ingress_controllers",
    "runtimeHandlers": "runtime_handlers",
    "definitionGroups": "definition_groups",
    "conversionWebhooks": "conversion_webhooks",
    "highestPriority": "highest_priority",
    "noKindNames": "no_kind_names",
    "podSecurity": "pod_security",
}
POD_SECURITY_LEVELS = ("privileged", "baseline", "restricted")
"""The levels of the Pod Security Standards, the laxest first."""


@dataclass(frozen=True)
class Allowances:
    """The settings of the platform that objects of tenants may use.

    Parameters
    ----------
    csi_drivers
        Drivers that PersistentVolumes of tenants may name, with every volume of the driver.
    provisioners
        Provisioners that StorageClasses of tenants may name.
    ingress_controllers
        Controllers that IngressClasses of tenants may name.
    runtime_handlers
        Handlers of the nodes that RuntimeClasses of tenants may name.
    definition_groups
        API groups, as tenants write them, in which their CustomResourceDefinitions may have names
        of the platform's kinds.
    conversion_webhooks
        Whether their CustomResourceDefinitions may have conversion webhooks.
    highest_priority
        The highest value that a PriorityClass of a tenant has upstream.
    no_kind_names
        Names that no kind of a tenant may have, as plural, singular or short name.
    pod_security
        The least strict level of Pod Security that is enforced in the tenants' namespaces.
    """

    csi_drivers: frozenset[str] = frozenset()
    provisioners: frozenset[str] = frozenset()
    ingress_controllers: frozenset[str] = frozenset()
    runtime_handlers: frozenset[str] = frozenset()
    definition_groups: frozenset[str] = frozenset()
    conversion_webhooks: bool = True
    highest_priority: int = 1000
    no_kind_names: frozenset[str] = frozenset()
    pod_security: str = "baseline"


def decode_allowances(text: str) -> Allowances:
    """Read allowances from JSON; keys that only admission policies use are left out.

    Raises
    ------
    OptionError
        The text is not JSON, or a value is of another type.
    """
    try:
        written = msgspec.json.decode(text, type=dict[str, list[str] | bool | int | str])
        known = {_FIELDS[key]: value for key, value in written.items() if key in _FIELDS}
        found = msgspec.convert(known, Allowances)
    except ValueError as error:
        raise OptionError(f"--gateway-allow: {error}") from error
    if found.pod_security not in POD_SECURITY_LEVELS:
        raise OptionError(f"--gateway-allow: podSecurity: {found.pod_security} is no level")
    return found
