{{/* What the policies of policy-controller.yaml have in common. */}}

{{/* A policy up to its variables, for writes of the controller to one resource. */}}
{{- define "lnamespace.controllerPolicy" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ .name }}
  labels: {{- include "lnamespace.labels" .root | nindent 4 }}
spec:
  failurePolicy: Fail
  matchConditions:
    - name: the-controller
      expression: request.userInfo.username == '{{ include "lnamespace.username" .root }}'
    {{- with .unless }}
    - name: not-of-another-policy
      expression: {{ printf "!(%s)" . | quote }}
    {{- end }}
    {{- with .only }}
    - name: of-this-policy
      expression: {{ . | quote }}
    {{- end }}
  matchConstraints:
    resourceRules:
      - apiGroups: [{{ .group | quote }}]
        apiVersions: ["*"]
        operations: [CREATE, UPDATE, DELETE]
        resources: [{{ .resource }}, {{ .resource }}/*]
{{- end }}

{{/* Which of the three ClusterRoles (and bindings) of the controller one is, by its name; else ''. */}}
{{- define "lnamespace.sort" -}}
{{- $parts := list "editor" "sudoer-impersonator" }}
{{- if .Values.gateway.enabled }}{{ $parts = concat $parts (list "cluster-editor" "cluster-resources") }}{{ end }}
- name: part
  expression: "(request.operation == 'DELETE' ? oldObject : object).metadata.name.split(':')"
- name: sort
  expression: >-
    size(variables.part) != 3 || variables.part[0] != '{{ include "lnamespace.prefix" . }}' ? ''
    : variables.part[2] in {{ include "lnamespace.celList" $parts }} && variables.part[1].matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')
      ? variables.part[2]
    : variables.part[1].matches('^self-impersonator([.][-a-z0-9]+)?$') && variables.part[2].matches('^[a-z2-7]{52}$') ? 'self'
    : ''
{{- end }}

{{/* The LCluster of an object by its label, if the object's name begins as that LCluster's names do; else ''. Takes a
dict of root and object. */}}
{{- define "lnamespace.lclusterOf" -}}
{{- $label := printf "%s/lcluster" (include "lnamespace.group" .root) -}}
has({{ .object }}.metadata.labels) && '{{ $label }}' in {{ .object }}.metadata.labels
&& {{ .object }}.metadata.labels['{{ $label }}'].matches('^[a-z][a-z0-9]{1,19}$')
&& {{ .object }}.metadata.name.startsWith({{ .object }}.metadata.labels['{{ $label }}'] + '-') ? {{ .object }}.metadata.labels['{{ $label }}'] : ''
{{- end }}

{{/* Whether an RBAC object is one of an LCluster's own, which goes with it. */}}
{{- define "lnamespace.sweeps" -}}
{{- if .Values.gateway.enabled }}
- name: sweeps
  expression: >-
    request.operation == 'DELETE' && ({{ include "lnamespace.lclusterOf" (dict "root" . "object" "oldObject") | nindent 4 }}) != ''
{{- end }}
{{- end }}

{{/* Nothing holds what the controller writes up, and it goes with an LNamespace and with nothing else: the garbage
collector deletes what refers to an owner that is not there. Of what somebody else has put there it may take away. */}}
{{- define "lnamespace.ownedOnly" -}}
- expression: >-
    request.operation == 'DELETE' || [request.operation == 'UPDATE'].all(was,
      (has(object.metadata.finalizers) ? object.metadata.finalizers : []).all(f,
        was && has(oldObject.metadata.finalizers) && f in oldObject.metadata.finalizers)
      && (has(object.metadata.ownerReferences) ? object.metadata.ownerReferences : []).all(r,
        r.apiVersion.startsWith('{{ include "lnamespace.group" . }}/') && r.kind == 'LNamespace'
        || was && has(oldObject.metadata.ownerReferences) && oldObject.metadata.ownerReferences.exists(o, o == r)))
  message: what the controller writes is owned by LNamespaces only, and no finalizer holds it
  reason: Forbidden
{{- end }}

