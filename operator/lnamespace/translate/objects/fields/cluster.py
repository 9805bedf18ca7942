"""Access, admission, network, quotas, events and what else Kubernetes has."""

from collections.abc import Mapping

from lnamespace.kube.resources import RBAC
from lnamespace.translate.objects.fields.workloads import CONDITIONS
from lnamespace.translate.objects.labels import TenantSelector
from lnamespace.translate.objects.load_balancers import BalancedAddress
from lnamespace.translate.objects.match_rules import MatchRuleTranslator
from lnamespace.translate.objects.metadata import AnnotationRules
from lnamespace.translate.objects.paths import translator_at
from lnamespace.translate.objects.quotas import RESOURCE_KEYS, QuotaScopeTranslator
from lnamespace.translate.objects.references import REFERENCE, RoleRefTranslator, SubjectTranslator
from lnamespace.translate.objects.spellings import (
    API_VERSION,
    GROUP,
    INGRESS_CLASS_NAME,
    NAMESPACE_OR_ALL,
    NAMESPACE_SPELLING,
    PREFIXED,
    USER,
    USER_GROUP,
    JsonText,
)
from lnamespace.translate.objects.texts import TEXT, NamespaceCondition
from lnamespace.translate.objects.translators import FieldRule, ListTranslator, ObjectTranslator

_SUBJECTS = ListTranslator(SubjectTranslator())
_ROLE = translator_at({"rules[].apiGroups[]": GROUP})
ACCESS: Mapping[tuple[str, str], ObjectTranslator] = {
    (RBAC, "roles"): _ROLE,
    (RBAC, "clusterroles"): _ROLE,
    (RBAC, "rolebindings"): translator_at({"subjects": _SUBJECTS, "roleRef": RoleRefTranslator()}),
    (RBAC, "clusterrolebindings"): translator_at(
        {"subjects": _SUBJECTS, "roleRef": RoleRefTranslator(inert=True)}
    ),
    ("certificates.k8s.io", "certificatesigningrequests"): translator_at(
        {"spec.username": USER, "spec.groups[]": USER_GROUP, **CONDITIONS}
    ),
    ("authentication.k8s.io", "tokenreviews"): translator_at(
        {"status.user.username": USER, "status.user.groups[]": USER_GROUP, "status.error": TEXT}
    ),
    ("", "serviceaccounts"): translator_at({"secrets[]": REFERENCE}),
}

_MATCHED = translator_at(
    {
        "namespaceSelector": TenantSelector(),
        "resourceRules[]": MatchRuleTranslator(),
        "excludeResourceRules[]": MatchRuleTranslator(),
    }
)
_POLICY = translator_at(
    {
        "spec.matchConstraints": _MATCHED,
        "spec.paramKind.apiVersion": API_VERSION,
        "status.conditions[].message": TEXT,
        "status.typeChecking.expressionWarnings[].warning": TEXT,
    }
)
_POLICY_BINDING = translator_at(
    {
        "spec.policyName": PREFIXED,
        "spec.matchResources": _MATCHED,
        "spec.paramRef.namespace": NAMESPACE_SPELLING,
    }
)
_WEBHOOKS = translator_at(
    {
        "webhooks[].namespaceSelector": TenantSelector(),
        "webhooks[].clientConfig.service.namespace": NAMESPACE_SPELLING,
        "webhooks[].rules[].apiGroups[]": GROUP,
    }
)
ADMISSION: Mapping[tuple[str, str], ObjectTranslator] = {
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): _POLICY,
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): _POLICY_BINDING,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): _POLICY,
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): _POLICY_BINDING,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _WEBHOOKS,
    ("apiextensions.k8s.io", "customresourcedefinitions"): translator_at(
        {
            "spec.group": PREFIXED,
            "spec.conversion.webhook.clientConfig.service.namespace": NAMESPACE_SPELLING,
            "spec.conversion.webhookClientConfig.service.namespace": NAMESPACE_SPELLING,
            **CONDITIONS,
        }
    ),
}

