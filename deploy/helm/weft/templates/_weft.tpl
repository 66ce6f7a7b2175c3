{{- define "weft.labels" -}}
app.kubernetes.io/name: weft
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "weft.controller" -}}
app.kubernetes.io/name: weft
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: controller
{{- end }}

{{/* The image of one program: (list root name). */}}
{{- define "weft.image" -}}
{{- $root := index . 0 -}}
{{ $root.Values.image.registry }}/{{ index . 1 }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}
{{- end }}

{{/* What a container may do: nothing. */}}
{{- define "weft.sandbox" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* The files of secrets as a program wants them: its own, and nobody else can read them. Those of a Secret's volume belong to
     root, and a pod's fsGroup makes them readable for the group. (list root image secrets), the last a list of names. */}}
{{- define "weft.owned-secrets" -}}
{{- $root := index . 0 -}}
- name: secrets
  image: {{ include "weft.image" (list $root (index . 1)) }}
  imagePullPolicy: {{ $root.Values.image.pullPolicy }}
  command: [sh, -ec, "umask 077; find /run/secrets/mounted -mindepth 2 -maxdepth 2 ! -name '..*' -exec cp -L '{}' /run/secrets/weft/ ';'"]
  securityContext:
    {{- include "weft.sandbox" $root | nindent 4 }}
    capabilities: {drop: [ALL]}
  volumeMounts:
    - {name: secrets, mountPath: /run/secrets/weft}
    {{- range index . 2 }}
    - {name: {{ . }}, mountPath: /run/secrets/mounted/{{ . }}, readOnly: true}
    {{- end }}
{{- end }}

{{- define "weft.secret-volumes" -}}
- name: secrets
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{- range . }}
- name: {{ . }}
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- end }}

{{/* A claim of a volume: (list name storage). */}}
{{- define "weft.claim" -}}
{{- $storage := index . 1 -}}
metadata: {name: {{ index . 0 }}}
spec:
  accessModes: [ReadWriteOnce]
  {{- with $storage.className }}
  storageClassName: {{ . }}
  {{- end }}
  resources: {requests: {storage: {{ $storage.size }}}}
{{- end }}

{{- define "weft.route-servers" -}}
{{- $servers := list -}}
{{- range .Values.routeServers -}}
{{- $servers = append $servers (dict "name" .name "address" .address "control" (printf "http://%s:9179" .address)) -}}
{{- end -}}
{{- toJson $servers -}}
{{- end }}
