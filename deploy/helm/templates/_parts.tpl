{{/* The labels that select the pods of a role. Takes root and role. */}}
{{- define "dunlin.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{/* The labels that Helm's users expect on each object. */}}
{{- define "dunlin.chartLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* The labels of an object of a role. Takes root and role. */}}
{{- define "dunlin.roleLabels" -}}
{{ include "dunlin.selector" . }}
{{ include "dunlin.chartLabels" .root }}
{{- end }}

{{/* The labels of an object of all roles. */}}
{{- define "dunlin.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{ include "dunlin.chartLabels" . }}
{{- end }}

{{- define "dunlin.secretName" -}}
{{ .Values.existingSecret | default .Release.Name }}
{{- end }}

{{/* A port named https makes some ingresses speak TLS, so it is named for what the pods speak. */}}
{{- define "dunlin.protocol" -}}
{{ if eq .Values.settings.DUNLIN_TLS "proxy" }}http{{ else }}https{{ end }}
{{- end }}

{{/* "yes" if requests reach the role from outside. */}}
{{- define "dunlin.isServed" -}}
{{ if or (eq . "api") (eq . "console") }}yes{{ end }}
{{- end }}

{{/* "yes" if an autoscaler sets the number of pods. Takes the values of a role; learn has none. */}}
{{- define "dunlin.isScaled" -}}
{{ with .autoscaling }}{{ if .enabled }}yes{{ end }}{{ end }}
{{- end }}

{{/* Refuses values that contradict each other, which a schema cannot see. */}}
{{- define "dunlin.check" -}}
{{- if and .Values.existingSecret .Values.secret }}
{{- fail "existingSecret names a Secret of yours, and secret makes one. Set one of them." }}
{{- end }}
{{- if eq (quote .Values.settings.DUNLIN_METRICS_PORT) (quote 8443) }}
{{- fail "settings.DUNLIN_METRICS_PORT must not be 8443, the port of the API." }}
{{- end }}
{{- range $role, $values := .Values.roles }}
{{- with $values.autoscaling }}
{{- if and .enabled (lt (int .maxReplicas) (int $values.replicas)) }}
{{- fail (printf "roles.%s.autoscaling.maxReplicas is below roles.%s.replicas." $role $role) }}
{{- end }}
{{- end }}
{{- with $values.budget }}
{{- if and .enabled (ge (int .minAvailable) (int $values.replicas)) }}
{{- fail (printf "roles.%s.budget.minAvailable must be below roles.%s.replicas, else no node can be drained. Raise replicas, or set budget.enabled to false." $role $role) }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.ingress.enabled }}
{{- if ne .Values.settings.DUNLIN_TLS "proxy" }}
{{- fail "The ingress terminates TLS, so settings.DUNLIN_TLS must be \"proxy\"." }}
{{- end }}
{{- if eq (include "dunlin.host" .Values.settings.DUNLIN_BASE_URL) (include "dunlin.host" .Values.settings.DUNLIN_AUTH_URL) }}
{{- fail "The ingress needs different hosts in settings.DUNLIN_BASE_URL and settings.DUNLIN_AUTH_URL." }}
{{- end }}
{{- end }}
{{- end }}

{{/* The host of an address. */}}
{{- define "dunlin.host" -}}
{{ get (urlParse .) "hostname" | lower }}
{{- end }}
