{{/* The first part of all cluster-wide names; two instances on one cluster never share it. */}}
{{- define "lnamespace.prefix" -}}
{{- if eq .Values.apiGroupSuffix "loblaw.digital" }}lnamespace{{ else }}lnamespace.{{ .Values.apiGroupSuffix }}{{ end }}
{{- end }}

{{- define "lnamespace.group" -}}
tenancy.{{ .Values.apiGroupSuffix }}
{{- end }}

{{/* What people type to mean LNamespaces of this instance: the short name alone may mean another's. */}}
{{- define "lnamespace.typed" -}}
lns.{{ include "lnamespace.group" . }}
{{- end }}

{{/* How sudoers groups are called: where nothing else is said, no two instances share one. */}}
{{- define "lnamespace.sudoersGroupFormat" -}}
{{- $instance := ternary "" (printf ".%s" .Values.apiGroupSuffix) (eq .Values.apiGroupSuffix "loblaw.digital") }}
{{- .Values.sudoersGroupFormat | default (printf "{name}-sudoers%s" $instance) }}
{{- end }}

{{/* Whether sudo is by ServiceAccounts, and in which namespace they are: as in model/names.py. */}}
{{- define "lnamespace.sudoByAccount" -}}
{{ if eq .Values.sudoLayout "serviceaccount" }}true{{ end }}
{{- end }}

{{- define "lnamespace.sudoNamespace" -}}
lnamespace-sudo{{ if ne .Values.apiGroupSuffix "loblaw.digital" }}-{{ sha256sum .Values.apiGroupSuffix | trunc 10 }}{{ end }}
{{- end }}

{{/* The beginning of the labels and annotations of LClusters' objects, in every instance: as in model/names.py. */}}
{{- define "lnamespace.lclusterKeys" -}}
lcluster.tenancy.loblaw.digital/
{{- end }}

{{/* The namespace of the accounts that stand for LClusters: as in model/names.py. */}}
{{- define "lnamespace.clustersNamespace" -}}
lnamespace-clusters{{ if ne .Values.apiGroupSuffix "loblaw.digital" }}-{{ sha256sum .Values.apiGroupSuffix | trunc 10 }}{{ end }}
{{- end }}

{{/* The controller's Deployments and Leases: one for LNamespaces of no class, one for each class. Takes a
dict of root and class. */}}
{{- define "lnamespace.controllerName" -}}
{{ .root.Values.serviceAccount.name }}{{ with .class }}-{{ . }}{{ end }}
{{- end }}

{{- define "lnamespace.labels" -}}
{{- with .Values.commonLabels }}{{ toYaml . }}
{{ end -}}
app.kubernetes.io/name: lnamespace
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The name by which the API server knows the controller. */}}
{{- define "lnamespace.username" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ .Values.serviceAccount.name }}
{{- end }}

{{/* By which names it knows the other processes. */}}
{{- define "lnamespace.webhookUsername" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ .Values.webhook.name }}
{{- end }}

{{- define "lnamespace.ledgerUsername" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ .Values.ledger.name }}
{{- end }}

{{- define "lnamespace.gatewayUsername" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ .Values.gateway.name }}
{{- end }}

{{/* Where the gateway is, as kubeconfigs have it; empty where it has no host. */}}
{{- define "lnamespace.gatewayUrl" -}}
{{- with .Values.gateway.host }}https://{{ . }}{{ with $.Values.gateway.service.port }}{{ if ne (int .) 443 }}:{{ . }}{{ end }}{{ end }}{{ end }}
{{- end }}

{{/* A ServiceAccount as the subject of a binding. Takes a dict of root and name. */}}
{{- define "lnamespace.subject" -}}
- kind: ServiceAccount
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
{{- end }}