_ENDPOINTS = translator_at(
    {
        "subsets[].addresses[].targetRef": REFERENCE,
        "subsets[].notReadyAddresses[].targetRef": REFERENCE,
    }
)
_BALANCER: Mapping[str, FieldRule] = {"status.loadBalancer.ingress[]": BalancedAddress()}
NETWORK: Mapping[tuple[str, str], ObjectTranslator] = {
    ("", "endpoints"): _ENDPOINTS,
    # The controllers of the platform watch all Services, and take those of their class.
    ("", "services"): translator_at(
        {"spec.loadBalancerClass": PREFIXED, **CONDITIONS, **_BALANCER}
    ),
    ("discovery.k8s.io", "endpointslices"): translator_at({"endpoints[].targetRef": REFERENCE}),
    ("networking.k8s.io", "ingresses"): translator_at(
        {
            **_BALANCER,
            "spec.ingressClassName": INGRESS_CLASS_NAME,
            "spec.defaultBackend.resource.apiGroup": GROUP,
            "spec.rules[].http.paths[].backend.resource.apiGroup": GROUP,
        }
    ),
    ("networking.k8s.io", "ingressclasses"): translator_at({"spec.parameters": REFERENCE}),
    ("networking.k8s.io", "networkpolicies"): translator_at(
        {
            "spec.ingress[].from[].namespaceSelector": TenantSelector(),
            "spec.egress[].to[].namespaceSelector": TenantSelector(),
        }
    ),
    ("networking.k8s.io", "ipaddresses"): translator_at(
        {"spec.parentRef.namespace": NAMESPACE_SPELLING}
    ),
    ("networking.k8s.io", "servicecidrs"): translator_at(CONDITIONS),
}

_SCALED_OBJECT = "object.describedObject"
OTHERS: Mapping[tuple[str, str], ObjectTranslator] = {
    ("", "namespaces"): translator_at({"status.conditions[]": NamespaceCondition()}),
    ("", "resourcequotas"): translator_at(
        {
            "spec.hard": RESOURCE_KEYS,
            "spec.scopeSelector.matchExpressions[]": QuotaScopeTranslator(),
            "status.hard": RESOURCE_KEYS,
            "status.used": RESOURCE_KEYS,
        }
    ),
    ("", "limitranges"): translator_at(
        {
            f"spec.limits[].{each}": RESOURCE_KEYS
            for each in ("default", "defaultRequest", "max", "maxLimitRequestRatio", "min")
        }
    ),
    ("", "events"): translator_at(
        {"involvedObject": REFERENCE, "related": REFERENCE, "message": TEXT}
    ),
    ("events.k8s.io", "events"): translator_at(
        {"regarding": REFERENCE, "related": REFERENCE, "note": TEXT}
    ),
    ("autoscaling", "horizontalpodautoscalers"): translator_at(
        {
            "spec.scaleTargetRef": REFERENCE,
            f"spec.metrics[].{_SCALED_OBJECT}": REFERENCE,
            f"status.currentMetrics[].{_SCALED_OBJECT}": REFERENCE,
            **CONDITIONS,
        }
    ),
    ("policy", "poddisruptionbudgets"): translator_at(CONDITIONS),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): translator_at(
        {
            "spec.priorityLevelConfiguration.name": PREFIXED,
            "spec.rules[].resourceRules[].apiGroups[]": GROUP,
            "spec.rules[].resourceRules[].namespaces[]": NAMESPACE_OR_ALL,
            "spec.rules[].subjects[].group.name": USER_GROUP,
            "spec.rules[].subjects[].serviceAccount.namespace": NAMESPACE_SPELLING,
            "spec.rules[].subjects[].user.name": USER,
            **CONDITIONS,
        }
    ),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): translator_at(CONDITIONS),
}

_METRICS = JsonText(ListTranslator(translator_at({"object.target": REFERENCE})))
ANNOTATIONS: Mapping[tuple[str, str], AnnotationRules] = {
    # Where autoscaling/v1 has the fields of autoscaling/v2.
    ("autoscaling", "horizontalpodautoscalers"): {
        "autoscaling.alpha.kubernetes.io/metrics": _METRICS,
        "autoscaling.alpha.kubernetes.io/current-metrics": _METRICS,
    },
    ("networking.k8s.io", "ingresses"): {"kubernetes.io/ingress.class": INGRESS_CLASS_NAME},
}
