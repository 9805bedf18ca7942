{{- /*
What values.schema.json cannot say in words. It knows types, enumerations and bounds; of a pattern it says the
regular expression, of `not` nothing but that it failed, and of a wrong key another place than where it stands.
Everything that is wrong is told at once. Nothing here is only for comfort: names and labels that pass go into CEL.
*/}}

{{- define "lnamespace.dnsLabel" -}}[a-z0-9]([-a-z0-9]*[a-z0-9])?{{- end }}
{{- define "lnamespace.dnsName" -}}
{{ include "lnamespace.dnsLabel" . }}([.]{{ include "lnamespace.dnsLabel" . }})*
{{- end }}
{{- define "lnamespace.keyPattern" -}}
^({{ include "lnamespace.dnsName" . }}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$
{{- end }}

{{/* One line for each value that does not match. Takes a list of lists: name, value, pattern, what is allowed. A value
that was taken away by null has nothing wrong. */}}
{{- define "lnamespace.mismatches" -}}
{{- range . }}
{{- $value := index . 1 }}
{{- if not (or (kindIs "invalid" $value) (regexMatch (index . 2) (toString $value))) }}
- {{ index . 0 }}: {{ toString $value | quote }} must be {{ index . 3 }}
{{- end }}
{{- end }}
{{- end }}

{{/* The same for the keys and values of labels. Takes a dict of path and labels. */}}
{{- define "lnamespace.wrongLabels" -}}
{{- $path := .path }}
{{- $labels := list }}
{{- range $key, $value := .labels }}
{{- $labels = append $labels (list (printf "%s.%s" $path $key) $value "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$" "a label's value: at most 63 letters, digits, '-', '_' or '.', and a letter or digit at both ends") }}
{{- end }}
{{- include "lnamespace.mismatches" $labels }}
{{- include "lnamespace.wrongKeys" (dict "path" .path "keys" (keys (.labels | default dict)) "what" "a label") }}
{{- end }}

{{/* Keys of labels and annotations. Takes a dict of path, keys and what. */}}
{{- define "lnamespace.wrongKeys" -}}
{{- $given := . }}
{{- range sortAlpha .keys }}
{{- if not (regexMatch (include "lnamespace.keyPattern" $given) .) }}
- {{ $given.path }}: {{ quote . }} must be the key of {{ $given.what }}, such as team or example.com/team
{{- end }}
{{- end }}
{{- end }}

{{/* Keys that no profile and no rule may speak of. Takes a dict of path and keys. */}}
{{- define "lnamespace.takenKeys" -}}
{{- $path := .path }}
{{- range sortAlpha .keys }}
{{- if has . (list "kubernetes.io/metadata.name" "app.kubernetes.io/managed-by") }}
- {{ $path }}: {{ quote . }} must be another label: this one is set by Kubernetes or by LNamespace itself
{{- end }}
{{- end }}
{{- end }}

{{/* What pods are given. Takes a dict of path and values. */}}
{{- define "lnamespace.wrongPod" -}}
{{- $path := .path }}
{{- $checks := list (list (printf "%s.priorityClassName" $path) (.values.priorityClassName | default "none") (printf "^%s$" (include "lnamespace.dnsName" .)) "the name of a PriorityClass, or empty") }}
{{- range $kind := list "requests" "limits" }}
{{- range $name, $amount := (get ($.values.resources | default dict) $kind | default dict) }}
{{- $checks = append $checks (list (printf "%s.resources.%s.%s" $path $kind $name) $amount "^[0-9]+([.][0-9]+)?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$" "a quantity, such as 50m or 128Mi") }}
{{- end }}
{{- end }}
{{- include "lnamespace.mismatches" $checks }}
{{- include "lnamespace.wrongKeys" (dict "path" (printf "%s.podAnnotations" $path) "keys" (keys (.values.podAnnotations | default dict)) "what" "an annotation") }}
{{- include "lnamespace.wrongLabels" (dict "path" (printf "%s.nodeSelector" $path) "labels" .values.nodeSelector) }}
{{- include "lnamespace.wrongLabels" (dict "path" (printf "%s.podLabels" $path) "labels" .values.podLabels) }}
{{- include "lnamespace.keptLabels" (dict "path" (printf "%s.podLabels" $path) "labels" .values.podLabels) }}
{{- range $i, $env := .values.extraEnv }}
{{- if hasPrefix "LNAMESPACE_" $env.name }}
- {{ $path }}.extraEnv[{{ $i }}]: {{ quote $env.name }} must be another variable: the chart sets ours, by values of their own
{{- end }}
{{- end }}
{{- range $i, $volume := .values.extraVolumes }}
{{- if has $volume.name (list "certificate" "data" "guards" "payers" "profiles" "tmp") }}
- {{ $path }}.extraVolumes[{{ $i }}]: {{ quote $volume.name }} must be another name: the chart has a volume of this one
{{- end }}
{{- end }}
{{- range $i, $container := .values.extraContainers }}
{{- if eq $container.name $path }}
- {{ $path }}.extraContainers[{{ $i }}]: {{ quote $container.name }} must be another name: our container has this one
{{- end }}
{{- end }}
{{- end }}

{{/* Labels that stand beside commonLabels, and no object has one twice. Takes a dict of path, labels and common. */}}
{{- define "lnamespace.labelsTwice" -}}
{{- $given := . }}
{{- range $key := keys (.labels | default dict) | sortAlpha }}
{{- if hasKey ($given.common | default dict) $key }}
- {{ $given.path }}: {{ quote $key }} must be another label: this one is in commonLabels
{{- end }}
{{- end }}
{{- end }}

{{/* Labels that Kubernetes, Helm or we go by. Takes a dict of path and labels. */}}
{{- define "lnamespace.keptLabels" -}}
{{- $path := .path }}
{{- range $key := keys (.labels | default dict) | sortAlpha }}
{{- $domain := regexFind "^[^/]+/" $key | trimSuffix "/" }}
{{- if regexMatch "(^|[.])(kubernetes[.]io|k8s[.]io|helm[.]sh)$|^tenancy[.]" $domain }}
- {{ $path }}: {{ quote $key }} must be another label: Kubernetes, Helm or LNamespace itself goes by this one
{{- end }}
{{- end }}
{{- end }}

{{/* Names that collide: whoever shares a ServiceAccount shares its rights, and a second object of a name replaces the
first. */}}
{{- define "lnamespace.collidingNames" -}}
{{- $account := .Values.serviceAccount.name }}
{{- $taken := dict $account "serviceAccount.name" (printf "%s-metrics" $account) "the Service for metrics" }}
{{- range .Values.controller.classNames }}
{{- $_ := set $taken (printf "%s-%s" $account .) (printf "the controller of class %s" .) }}
{{- end }}
{{- range $path, $name := dict "webhook.name" .Values.webhook.name "ledger.name" .Values.ledger.name "gateway.name" .Values.gateway.name }}
{{- with get $taken $name }}
- {{ $path }}: {{ quote $name }} must be another name: it is taken by {{ . }}
{{- end }}
{{- end }}
{{- if eq .Values.webhook.name .Values.ledger.name }}
- ledger.name: {{ quote .Values.ledger.name }} must be another name: it is taken by webhook.name
{{- end }}
{{- range $path, $name := dict "serviceAccount.name" $account "webhook.name" .Values.webhook.name "ledger.name" .Values.ledger.name }}
{{- if eq $name "default" }}
- {{ $path }}: "default" must be another name: every pod of the namespace that names no ServiceAccount would have its rights
{{- end }}
{{- end }}
{{- end }}

{{/* Who is meant by a group or a user: it is put into CEL between quotes. */}}
{{- define "lnamespace.wrongPeople" -}}
{{- $checks := list }}
{{- range $i, $name := .names }}
{{- $checks = append $checks (list (printf "%s[%d]" $.path $i) $name `^[^'"\\\x00-\x1f\x7f]{1,512}$` "a name of at most 512 characters without quotes, backslashes and control characters") }}
{{- end }}
{{- include "lnamespace.mismatches" $checks }}
{{- end }}

{{/* The address of the image. */}}
{{- define "lnamespace.wrongImage" -}}
{{- $part := "[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*" }}
{{- if regexMatch `(?i)your[-_. ]?(own[-_. ]?)?(registry|repo|org|company|project)|change[-_]?me|[<>{}$]|[.][.][.]` .repository }}
- image.repository: {{ quote .repository }} is a placeholder: build the image, push it to a registry that your nodes can pull from, and name that (docs/guides/platform-engineer.md, "An image")
{{- else }}
{{- include "lnamespace.mismatches" (list (list "image.repository" .repository (printf "^(%s(:[0-9]+)?/)?%s(/%s)*$" (include "lnamespace.dnsName" .) $part $part) "a repository in lower case without tag and digest, such as registry.internal/lnamespace") ) }}
{{- end }}
{{- include "lnamespace.mismatches" (list
  (list "image.tag" (.tag | default "") "^([A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?$" "a tag: at most 128 letters, digits, '_', '.' or '-'; or empty for the chart's version")
  (list "image.digest" (.digest | default "") "^(sha256:[0-9a-f]{64})?$" "sha256: and 64 hexadecimal digits, or empty")) }}
{{- end }}

{{/* Where the ledger writes. */}}
{{- define "lnamespace.wrongLedger" -}}
{{- $name := printf "^%s$" (include "lnamespace.dnsName" .) }}
{{- $secret := .urlSecret | default dict }}
{{- $checks := list
  (list "ledger.urlSecret.name" ($secret.name | default "none") $name "the name of a Secret, or empty")
  (list "ledger.urlSecret.key" ($secret.key | default "url") "^[-._a-zA-Z0-9]+$" "a key of a Secret: letters, digits, '-', '_' or '.'")
  (list "ledger.table" .table "^[^.[:cntrl:]]+([.][^.[:cntrl:]]+){0,2}$" "NAME, SCHEMA.NAME or PROJECT.DATASET.NAME")
  (list "ledger.persistence.size" .persistence.size "^[1-9][0-9]*([.][0-9]+)?(k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$" "a quantity, such as 1Gi")
  (list "ledger.persistence.storageClassName" (.persistence.storageClassName | default "none") $name "the name of a StorageClass, or empty for the cluster's default one")
}}
{{- if and .enabled .deploy (not $secret.name) }}
{{- if regexMatch "^(sqlite|duckdb)" .url }}
{{- $checks = append $checks (list "ledger.url" .url "^(sqlite|duckdb):////var/lib/lnamespace/[^/?#]+([?].*)?$" "a file in the ledger's volume, such as sqlite:////var/lib/lnamespace/ledger.db") }}
{{- else if not (regexMatch `^(postgresql([+]psycopg)?|bigquery)://[^/?#\s]` .url) }}
- ledger.url: {{ regexReplaceAll "//[^/]*@" .url "//...@" | quote }} must begin with sqlite:////, postgresql+psycopg://HOST, duckdb://// or bigquery://PROJECT (docs/ledger.md)
{{- end }}
{{- end }}
{{- include "lnamespace.mismatches" $checks }}
{{- end }}

{{/* What the gateway cannot serve. */}}
{{- define "lnamespace.wrongGateway" -}}
{{- if .enabled }}
{{- if not .host }}
- gateway.host: must be the host under which people reach the gateway, such as lclusters.example.com
{{- end }}
{{- if eq (int .port) (int .healthPort) }}
- gateway.healthPort: {{ .healthPort }} must be another port than gateway.port
{{- end }}
{{- if and .networkPolicy.enabled (not .networkPolicy.from) }}
- gateway.networkPolicy.from: must say where people come from: nobody could reach the gateway
{{- end }}
{{- if and .caBundle (not (hasPrefix "-----BEGIN CERTIFICATE-----" (trim .caBundle))) }}
- gateway.caBundle: must be certificates in PEM
{{- end }}
{{- if and .certManager.enabled .certificateSecret }}
- gateway.certificateSecret: {{ .certificateSecret | quote }} must be empty where gateway.certManager.enabled is true
{{- end }}
{{- if and .caBundle .deploy (not (or .certManager.enabled .certificateSecret)) }}
- gateway.caBundle: must be empty where the gateway makes its own certificate, whose CA it tells by itself; for one of yours name its Secret in gateway.certificateSecret
{{- end }}
{{- with .certManager.issuerRef }}
{{- if not .name }}
- gateway.certManager.issuerRef: {{ toJson . }} must have a name, and a kind where it is no Issuer; or be empty for one of our own
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* What the webhook would refuse to start with. */}}
{{- define "lnamespace.wrongPayers" -}}
{{- if and .default (not .default.costCenter) }}
- payers.default: must have a costCenter, for somebody must pay
{{- end }}
{{- range $i, $entry := .entries }}
{{- $who := pick $entry "user" "group" "groupPattern" | values | compact }}
{{- if ne (len $who) 1 }}
- payers.entries[{{ $i }}]: must have one of user, group and groupPattern
{{- end }}
{{- if not (or $entry.groupPattern ($entry.billing | default dict).costCenter) }}
- payers.entries[{{ $i }}]: must have a billing.costCenter, for somebody must pay
{{- end }}
{{- end }}
{{- end }}

