{{/* The first part of all cluster-wide names; two instances on one cluster never share it. */}}
{{- define "lnamespace.prefix" -}}
{{- if eq .Values.apiGroupSuffix "loblaw.digital" }}lnamespace{{ else }}lnamespace.{{ .Values.apiGroupSuffix }}{{ end }}
{{- end }}

{{- define "lnamespace.group" -}}
tenancy.{{ .Values.apiGroupSuffix }}
{{- end }}

{{- define "lnamespace.labels" -}}
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

{{/* The ServiceAccount as the subject of a binding. */}}
{{- define "lnamespace.subject" -}}
- kind: ServiceAccount
  name: {{ .Values.serviceAccount.name }}
  namespace: {{ .Release.Namespace }}
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
