{{/* What the policies about the gateway and about LClusters have in common. */}}

{{- define "lnamespace.lclusterLabel" -}}
{{ include "lnamespace.group" . }}/lcluster
{{- end }}

{{/* The Service at which programs in pods reach the gateway, and the ConfigMap with its CA. */}}
{{- define "lnamespace.gatewayForPods" -}}
{{ .Values.gateway.name }}-for-pods
{{- end }}

{{/* The ConfigMap in kube-public with what everybody may know of the gateway. */}}
{{- define "lnamespace.gatewayConfigMap" -}}
{{ include "lnamespace.prefix" . }}-gateway
{{- end }}

{{/* Whether the gateway makes its own certificate, for nobody else does; empty if not. */}}
{{- define "lnamespace.gatewayIssuesItsCertificate" -}}
{{- $v := .Values.gateway }}
{{- if not (or $v.certManager.enabled $v.certificateSecret $v.caBundle) }}yes{{ end }}
{{- end }}

{{/* The Secret with the gateway's certificate, where it does not make that itself. */}}
{{- define "lnamespace.gatewayCertificateSecret" -}}
{{ .Values.gateway.certificateSecret | default (printf "%s-certificate" .Values.gateway.name) }}
{{- end }}

{{/* What the platform lets objects of tenants act with. Takes a dict of root and key; a list in CEL. */}}
{{- define "lnamespace.allowed" -}}
{{ include "lnamespace.celList" (get .root.Values.gateway.allow .key) }}
{{- end }}

{{/* The levels of Pod Security that a Namespace of a tenant may enforce. */}}
{{- define "lnamespace.podSecurityLevels" -}}
{{ ternary "['restricted']" "['baseline', 'restricted']" (eq .Values.gateway.allow.podSecurity "restricted") }}
{{- end }}

{{/* Of which LCluster an object is that the gateway writes, by the label that all of them bear. */}}
{{- define "lnamespace.tenantVariables" -}}
- name: written
  expression: "request.operation == 'DELETE' ? oldObject : object"
- name: tenant
  expression: >-
    has(variables.written.metadata.labels) && '{{ include "lnamespace.lclusterLabel" . }}' in variables.written.metadata.labels
    ? variables.written.metadata.labels['{{ include "lnamespace.lclusterLabel" . }}'] : ''
- name: prefix
  expression: "variables.tenant + '-'"
{{- end }}

{{/* A policy up to its variables, for what the gateway writes as itself. Takes a dict of root, name, group and
resources. */}}
{{- define "lnamespace.gatewayPolicy" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ .name }}
  labels: {{- include "lnamespace.labels" .root | nindent 4 }}
spec:
  failurePolicy: Fail
  matchConditions:
    - name: the-gateway
      expression: request.userInfo.username == '{{ include "lnamespace.gatewayUsername" .root }}'
  matchConstraints:
    resourceRules:
      - apiGroups: [{{ .group | quote }}]
        apiVersions: ["*"]
        operations: [CREATE, UPDATE]
        resources: [{{ range $i, $resource := .resources }}{{ if $i }}, {{ end }}{{ $resource }}, {{ $resource }}/*{{ end }}]
  variables: {{- include "lnamespace.tenantVariables" .root | nindent 4 }}
{{- end }}

{{/* A policy up to its variables, for what is written into the Namespaces of LClusters. Takes a dict of root, name,
group, resources and operations; without conditions, it is for everybody, without a scope for what stands in the
Namespaces and for these. */}}
{{- define "lnamespace.tenantPolicy" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ .name }}
  labels: {{- include "lnamespace.labels" .root | nindent 4 }}
spec:
  failurePolicy: Fail
  {{- with .paramKind }}
  paramKind: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .conditions }}
  matchConditions: {{- toYaml . | nindent 4 }}
  {{- end }}
  matchConstraints:
    namespaceSelector:
      matchExpressions:
        - {key: {{ include "lnamespace.lclusterLabel" .root }}, operator: Exists}
    resourceRules:
      - apiGroups: [{{ .group | quote }}]
        apiVersions: ["*"]
        operations: {{ .operations | toJson }}
        resources: {{ .resources | toJson }}
        {{- with .scope }}
        scope: {{ . }}
        {{- end }}
  variables:
    - name: tenant
      expression: namespaceObject.metadata.labels['{{ include "lnamespace.lclusterLabel" .root }}']
    - name: prefix
      expression: "variables.tenant + '-'"
{{- end }}