{{/* Guard rails and rules for labels. */}}
{{- define "lnamespace.wrongProfiles" -}}
{{- $checks := list }}
{{- range $name, $profile := .profiles }}
{{- $checks = append $checks (list "profiles" $name (printf "^%s$" (include "lnamespace.dnsLabel" $)) "named by at most 63 lower case letters, digits and '-'") }}
{{- if has $name (list "editor" "sudoer-impersonator") }}
- profiles: {{ quote $name }} must be named otherwise: a role of an LNamespace ends so
{{- end }}
{{- if gt (len $name) 63 }}
- profiles: {{ quote $name }} must be named by at most 63 lower case letters, digits and '-'
{{- end }}
{{- $labels := ($profile | default dict).labels | default dict }}
{{- $path := printf "profiles.%s.labels" $name }}
{{- include "lnamespace.wrongLabels" (dict "path" $path "labels" $labels) }}
{{- include "lnamespace.takenKeys" (dict "path" $path "keys" (keys $labels)) }}
{{- end }}
{{- include "lnamespace.mismatches" $checks }}
{{- range $list := list "forbiddenLabels" "requiredLabels" }}
{{- $given := get $ $list }}
{{- include "lnamespace.takenKeys" (dict "path" $list "keys" (kindIs "map" $given | ternary $given (dict) | keys | concat (kindIs "slice" $given | ternary $given list))) }}
{{- end }}
{{- include "lnamespace.wrongKeys" (dict "path" "requiredLabels" "keys" (keys .requiredLabels) "what" "a label") }}
{{- range $key, $pattern := .requiredLabels }}
{{- /* With an empty alternative it matches everything, unless it cannot be read. */}}
{{- if not (regexMatch (printf "%s|" $pattern) "") }}
- requiredLabels.{{ $key }}: {{ quote $pattern }} must be a regular expression (RE2)
{{- end }}
{{- range $rule := $.forbiddenLabels }}
{{- if or (eq $key $rule) (and (hasSuffix "/" $rule) (hasPrefix $rule $key)) }}
- requiredLabels: {{ quote $key }} is forbidden by forbiddenLabels ({{ $rule }}): no LNamespace could have it
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Lists of labels or annotations, or of prefixes of such. Takes a dict of path, rules and what. */}}
{{- define "lnamespace.wrongLabelRules" -}}
{{- $checks := list }}
{{- range $i, $rule := .rules }}
{{- $checks = append $checks (list (printf "%s[%d]" $.path $i) $rule "^[A-Za-z0-9._/-]+$" (printf "the key of %s, or a prefix that ends in /" ($.what | default "a label"))) }}
{{- end }}
{{- include "lnamespace.mismatches" $checks }}
{{- end }}

