"""Confine webhooks and admission policies to requests about the tenant's objects.

A namespaceSelector is not enough: it does not apply to cluster-scoped objects. So each webhook and
each policy gets one more match condition; all conditions must be true.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lnamespace.kube.resources import CUSTOM_RESOURCE_DEFINITION, RBAC
from lnamespace.model.names import LCLUSTER_KEYS
from lnamespace.model.subject import SERVICE_ACCOUNT_PREFIX
from lnamespace.translate.names.acting_users import PERSON_EXTRA, WEBHOOK_CALLER
from lnamespace.translate.names.tenant_view import TenantView
from lnamespace.translate.objects.confinement.clients import confine_client, restore_client
from lnamespace.translate.objects.confinement.conditions import (
    CONDITION_END,
    condition_down,
    condition_up,
    quoted_condition_down,
)
from lnamespace.translate.objects.confinement.rules import (
    ConfinedBody,
    Form,
    Object,
    RefusingRule,
    parents,
)
from lnamespace.translate.protocol.patch_directives import PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER

CONDITION = LCLUSTER_KEYS + "tenant"
"""The name of the gateway's own match condition."""

_NAME = "has(request.name) && request.name"
_NAMESPACED = "has(request.namespace) && request.namespace != ''"
_EXTRA = "request.userInfo.extra"
_WITH_PERSON = f"has({_EXTRA}) && '{PERSON_EXTRA}' in {_EXTRA}"

# Objects of the platform in the tenant's namespaces, which have such names.
_NOT_PLATFORM_OBJECT = f"!({_NAME}.startsWith('lcluster:'))"

# A call by a webhook would call a webhook for ``*/*`` again.
_NOT_WEBHOOK_CALL = f"!({_WITH_PERSON} && '{WEBHOOK_CALLER}' in {_EXTRA}['{PERSON_EXTRA}'])"

# The gateway names the sender of every request that it sends.
_SENT_THROUGH_GATEWAY = _WITH_PERSON

NO_PARAMETERS = "policies in an LCluster have no parameters"
"""The API server looks for parameters before it evaluates a match condition: it had refused what
others write where there are none. It also asks whether the gateway may read them, which it may not.
"""

_ORDER = SET_ELEMENT_ORDER + "matchConditions"
_SELECTOR = "namespaceSelector"


def expression(view: TenantView) -> str:
    """Return CEL that is true for requests about the tenant's own objects.

    Of cluster-scoped objects it is true for the tenant's own writes alone, which come through the
    gateway: a Node may have a name that begins as the tenant's do, and a policy that changed what
    Kubernetes wrote of a PersistentVolume bound it to the claim of another tenant.
    """
    by_service_account = (
        f"request.userInfo.username.startsWith('{SERVICE_ACCOUNT_PREFIX}{view.prefix}')"
    )
    return (
        f"({_in_tenant(view)}) && {_NOT_PLATFORM_OBJECT} && {_NOT_WEBHOOK_CALL} "
        f"&& ({_SENT_THROUGH_GATEWAY} || {by_service_account} "
        f"|| {_NAMESPACED} && {_writes_of_controllers(view)})"
    )


def _in_tenant(view: TenantView) -> str:
    """Return CEL that is true for objects of the tenant, by their namespace or their name."""
    definition = (
        "request.resource.resource == 'customresourcedefinitions' "
        f"&& {_NAME}.matches('^[a-z0-9-]+[.]{view.prefix}')"
    )
    return (
        f"{_NAMESPACED} ? request.namespace.startsWith('{view.prefix}') "
        f": {_NAME}.startsWith('{view.prefix}') || {definition}"
    )


def _writes_of_controllers(view: TenantView) -> str:
    """Return CEL for the writes of others in a tenant's namespaces that its policies judge.

    These are the kinds that Kubernetes' controllers write from what the tenant wrote, and the
    tenant's own kinds. What becomes of them is bounded whoever writes: the platform's policies
    judge each pod that is created, and the tenant may write the others in any form. Other writes
    of the platform and of Kubernetes are trusted, so no policy of the platform bounds what a tenant
    would make of them, such as the address of a pod, the devices of a claim, the share of a total.
    Nor do they judge what people of the platform write: an expression reads their names and groups.
    """
    return (
        "request.userInfo.username.startsWith('system:') "
        "&& (request.resource.group in ['apps', 'batch'] "
        f"|| request.resource.group.startsWith('{view.prefix}') "
        "|| request.resource.group == '' && request.operation == 'CREATE' "
        "&& request.resource.resource == 'pods' "
        "&& !(has(request.subResource) && request.subResource != ''))"
    )