{{/* Labels are power: those of a ClusterRole can pour it into others (aggregation), those of a Namespace
lift its restrictions. So they have to be ours, or as they were; or `given`, or when they go, `taken`. */}}
{{- define "lnamespace.labelVariables" -}}
- name: labels
  expression: "request.operation != 'DELETE' && has(object.metadata.labels) ? object.metadata.labels : {}"
- name: oldLabels
  expression: "request.operation == 'UPDATE' && has(oldObject.metadata.labels) ? oldObject.metadata.labels : {}"
- name: free
  expression: "{{ .free }}"
- name: foreign
  expression: "{{ .foreign }}"
- name: labelsKept
  expression: >-
    variables.labels.all(k, variables.free.exists(f, k == f || f.endsWith('/') && k.startsWith(f))
      || variables.foreign.exists(f, k == f || f.endsWith('/') && k.startsWith(f))
      || k in variables.oldLabels && variables.oldLabels[k] == variables.labels[k]
      {{- with .given }} || {{ . }}{{ end }})
    && variables.oldLabels.all(k, variables.free.exists(f, k == f || f.endsWith('/') && k.startsWith(f))
      || k in variables.labels{{ with .taken }} || {{ . }}{{ end }})
{{- end }}

{{/* The kinds that a profile may put into a namespace. */}}
{{- define "lnamespace.guardRails" -}}
resourceRules:
  - apiGroups: [""]
    apiVersions: ["*"]
    operations: [CREATE, UPDATE, DELETE]
    resources: [resourcequotas, resourcequotas/*, limitranges, limitranges/*]
  - apiGroups: [networking.k8s.io]
    apiVersions: ["*"]
    operations: [CREATE, UPDATE, DELETE]
    resources: [networkpolicies, networkpolicies/*]
{{- end }}

{{/* What shows that the Namespace of an object is an LNamespace's: tenants cannot set it on others. */}}
{{- define "lnamespace.isTenants" -}}
has(namespaceObject.metadata.labels) && 'app.kubernetes.io/managed-by' in namespaceObject.metadata.labels
  && namespaceObject.metadata.labels['app.kubernetes.io/managed-by'] == '{{ include "lnamespace.prefix" . }}'
|| has(namespaceObject.metadata.annotations)
  && '{{ include "lnamespace.group" . }}/owner-uid' in namespaceObject.metadata.annotations
{{- end }}

{{/* What shows that it is an LNamespace's of another instance. */}}
{{- define "lnamespace.isAnotherInstances" -}}
has(namespaceObject.metadata.labels) && 'app.kubernetes.io/managed-by' in namespaceObject.metadata.labels
&& namespaceObject.metadata.labels['app.kubernetes.io/managed-by'] != '{{ include "lnamespace.prefix" . }}'
&& namespaceObject.metadata.labels['app.kubernetes.io/managed-by'].matches('^lnamespace([.]|$)')
{{- end }}

{{/* The labels that profiles put on Namespaces, as key=value, each once. */}}
{{- define "lnamespace.profileLabels" -}}
{{- $pairs := list }}
{{- range .Values.profiles }}
{{- range $key, $value := .labels }}
{{- $pairs = append $pairs (printf "%s=%s" $key $value) }}
{{- end }}
{{- end }}
{{- $pairs | uniq | sortAlpha | toJson }}
{{- end }}

{{/* The keys of labels that are on Namespaces because of a profile or of what LNamespaces must have. */}}
{{- define "lnamespace.givenLabels" -}}
{{- $keys := keys .Values.requiredLabels }}
{{- range .Values.profiles }}
{{- $keys = concat $keys (keys (.labels | default dict)) }}
{{- end }}
{{- $keys | uniq | sortAlpha | toJson }}
{{- end }}

{{/* Whether variables.name is that of a role (or binding) to impersonate an LNamespace's account, where
those are. */}}
{{- define "lnamespace.isSudoer" -}}
request.namespace == '{{ include "lnamespace.sudoNamespace" . }}' && variables.name.matches('^{{ include "lnamespace.prefix" . | replace "." "[.]" }}:[a-z0-9]([-a-z0-9]*[a-z0-9])?:sudoer-impersonator$')
{{- end }}