{{/* Which instance this is, whom it is for and by which names. */}}
{{- define "lnamespace.wrongInstance" -}}
{{- $v := .Values }}
{{- $service := "^[a-z]([-a-z0-9]{0,49}[a-z0-9])?$" }}
{{- $serviceWords := "at most 51 lower case letters, digits and '-', a letter first" }}
{{- $format := $v.sudoersGroupFormat | default "{name}" }}
{{- /* The first chart's default, which copies of its values still say. */}}
{{- $runbook := eq (toString $v.monitoring.prometheusRule.runbook) "docs/runbook.md" | ternary "" $v.monitoring.prometheusRule.runbook }}
{{- $checks := list
  (list "apiGroupSuffix" $v.apiGroupSuffix (printf "^%s$" (include "lnamespace.dnsName" .)) "a DNS name in lower case, such as example.com")
  (list "usersRole" $v.usersRole "^[A-Za-z0-9:._@-]+$" "the name of a ClusterRole, such as admin")
  (list "sudoersGroupFormat" $format "^[A-Za-z0-9:._@/#-]*[{]name[}][A-Za-z0-9:._@/#-]*$" "empty, or a text with {name} in it once, of letters, digits and : . _ @ / # -")
  (list "serviceAccount.name" $v.serviceAccount.name $service $serviceWords)
  (list "webhook.name" $v.webhook.name $service $serviceWords)
  (list "ledger.name" $v.ledger.name $service $serviceWords)
  (list "gateway.name" $v.gateway.name $service $serviceWords)
  (list "gateway.host" ($v.gateway.host | default "example.com") (printf "^%s$" (include "lnamespace.dnsName" .)) "a DNS name in lower case, such as lclusters.example.com")
  (list "webhook.url" ($v.webhook.url | default "") `^(https://([^/?#@:\s\[\]]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/[^?#@\s]*)?)?$` "https://HOST or https://HOST:PORT, without user, query and fragment; or empty for the Service")
  (list "monitoring.prometheusRule.runbook" ($runbook | default "") `^(https?://[^\s#/][^\s#]*)?$` "the address of a page, such as https://docs.example.com/runbook.html; or empty")
  (list "monitoring.serviceMonitor.scrapeTimeout" ($v.monitoring.serviceMonitor.scrapeTimeout | default "1s") "^[1-9][0-9]*(s|m)$" "seconds or minutes, such as 10s; or empty")
  (list "monitoring.serviceMonitor.interval" $v.monitoring.serviceMonitor.interval "^[1-9][0-9]*(s|m)$" "seconds or minutes, such as 30s")
}}
{{- range $i, $class := $v.controller.classNames }}
{{- $checks = append $checks (list (printf "controller.classNames[%d]" $i) $class "^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$" "at most 40 lower case letters, digits and '-'") }}
{{- end }}
{{- range $i, $name := $v.reservedNames }}
{{- $checks = append $checks (list (printf "reservedNames[%d]" $i) $name "^[a-z0-9*?-]+$" "a name of a namespace, where * and ? stand for others") }}
{{- end }}
{{- include "lnamespace.mismatches" $checks }}
{{- if regexMatch "(^|[.])(k8s|kubernetes)[.]io$" $v.apiGroupSuffix }}
- apiGroupSuffix: {{ quote $v.apiGroupSuffix }} must be a domain of yours: the API server keeps k8s.io and kubernetes.io for Kubernetes itself
{{- end }}
{{- if regexMatch "^(system:|(s|sy|sys|syst|syste|system)?[{]name[}].*:)" $format }}
- sudoersGroupFormat: {{ quote $format }} must not make a group that begins with system:, which is Kubernetes' own; also not for an LNamespace called system
{{- end }}
{{- if has "system:unauthenticated" $v.authenticated.groups }}
- authenticated.groups: "system:unauthenticated" must not be among them: anybody who reaches the API server could create namespaces without logging in
{{- end }}
{{- end }}