def mutating_expression(view: TenantView) -> str:
    """Return CEL that is true for requests that a tenant's MutatingAdmissionPolicy may change.

    These are no Roles and bindings: who may write them is judged by a dry run, which a policy can
    distinguish, and so gave ``cluster-admin`` to somebody who bound ``view``. Nor are they
    CustomResourceDefinitions, whose schemas no policy of the platform can judge. A webhook may
    change these, for the gateway judges what it answers.
    """
    judged = f"['{RBAC}', '{CUSTOM_RESOURCE_DEFINITION.group}']"
    return f"!(request.resource.group in {judged}) && {expression(view)}"


def quoted_conditions_down(text: str, view: TenantView) -> str:
    """Return a text that may quote match conditions, with each as the tenant wrote it."""
    if CONDITION_END not in text:
        return text
    for confining in (mutating_expression, expression):
        text = quoted_condition_down(text, confining(view))
    return text


def _confine_selector(holder: Object, subject: ConfinedBody) -> None:
    written = holder.get(_SELECTOR)
    found: Object = written if isinstance(written, dict) else {}
    match_labels = found.get("matchLabels")
    wanted = {subject.view.tenant_label: subject.view.tenant}
    holder[_SELECTOR] = found | {
        "matchLabels": (match_labels if isinstance(match_labels, dict) else {}) | wanted
    }


def _confine_conditions(holder: Object, text: str, subject: ConfinedBody) -> None:
    own = {"name": CONDITION, "expression": text}
    written = holder.get("matchConditions")
    if isinstance(written, list):
        of_tenant = [each for each in written if not _is_own(each)]
        for each in of_tenant:
            _confine_condition(each, text, subject)
        holder["matchConditions"] = [*of_tenant, own]
    elif "matchConditions" in holder and subject.form is Form.STRATEGIC:
        holder["matchConditions"] = [{PATCH: "replace"}, own]
    else:
        holder["matchConditions"] = [own]
    if isinstance(order := holder.get(_ORDER), list):
        holder[_ORDER] = [each for each in order if not _is_own(each)] + [{"name": CONDITION}]


def _confine_condition(condition: Any, text: str, subject: ConfinedBody) -> None:
    """Have a condition of the tenant evaluated only where the gateway's own is true."""
    written = condition.get("expression") if isinstance(condition, dict) else None
    if isinstance(written, str):
        above = condition_up(written, text)
        if above is None:
            raise subject.refuse("matchConditions.expression", "it is no whole expression")
        condition["expression"] = above


def _restore_condition(condition: Any) -> None:
    if isinstance(condition, dict) and isinstance(condition.get("expression"), str):
        condition["expression"] = condition_down(condition["expression"])


def _is_own(element: Any) -> bool:
    return isinstance(element, dict) and element.get("name") == CONDITION


def _restore_matching(holder: Object, conditions: Object, view: TenantView) -> None:
    """Remove the tenant label from the selector, and the gateway's own condition."""
    found = holder.get(_SELECTOR)
    if isinstance(found, dict) and isinstance(found.get("matchLabels"), dict):
        rest = dict(found["matchLabels"])
        rest.pop(view.tenant_label, None)
        found["matchLabels"] = rest
        if not rest:
            del found["matchLabels"]
    written = conditions.get("matchConditions")
    if isinstance(written, list):
        of_tenant = [each for each in written if not _is_own(each)]
        for each in of_tenant:
            _restore_condition(each)
        conditions["matchConditions"] = of_tenant
        if not conditions["matchConditions"]:
            del conditions["matchConditions"]