{{- /* Of everybody, and also where no webhook answers, which bounds the bytes of metadata. */}}
{{- define "lnamespace.fewLabels" -}}
# The controller has the labels in memory: 7,000 short ones are 1.3 MB.
- expression: >-
    request.operation == 'DELETE' || size(object.metadata.?labels.orValue({})) <= 256
    || request.operation == 'UPDATE' && size(object.metadata.?labels.orValue({})) <= size(oldObject.metadata.?labels.orValue({}))
  message: "metadata.labels: {{ . }} may have at most 256"
  reason: Invalid
{{- end }}

{{/* How large a Namespace is, before and after. Fields of a Namespace are four deep; what is deeper is too much. */}}
{{- define "lnamespace.namespaceSizes" -}}
{{- range $suffix, $object := dict "" "object" "Before" "oldObject" }}
- name: labels{{ $suffix }}Count
  expression: "{{ $object }} != null && has({{ $object }}.metadata.labels) ? size({{ $object }}.metadata.labels) : 0"
- name: annotations{{ $suffix }}Bytes
  expression: >-
    {{ $object }} != null && has({{ $object }}.metadata.annotations) ? {{ $object }}.metadata.annotations.map(k,
      size(bytes(k)) + size(bytes({{ $object }}.metadata.annotations[k]))).sum() : 0
- name: records{{ $suffix }}Bytes
  expression: >-
    ({{ $object }} != null && has({{ $object }}.metadata.managedFields) ? {{ $object }}.metadata.managedFields.map(m, 200 + (!has(m.fieldsV1) ? 0
      : m.fieldsV1.map(a, size(bytes(a)) + m.fieldsV1[a].map(b, size(bytes(b)) + m.fieldsV1[a][b].map(c, size(bytes(c))
        + m.fieldsV1[a][b][c].map(d, size(bytes(d)) + 1000000 * size(m.fieldsV1[a][b][c][d])).sum()).sum()).sum()).sum())).sum() : 0)
    + ({{ $object }} != null && has({{ $object }}.status) && has({{ $object }}.status.conditions) ? {{ $object }}.status.conditions.map(c,
      200 + size(bytes(c.type)) + (has(c.reason) ? size(bytes(c.reason)) : 0) + (has(c.message) ? size(bytes(c.message)) : 0)).sum() : 0)
{{- end }}
{{- end }}

{{/* A Namespace leaves room for what the controller writes to it. What was too large before may become smaller. Takes
whose it is. */}}
{{- define "lnamespace.namespaceBounds" -}}
# The controller has the labels of all Namespaces in memory: 11,000 of them, as one could have, were 3 MB.
- expression: variables.labelsCount <= 256 || variables.labelsCount <= variables.labelsBeforeCount
  message: "the Namespace of {{ . }} may have at most 256 labels"
  reason: Forbidden
# The API server takes 256 KiB. Where they are full, the controller can note no label that it sets, and so sets none.
- expression: variables.annotationsBytes <= 196608 || variables.annotationsBytes <= variables.annotationsBeforeBytes
  message: "the annotations of the Namespace of {{ . }} may have at most 192 KiB"
  reason: Forbidden
# An object has at most a megabyte and a half in etcd. The API server bounds neither whose the fields are nor conditions.
- expression: variables.recordsBytes <= 262144 || variables.recordsBytes <= variables.recordsBeforeBytes
  message: "the managedFields and conditions of the Namespace of {{ . }} may have at most 256 KiB"
  reason: Forbidden
# The API server shows 9999-12-31T23:59:59-10:00 in UTC, by which no client in Go or Python can list Namespaces as JSON.
- expression: >-
    object == null
    || ((!has(object.metadata.managedFields) || object.metadata.managedFields.all(m, !has(m.time) || string(m.time).size() == 20))
    && (!has(object.status) || !has(object.status.conditions)
      || object.status.conditions.all(c,
        !has(c.lastTransitionTime) || c.lastTransitionTime == null || string(c.lastTransitionTime).size() == 20)))
  message: "the managedFields and conditions of the Namespace of {{ . }} need times with a year of four digits in UTC"
  reason: Forbidden
{{- end }}