{{/* All that is wrong, a line each. */}}
{{- define "lnamespace.problems" -}}
{{- $v := .Values }}
{{- include "lnamespace.wrongInstance" . }}
{{- include "lnamespace.collidingNames" . }}
{{- include "lnamespace.wrongPeople" (dict "path" "authenticated.groups" "names" $v.authenticated.groups) }}
{{- include "lnamespace.wrongPeople" (dict "path" "policies.neverImpersonate" "names" $v.policies.neverImpersonate) }}
{{- include "lnamespace.wrongImage" $v.image }}
{{- include "lnamespace.wrongLedger" $v.ledger }}
{{- include "lnamespace.wrongPayers" $v.payers }}
{{- include "lnamespace.wrongProfiles" $v }}
{{- include "lnamespace.wrongLabelRules" (dict "path" "policies.protectedNamespaceLabels" "rules" $v.policies.protectedNamespaceLabels) }}
{{- include "lnamespace.wrongLabelRules" (dict "path" "policies.foreignLabels" "rules" $v.policies.foreignLabels) }}
{{- include "lnamespace.wrongLabelRules" (dict "path" "policies.aggregationLabels" "rules" $v.policies.aggregationLabels) }}
{{- $allowed := list }}
{{- range $list := list "csiDrivers" "provisioners" "ingressControllers" "runtimeHandlers" "definitionGroups" "priorityClasses" "tolerationKeys" "noEndpoints" "noKindNames" }}
{{- range $i, $name := get $v.gateway.allow $list }}
{{- $allowed = append $allowed (list (printf "gateway.allow.%s[%d]" $list $i) $name "^[A-Za-z0-9._:/-]+$" "letters, digits, '.', '-', '_', ':' and '/'") }}
{{- end }}
{{- end }}
{{- range $list := list "storageClasses" "ingressClasses" "priorityClasses" "runtimeClasses" "deviceClasses" "volumeAttributesClasses" "clusterRoles" }}
{{- range $i, $name := get $v.gateway.published $list }}
{{- $allowed = append $allowed (list (printf "gateway.published.%s[%d]" $list $i) $name "^[A-Za-z0-9._:-]*[*]?$" "a name, or the beginning of names with a * at the end") }}
{{- end }}
{{- end }}
{{- range $i, $custom := $v.gateway.published.customResources }}
{{- range $j, $plural := $custom.namespaced }}
{{- $allowed = append $allowed (list (printf "gateway.published.customResources[%d].namespaced[%d]" $i $j) $plural (printf "^%s$" (include "lnamespace.dnsName" $)) "the plural of a kind, such as certificates") }}
{{- end }}
{{- end }}
{{- include "lnamespace.mismatches" $allowed }}
{{- range $list := list "protectedNamespaceAnnotations" "foreignAnnotations" }}
{{- include "lnamespace.wrongLabelRules" (dict "path" (printf "policies.%s" $list) "rules" (get $v.policies $list) "what" "an annotation") }}
{{- end }}
{{- include "lnamespace.wrongLabelRules" (dict "path" "forbiddenLabels" "rules" $v.forbiddenLabels) }}
{{- include "lnamespace.wrongLabels" (dict "path" "commonLabels" "labels" $v.commonLabels) }}
{{- include "lnamespace.keptLabels" (dict "path" "commonLabels" "labels" $v.commonLabels) }}
{{- include "lnamespace.wrongLabels" (dict "path" "monitoring.prometheusRule.alertLabels" "labels" $v.monitoring.prometheusRule.alertLabels) }}
{{- include "lnamespace.wrongGateway" $v.gateway }}
{{- if and $v.gateway.enabled $v.gateway.allow.noEndpoints (semverCompare "<1.31.0-0" .Capabilities.KubeVersion.Version) }}
- gateway.allow.noEndpoints: needs Kubernetes 1.31 or later, whose policies know addresses; this is {{ .Capabilities.KubeVersion.Version }}
{{- end }}
{{- range $part := list "controller" "webhook" "ledger" "gateway" }}
{{- include "lnamespace.wrongPod" (dict "path" $part "values" (get $v $part)) }}
{{- include "lnamespace.labelsTwice" (dict "path" (printf "%s.podLabels" $part) "labels" (get $v $part).podLabels "common" $v.commonLabels) }}
{{- end }}
{{- range $path, $found := dict "serviceAccount.annotations" $v.serviceAccount.annotations "webhook.annotations" $v.webhook.annotations "ledger.annotations" $v.ledger.annotations "gateway.annotations" $v.gateway.annotations "gateway.service.annotations" $v.gateway.service.annotations }}
{{- include "lnamespace.wrongKeys" (dict "path" $path "keys" (keys ($found | default dict)) "what" "an annotation") }}
{{- end }}
{{- range $part := list "serviceMonitor" "prometheusRule" "dashboard" }}
{{- include "lnamespace.wrongLabels" (dict "path" (printf "monitoring.%s.labels" $part) "labels" (get $v.monitoring $part).labels) }}
{{- include "lnamespace.labelsTwice" (dict "path" (printf "monitoring.%s.labels" $part) "labels" (get $v.monitoring $part).labels "common" $v.commonLabels) }}
{{- end }}
{{- with $v.webhook.certManager.issuerRef }}
{{- if not .name }}
- webhook.certManager.issuerRef: {{ toJson . }} must have a name, and a kind where it is no Issuer; or be empty for one of our own
{{- end }}
{{- end }}
{{- if eq (int $v.webhook.port) (int $v.webhook.healthPort) }}
- webhook.healthPort: {{ $v.webhook.healthPort }} must be another port than webhook.port
{{- end }}
{{- if and $v.webhook.networkPolicy.enabled $v.webhook.hostNetwork }}
- webhook.networkPolicy.enabled: must be false with webhook.hostNetwork: a NetworkPolicy is for pods, and would not hold for these
{{- end }}
{{- if and $v.webhook.networkPolicy.enabled (not $v.webhook.networkPolicy.from) }}
- webhook.networkPolicy.from: must say where the API servers are: nobody could reach the webhook
{{- end }}
{{- end }}