def _refuse_own_keys(body: Object, where: str, subject: ConfinedBody) -> None:
    if RETAIN_KEYS in body:
        raise subject.refuse(f"{where}.{RETAIN_KEYS}", "list the fields to change instead")
    selector = body.get("objectSelector")
    if isinstance(selector, dict) and LCLUSTER_KEYS in repr(selector):
        raise subject.refuse(f"{where}.objectSelector", f"{LCLUSTER_KEYS} is reserved")


@dataclass(frozen=True)
class ConfinedWebhooks:
    """The webhooks of a configuration, each confined to its tenant."""

    paths = (("webhooks", "*"),)

    def confine(self, subject: ConfinedBody) -> None:
        """Confine each webhook; in a patch also one with other changes."""
        webhooks = subject.body.get("webhooks")
        for number, webhook in enumerate(webhooks if isinstance(webhooks, list) else ()):
            if isinstance(webhook, dict) and not _only_directs(webhook, subject):
                self._confine_one(webhook, f"webhooks[{number}]", subject)

    def _confine_one(self, webhook: Object, where: str, subject: ConfinedBody) -> None:
        _refuse_own_keys(webhook, where, subject)
        confine_client(webhook, f"{where}.clientConfig", subject)
        _confine_selector(webhook, subject)
        _confine_conditions(webhook, expression(subject.view), subject)

    def restore(self, subject: ConfinedBody) -> None:
        """Undo the confinement of each webhook."""
        webhooks = subject.body.get("webhooks")
        for webhook in webhooks if isinstance(webhooks, list) else ():
            if isinstance(webhook, dict):
                restore_client(webhook, subject.view)
                _restore_matching(webhook, webhook, subject.view)


def _only_directs(element: Object, subject: ConfinedBody) -> bool:
    return subject.form is Form.STRATEGIC and element.get(PATCH) in ("delete", "replace")


@dataclass(frozen=True)
class ConfinedPolicy:
    """The match conditions and constraints of an admission policy, which has no parameters.

    ``expression`` returns the gateway's own condition.
    """

    expression: Callable[[TenantView], str] = expression

    paths = (("spec", "matchConditions"), ("spec", "matchConstraints"), ("spec", "paramKind"))

    def confine(self, subject: ConfinedBody) -> None:
        """Confine the policy to requests about the tenant's objects.

        An apply without a specification removes what its manager applied before. Where another
        manager had written the rest by a patch, the policy lost its condition, and nothing else.
        """
        if subject.form is Form.APPLY and subject.body.get("spec") is None:
            subject.body["spec"] = {}
        for spec in parents(subject.body, ("spec", "matchConditions")):
            self._confine_spec(spec, subject)

    def _confine_spec(self, spec: Object, subject: ConfinedBody) -> None:
        _refuse_own_keys(spec, "spec", subject)
        if spec.get("paramKind") is not None:
            raise subject.refuse("spec.paramKind", NO_PARAMETERS)
        everything = subject.form is not Form.MERGE
        if everything or "matchConditions" in spec:
            _confine_conditions(spec, self.expression(subject.view), subject)
        if everything or "matchConstraints" in spec:
            constraints = spec.get("matchConstraints")
            if isinstance(constraints, dict):
                _refuse_own_keys(constraints, "spec.matchConstraints", subject)
                _confine_selector(constraints, subject)

    def restore(self, subject: ConfinedBody) -> None:
        """Undo the confinement of the policy."""
        for spec in parents(subject.body, ("spec", "matchConditions")):
            constraints = spec.get("matchConstraints")
            holder = constraints if isinstance(constraints, dict) else {}
            _restore_matching(holder, spec, subject.view)


@dataclass(frozen=True)
class ConfinedPolicyBinding(RefusingRule):
    """The policy of a binding, which must be the tenant's and has no parameters."""

    paths = (("spec", "policyName"), ("spec", "paramRef"))

    def confine(self, subject: ConfinedBody) -> None:
        """Refuse parameters, and a policy that is not the tenant's."""
        for spec in parents(subject.body, ("spec", "policyName")):
            policy = spec.get("policyName")
            if isinstance(policy, str) and not policy.startswith(subject.view.prefix):
                raise subject.refuse("spec.policyName", "no such policy")
            if spec.get("paramRef") is not None:
                raise subject.refuse("spec.paramRef", NO_PARAMETERS)