{{/* Labels that a Deployment finds its pods by. Takes a dict of root and component. */}}
{{- define "lnamespace.selector" -}}
app.kubernetes.io/name: lnamespace
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "lnamespace.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ with .Values.image.digest }}@{{ . }}{{ end }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{/* Where pods run and what runs beside us. Takes a dict of root, values and, where there are replicas, component. */}}
{{- define "lnamespace.placement" -}}
{{- with .values.topologySpreadConstraints | default (empty .component | ternary list (include "lnamespace.spread" . | fromYamlArray)) }}
topologySpreadConstraints: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* How the API server reaches the webhook. Takes a dict of root and path. The caBundle is put in by the webhook
itself, or by cert-manager; an upgrade leaves it as it is, for it never was the chart's. */}}
{{- define "lnamespace.clientConfig" -}}
{{- if .root.Values.webhook.url -}}
url: {{ printf "%s%s" (trimSuffix "/" .root.Values.webhook.url) .path | quote }}
{{- else -}}
service:
  name: {{ .root.Values.webhook.name }}
  namespace: {{ .root.Release.Namespace }}
  port: 443
  path: {{ .path }}
{{- end }}
{{- end }}

{{/* Has cert-manager's injector put its CA where the API server looks for it. */}}
{{- define "lnamespace.injectCA" -}}
{{- if .Values.webhook.certManager.enabled -}}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ .Values.webhook.name }}
{{- end }}
{{- end }}

{{/* A list of strings as a list in CEL; values.schema.json allows neither quotes nor backslashes. */}}
{{- define "lnamespace.celList" -}}
[{{ range $i, $s := . }}{{ if $i }}, {{ end }}'{{ $s }}'{{ end }}]
{{- end }}

{{/* Shell patterns as one regular expression. */}}
{{- define "lnamespace.patterns" -}}
^({{ join "|" . | replace "." "[.]" | replace "*" ".*" | replace "?" "." }})$
{{- end }}

{{/* Binds a policy of the same name to the whole cluster. Takes a dict of root and name. */}}
{{- define "lnamespace.policyBinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels: {{- include "lnamespace.labels" .root | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: [Deny]
{{- end }}

{{/* One pod at a time may go, of a Deployment with several. Takes a dict of root, name and component. */}}
{{- define "lnamespace.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "lnamespace.labels" .root | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "lnamespace.selector" . | nindent 6 }}
{{- end }}

{{/* Replicas on nodes and in zones of their own, where there are such. Takes a dict of root and component. */}}
{{- define "lnamespace.spread" -}}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "lnamespace.selector" $ | nindent 6 }}
{{- end }}
{{- end }}

{{/* The label by which Kubernetes puts the rules of a ClusterRole into the role of its part in guarded.yaml. */}}
{{- define "lnamespace.guardedLabel" -}}
{{ include "lnamespace.group" . }}/guarded
{{- end }}

{{/* Binds what a ServiceAccount may do only once the guards are in force. Takes a dict of root, part and name. */}}
{{- define "lnamespace.guardedBinding" -}}
{{- $prefix := include "lnamespace.prefix" .root }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $prefix }}:guarded:{{ .part }}
  labels: {{- include "lnamespace.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $prefix }}:guarded:{{ .part }}
subjects: {{- include "lnamespace.subject" . | nindent 2 }}
{{- end }}

{{/* All policies, their bindings and webhook configurations of the chart, as a list in JSON. */}}
{{- define "lnamespace.guards" -}}
{{- $guards := list }}
{{- $root := . }}
{{- range $file := list "policy-billingrecords" "policy-bindings" "policy-controller" "policy-controllers" "policy-crd" "policy-gateway" "policy-gateway-kinds" "policy-guard-rails" "policy-lclusters" "policy-lclusters-classes" "policy-lclusters-kinds" "policy-lclusters-objects" "policy-lclusters-pods" "policy-lnamespaces" "policy-namespaces" "policy-webhook" "sudo" "webhook" }}
{{- range $text := regexSplit "(?m)^---$" (include (printf "%s/%s.yaml" $root.Template.BasePath $file) $root) -1 }}
{{- $object := fromYaml $text }}
{{- if hasPrefix "admissionregistration.k8s.io/" ($object.apiVersion | default "") }}
{{- $guards = append $guards (set (omit $object "apiVersion") "metadata" (dict "name" $object.metadata.name)) }}
{{- end }}
{{- end }}
{{- end }}
{{- $guards | toJson }}
{{- end }}

{{- define "lnamespace.guardNames" -}}
{{- $names := list }}
{{- range include "lnamespace.guards" . | fromJsonArray }}
{{- $names = append $names .metadata.name }}
{{- end }}
{{- $names | uniq | sortAlpha | toJson }}
{{- end }}
