"""Confine CustomResourceDefinitions, and check their groups as the API server does."""

import re
from dataclasses import dataclass

from lnamespace.translate.objects.confinement.clients import confine_client, restore_client
from lnamespace.translate.objects.confinement.rules import ConfinedBody, Path, parents

APPROVAL = "api-approved.kubernetes.io"
_CONVERSION = ("spec", "conversion", "webhook", "clientConfig")
_PROTECTED = re.compile(r"(^|\.)(k8s|kubernetes)\.io$")


@dataclass(frozen=True)
class ConfinedDefinition:
    """The group of a definition, and the webhook that converts between its versions."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the paths of the group and of the webhook's client."""
        return (("spec", "group"), ("spec", "conversion"))

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse groups that a plain API server refuses; confine the webhook's client."""
        for spec in parents(subject.body, ("spec", "group")):
            group = spec.get("group")
            if isinstance(group, str):
                self._check_group(group.removeprefix(subject.view.prefix), subject)
        for webhook in parents(subject.body, _CONVERSION):
            confine_client(webhook, "spec.conversion.webhook.clientConfig", subject)

    def _check_group(self, group: str, subject: ConfinedBody) -> None:
        if "." not in group:
            raise subject.refuse("spec.group", "should be a domain with at least one dot")
        metadata = subject.body.get("metadata")
        found = metadata.get("annotations") if isinstance(metadata, dict) else None
        approval = found.get(APPROVAL) if isinstance(found, dict) else None
        if _PROTECTED.search(group) and not approval and subject.form.complete:
            why = "protected groups must have approval annotation " + APPROVAL
            raise subject.refuse(f"metadata.annotations[{APPROVAL}]", why)

    def restore(self, subject: ConfinedBody) -> None:
        """Restore the tenant's own Service as the conversion webhook."""
        for webhook in parents(subject.body, _CONVERSION):
            restore_client(webhook, subject.view)
