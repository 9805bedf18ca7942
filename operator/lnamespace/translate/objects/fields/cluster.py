"""Access, admission, network, quotas, events and what else Kubernetes has."""

from collections.abc import Mapping

from lnamespace.kube.resources import RBAC
from lnamespace.translate.objects.fields.workloads import CONDITIONS
from lnamespace.translate.objects.json_text import JsonText
from lnamespace.translate.objects.labels import TenantSelector
from lnamespace.translate.objects.match_rules import MatchRulePlan
from lnamespace.translate.objects.metadata import AnnotationRules
from lnamespace.translate.objects.paths import plan_at
from lnamespace.translate.objects.plans import ListPlan, ObjectPlan
from lnamespace.translate.objects.quotas import RESOURCE_KEYS
from lnamespace.translate.objects.references import REFERENCE, RoleRefPlan, SubjectPlan
from lnamespace.translate.objects.scopes import ScopePlan
from lnamespace.translate.objects.spellings import (
    API_VERSION,
    GROUP,
    INGRESS_CLASS,
    NAMESPACE,
    NAMESPACE_OR_ALL,
    PREFIXED,
    USER,
    USER_GROUP,
)
from lnamespace.translate.objects.texts import TEXT, NamespaceCondition

_SUBJECTS = ListPlan(SubjectPlan())
_ROLE = plan_at({"rules[].apiGroups[]": GROUP})
ACCESS: Mapping[tuple[str, str], ObjectPlan] = {
    (RBAC, "roles"): _ROLE,
    (RBAC, "clusterroles"): _ROLE,
    (RBAC, "rolebindings"): plan_at({"subjects": _SUBJECTS, "roleRef": RoleRefPlan()}),
    (RBAC, "clusterrolebindings"): plan_at(
        {"subjects": _SUBJECTS, "roleRef": RoleRefPlan(inert=True)}
    ),
    ("certificates.k8s.io", "certificatesigningrequests"): plan_at(
        {"spec.username": USER, "spec.groups[]": USER_GROUP, **CONDITIONS}
    ),
    ("authentication.k8s.io", "tokenreviews"): plan_at(
        {
            "status.user.username": USER,
            "status.user.groups[]": USER_GROUP,
            "status.error": TEXT,
        }
    ),
    ("", "serviceaccounts"): plan_at({"secrets[]": REFERENCE}),
}

_MATCHED = plan_at(
    {
        "namespaceSelector": TenantSelector(),
        "resourceRules[]": MatchRulePlan(),
        "excludeResourceRules[]": MatchRulePlan(),
    }
)
_POLICY = plan_at(
    {
        "spec.matchConstraints": _MATCHED,
        "spec.paramKind.apiVersion": API_VERSION,
        "status.conditions[].message": TEXT,
        "status.typeChecking.expressionWarnings[].warning": TEXT,
    }
)
_POLICY_BINDING = plan_at(
    {
        "spec.policyName": PREFIXED,
        "spec.matchResources": _MATCHED,
        "spec.paramRef.namespace": NAMESPACE,
    }
)
_WEBHOOKS = plan_at(
    {
        "webhooks[].namespaceSelector": TenantSelector(),
        "webhooks[].clientConfig.service.namespace": NAMESPACE,
        "webhooks[].rules[].apiGroups[]": GROUP,
    }
)
ADMISSION: Mapping[tuple[str, str], ObjectPlan] = {
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): _POLICY,
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): _POLICY_BINDING,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): _POLICY,
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): _POLICY_BINDING,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _WEBHOOKS,
    ("apiextensions.k8s.io", "customresourcedefinitions"): plan_at(
        {
            "spec.group": PREFIXED,
            "spec.conversion.webhook.clientConfig.service.namespace": NAMESPACE,
            "spec.conversion.webhookClientConfig.service.namespace": NAMESPACE,
            **CONDITIONS,
        }
    ),
}