{{/* The binding of a policy that is asked once for each LCluster. Takes name and root. */}}
{{- define "lnamespace.eachLClusterBinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels: {{- include "lnamespace.labels" .root | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: [Deny]
  paramRef:
    parameterNotFoundAction: Allow
    selector: {}
{{- end }}

{{/* Administrators, Kubernetes' own controllers and ours: who may do it in all namespaces. Takes verb and resource. */}}
{{- define "lnamespace.notEverywhere" -}}
!(request.operation == 'DELETE' ? ['delete'] : request.operation == 'CREATE' ? ['create'] : ['update', 'patch']).exists(verb,
  authorizer.group(request.resource.group).resource(request.resource.resource).check(verb).allowed())
{{- end }}

{{/* CEL: the API server asks the gateway instead of a webhook of the LCluster, as in translate/objects/confinement/clients.py. Takes client, and the first words of its path. */}}
{{- define "lnamespace.gatewayAsks" -}}
!has({{ .client }}.url) && has({{ .client }}.service)
          && {{ .client }}.service.namespace == '{{ .root.Release.Namespace }}' && {{ .client }}.service.name == '{{ .root.Values.gateway.name }}-webhooks'
          && has({{ .client }}.service.path) && {{ include "lnamespace.celList" .paths }}.exists(p, {{ .client }}.service.path.startsWith('/' + p + '/' + variables.tenant + '/'))
{{- end }}

{{/* The newest version in which the API server knows MutatingAdmissionPolicies; empty if in none. */}}
{{- define "lnamespace.mutatingPolicies" -}}
{{- range $version := list "v1" "v1beta1" }}
{{- $version = printf "admissionregistration.k8s.io/%s" $version }}
{{- if $.Capabilities.APIVersions.Has (printf "%s/MutatingAdmissionPolicy" $version) }}{{ $version }}{{ break }}{{ end }}
{{- end }}
{{- end }}

{{/* CEL: it is written by an account of the LCluster whose Namespace it is in: one of its pods', or that by which the
gateway acts. A condition knows the Namespace by its name only. */}}
{{- define "lnamespace.byTenants" -}}
request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace.split('-')[0] + '-')
|| request.userInfo.username == 'system:serviceaccount:{{ include "lnamespace.clustersNamespace" . }}:' + request.namespace.split('-')[0]
{{- end }}

{{/* The API groups of kube-apiserver itself: as BUILT_IN_GROUPS in translate/protocol/policies.py. */}}
{{- define "lnamespace.builtInGroups" -}}
- ""
- admissionregistration.k8s.io
- apiextensions.k8s.io
- apiregistration.k8s.io
- apps
- authentication.k8s.io
- authorization.k8s.io
- autoscaling
- batch
- certificates.k8s.io
- coordination.k8s.io
- discovery.k8s.io
- events.k8s.io
- flowcontrol.apiserver.k8s.io
- internal.apiserver.k8s.io
- networking.k8s.io
- node.k8s.io
- policy
- rbac.authorization.k8s.io
- resource.k8s.io
- scheduling.k8s.io
- storage.k8s.io
- storagemigration.k8s.io
{{- end }}

{{/* The kinds in namespaces that LClusters are not served, as in translate/protocol/policies.py; bindings of pods have a
policy of their own. */}}
{{- define "lnamespace.hiddenKinds" -}}
- certificates.k8s.io/podcertificaterequests
- scheduling.k8s.io/podgroups
- scheduling.k8s.io/workloads
{{- end }}

{{/* CEL: whether the platform publishes an object. Takes a dict of root, key and name, an expression. */}}
{{- define "lnamespace.published" -}}
{{- $name := .name -}}
({{ $name }} in {{ include "lnamespace.publishedExactly" . }}
{{- range get .root.Values.gateway.published .key }}{{ if hasSuffix "*" . }} || {{ $name }}.startsWith('{{ trimSuffix "*" . }}'){{ end }}{{ end }})
{{- end }}

{{/* The names that are published as they are, not by their beginning. Takes a dict of root and key; a list in CEL. */}}
{{- define "lnamespace.publishedExactly" -}}
{{- $exact := list }}
{{- range get .root.Values.gateway.published .key }}{{ if not (hasSuffix "*" .) }}{{ $exact = append $exact . }}{{ end }}{{ end }}
{{- include "lnamespace.celList" $exact }}
{{- end }}

{{/* Whether one of the published names is the beginning of names, which those of other LClusters may have too. Takes a
dict of root and key. */}}
{{- define "lnamespace.publishesBeginnings" -}}
{{- range get .root.Values.gateway.published .key }}{{ if hasSuffix "*" . }}yes{{ end }}{{ end }}
{{- end }}
