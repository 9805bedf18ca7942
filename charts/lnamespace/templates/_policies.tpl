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
  matchConstraints:
    resourceRules:
      - apiGroups: [{{ .group | quote }}]
        apiVersions: ["*"]
        operations: [CREATE, UPDATE, DELETE]
        resources: [{{ .resource }}, {{ .resource }}/*]
{{- end }}

{{/* Which of the three ClusterRoles (and bindings) of the controller one is, by its name; else ''. */}}
{{- define "lnamespace.sort" -}}
- name: part
  expression: "(request.operation == 'DELETE' ? oldObject : object).metadata.name.split(':')"
- name: sort
  expression: >-
    size(variables.part) != 3 || variables.part[0] != '{{ include "lnamespace.prefix" . }}' ? ''
    : variables.part[2] in ['editor', 'sudoer-impersonator'] ? variables.part[2]
    : variables.part[1] == 'self-impersonator' && variables.part[2].matches('^[a-z2-7]{52}$') ? 'self'
    : ''
{{- end }}

{{/* Labels are power: those of a ClusterRole can pour it into others (aggregation), those of a Namespace
lift its restrictions. So they have to be ours, or as they were. */}}
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
    variables.labels.all(k, k in variables.free
      || variables.foreign.exists(f, k == f || f.endsWith('/') && k.startsWith(f))
      || k in variables.oldLabels && variables.oldLabels[k] == variables.labels[k])
    && variables.oldLabels.all(k, k in variables.free || k in variables.labels)
{{- end }}