_ENDPOINTS = plan_at(
    {
        "subsets[].addresses[].targetRef": REFERENCE,
        "subsets[].notReadyAddresses[].targetRef": REFERENCE,
    }
)
NETWORK: Mapping[tuple[str, str], ObjectPlan] = {
    ("", "endpoints"): _ENDPOINTS,
    # The controllers of the platform watch all Services, and take those of their class.
    ("", "services"): plan_at({"spec.loadBalancerClass": PREFIXED, **CONDITIONS}),
    ("discovery.k8s.io", "endpointslices"): plan_at({"endpoints[].targetRef": REFERENCE}),
    ("networking.k8s.io", "ingresses"): plan_at(
        {
            "spec.ingressClassName": INGRESS_CLASS,
            "spec.defaultBackend.resource.apiGroup": GROUP,
            "spec.rules[].http.paths[].backend.resource.apiGroup": GROUP,
        }
    ),
    ("networking.k8s.io", "ingressclasses"): plan_at({"spec.parameters": REFERENCE}),
    ("networking.k8s.io", "networkpolicies"): plan_at(
        {
            "spec.ingress[].from[].namespaceSelector": TenantSelector(),
            "spec.egress[].to[].namespaceSelector": TenantSelector(),
        }
    ),
    ("networking.k8s.io", "ipaddresses"): plan_at({"spec.parentRef.namespace": NAMESPACE}),
    ("networking.k8s.io", "servicecidrs"): plan_at(CONDITIONS),
}

_SCALED_OBJECT = "object.describedObject"
OTHERS: Mapping[tuple[str, str], ObjectPlan] = {
    ("", "namespaces"): plan_at({"status.conditions[]": NamespaceCondition()}),
    ("", "resourcequotas"): plan_at(
        {
            "spec.hard": RESOURCE_KEYS,
            "spec.scopeSelector.matchExpressions[]": ScopePlan(),
            "status.hard": RESOURCE_KEYS,
            "status.used": RESOURCE_KEYS,
        }
    ),
    ("", "limitranges"): plan_at(
        {
            f"spec.limits[].{each}": RESOURCE_KEYS
            for each in ("default", "defaultRequest", "max", "maxLimitRequestRatio", "min")
        }
    ),
    ("", "events"): plan_at({"involvedObject": REFERENCE, "related": REFERENCE, "message": TEXT}),
    ("events.k8s.io", "events"): plan_at(
        {"regarding": REFERENCE, "related": REFERENCE, "note": TEXT}
    ),
    ("autoscaling", "horizontalpodautoscalers"): plan_at(
        {
            "spec.scaleTargetRef": REFERENCE,
            f"spec.metrics[].{_SCALED_OBJECT}": REFERENCE,
            f"status.currentMetrics[].{_SCALED_OBJECT}": REFERENCE,
            **CONDITIONS,
        }
    ),
    ("policy", "poddisruptionbudgets"): plan_at(CONDITIONS),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): plan_at(
        {
            "spec.priorityLevelConfiguration.name": PREFIXED,
            "spec.rules[].resourceRules[].apiGroups[]": GROUP,
            "spec.rules[].resourceRules[].namespaces[]": NAMESPACE_OR_ALL,
            "spec.rules[].subjects[].group.name": USER_GROUP,
            "spec.rules[].subjects[].serviceAccount.namespace": NAMESPACE,
            "spec.rules[].subjects[].user.name": USER,
            **CONDITIONS,
        }
    ),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): plan_at(CONDITIONS),
}

_METRICS = JsonText(ListPlan(plan_at({"object.target": REFERENCE})))
ANNOTATIONS: Mapping[tuple[str, str], AnnotationRules] = {
    # Where autoscaling/v1 has the fields of autoscaling/v2.
    ("autoscaling", "horizontalpodautoscalers"): {
        "autoscaling.alpha.kubernetes.io/metrics": _METRICS,
        "autoscaling.alpha.kubernetes.io/current-metrics": _METRICS,
    },
    ("networking.k8s.io", "ingresses"): {"kubernetes.io/ingress.class": INGRESS_CLASS},
}
