"""Confine CustomResourceDefinitions, and check their groups as the API server does.

kubectl takes a word for the plural or singular of a kind of any group before it takes it for a
short name. Of groups of equal priority, as those of all definitions are, it takes the first by
name. Without a check ``kubectl get lns`` of the platform's people could lead to a tenant's kind.
"""

import re
from dataclasses import dataclass

from lnamespace.translate.objects.confinement.clients import confine_client, restore_client
from lnamespace.translate.objects.confinement.rules import (
    ConfinedBody,
    Object,
    annotations,
    parents,
)
from lnamespace.translate.protocol.request_paths import VERBS_IN_PATHS

APPROVAL = "api-approved.kubernetes.io"
_CONVERSION = ("spec", "conversion", "webhook", "clientConfig")
_CLIENT = ".".join(_CONVERSION)
PLATFORM_NAMES = frozenset(
    {
        *("lnamespaces", "lnamespace", "lns", "lclusters", "lcluster", "lc"),
        *("billingrecords", "billingrecord"),
    }
)
"""Names of the kinds of LNamespace itself."""
KUBERNETES_SHORT_NAMES = frozenset(
    {
        *("cj", "cm", "crd", "crds", "cs", "csr", "deploy", "ds", "ep", "ev", "hpa", "ing", "ip"),
        *("limits", "netpol", "no", "ns", "pc", "pdb", "po", "pv", "pvc", "quota", "rc", "rs"),
        *("sa", "sc", "sts", "svc", "vac"),
    }
)
"""As short names of a definition they are harmless: Kubernetes' own groups come first."""
_PROTECTED = re.compile(r"(^|\.)(k8s|kubernetes)\.io$")


@dataclass(frozen=True)
class ConfinedDefinition:
    """The group of a definition, its names, and the webhook that converts between its versions."""

    paths = (("spec", "group"), ("spec", "names"), ("spec", "conversion"))

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse groups that a plain API server refuses, and names of the platform's kinds.

        Confine the webhook's client.
        """
        for spec in parents(subject.body, ("spec", "group")):
            group = spec.get("group")
            if isinstance(group, str):
                self._check_group(group.removeprefix(subject.view.prefix), subject)
            self._check_plural(spec, subject)
            self._check_names(spec, subject)
        for webhook in parents(subject.body, _CONVERSION):
            if not subject.view.allowances.conversion_webhooks:
                raise subject.refuse(_CLIENT, "the platform allows no conversion webhooks")
            confine_client(webhook, _CLIENT, subject)

    def _check_group(self, group: str, subject: ConfinedBody) -> None:
        if "." not in group:
            raise subject.refuse("spec.group", "should be a domain with at least one dot")
        approval = annotations(subject.body).get(APPROVAL)
        if _PROTECTED.search(group) and not approval and subject.form.complete:
            why = "protected groups must have approval annotation " + APPROVAL
            raise subject.refuse(f"metadata.annotations[{APPROVAL}]", why)

    def _check_plural(self, spec: Object, subject: ConfinedBody) -> None:
        """Refuse a kind whose path the API server takes for another: nobody could list it."""
        names = spec.get("names")
        plural = names.get("plural") if isinstance(names, dict) else None
        if isinstance(plural, str) and plural in VERBS_IN_PATHS:
            raise subject.refuse("spec.names.plural", f"{plural} is a verb in paths")

    def _check_names(self, spec: Object, subject: ConfinedBody) -> None:
        group, names = spec.get("group"), spec.get("names")
        view = subject.view
        allowed = {view.prefix + each for each in view.allowances.definition_groups}
        if (isinstance(group, str) and group in allowed) or not isinstance(names, dict):
            return
        kind, short = names.get("kind"), names.get("shortNames")
        default = kind.lower() if isinstance(kind, str) else None
        platform = PLATFORM_NAMES | view.allowances.no_kind_names
        full = platform | KUBERNETES_SHORT_NAMES
        for field, taken, written in (
            ("plural", full, [names.get("plural")]),
            ("singular", full, [names.get("singular") or default]),
            ("shortNames", platform, short if isinstance(short, list) else []),
        ):
            for name in written:
                if isinstance(name, str) and name in taken:
                    why = f"{name} is what kubectl calls a kind of the platform"
                    raise subject.refuse(f"spec.names.{field}", why)

    def restore(self, subject: ConfinedBody) -> None:
        """Restore the tenant's own Service as the conversion webhook."""
        for webhook in parents(subject.body, _CONVERSION):
            restore_client(webhook, subject.view)
