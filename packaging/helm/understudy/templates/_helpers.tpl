{{- define "understudy.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "understudy.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "understudy.labels" -}}
{{ include "understudy.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* The pod fills in its namespace, so that the manifests fit into any. */}}
{{- define "understudy.advertise" -}}
{{ .Values.advertise | default (printf "%s://%s.$(POD_NAMESPACE).svc:%v" (include "understudy.scheme" .) (include "understudy.name" .) .Values.service.port) }}
{{- end }}

{{- define "understudy.scheme" -}}
{{- if .Values.tls.secretName }}https{{ else }}http{{ end }}
{{- end }}

{{- define "understudy.pod" -}}
automountServiceAccountToken: false
terminationGracePeriodSeconds: 30
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
containers:
- name: understudy
  image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
  imagePullPolicy: {{ .Values.image.pullPolicy | default "IfNotPresent" }}
  args:
  - serve
  {{- if .Values.fleet.nats }}
  - --advertise={{ include "understudy.scheme" . }}://$(POD_IP):8080 # how the others reach it
  - {{ printf "--data=%s" .Values.fleet.nats | quote }}
  {{- else }}
  - --advertise={{ include "understudy.advertise" . }}
  {{- end }}
  {{- if and .Values.storage.enabled (not .Values.fleet.nats) }}
  - --data=/data/state
  {{- end }}
  {{- if .Values.tls.secretName }}
  - --tls-cert=/tls/tls.crt
  - --tls-key=/tls/tls.key
  {{- end }}
  {{- range .Values.flags }}
  - {{ . | quote }}
  {{- end }}
  env:
  - name: POD_NAMESPACE
    valueFrom:
      fieldRef:
        fieldPath: metadata.namespace
  {{- if or .Values.controlToken .Values.existingSecret }}
  - name: UNDERSTUDY_CONTROL_TOKEN
    valueFrom:
      secretKeyRef:
        name: {{ .Values.existingSecret | default (include "understudy.name" .) }}
        key: control-token
  {{- end }}
  {{- if .Values.fleet.nats }}
  - name: UNDERSTUDY_FLEET_SECRET
    valueFrom:
      secretKeyRef:
        name: {{ .Values.existingSecret | default (include "understudy.name" .) }}
        key: fleet-secret
  - name: POD_IP
    valueFrom:
      fieldRef:
        fieldPath: status.podIP
  {{- end }}
  ports:
  - name: http
    containerPort: 8080
  startupProbe:
    exec:
      command: [/usr/local/bin/understudy, healthcheck]
    periodSeconds: 1
    failureThreshold: 300 # a million held messages take many seconds to read
  readinessProbe:
    httpGet:
      path: /_understudy/readyz
      port: http
      {{- if .Values.tls.secretName }}
      scheme: HTTPS
      {{- end }}
  livenessProbe:
    httpGet:
      path: /_understudy/livez
      port: http
      {{- if .Values.tls.secretName }}
      scheme: HTTPS
      {{- end }}
    failureThreshold: 6
  resources:
    {{- toYaml .Values.resources | nindent 4 }}
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop: [ALL]
  volumeMounts:
  - name: data
    mountPath: /data
  - name: tmp
    mountPath: /tmp
  {{- if .Values.tls.secretName }}
  - name: tls
    mountPath: /tls
    readOnly: true
  {{- end }}
volumes:
- name: tmp
  emptyDir: {}
{{- if or .Values.fleet.nats (not .Values.storage.enabled) }}
- name: data
  emptyDir: {}
{{- end }}
{{- if .Values.tls.secretName }}
- name: tls
  secret:
    secretName: {{ .Values.tls.secretName }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
