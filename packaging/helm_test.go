package packaging

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

const (
	chart = "helm/understudy"
	// kubernetesVersion is a version with schemas in kubernetes-validate.
	kubernetesVersion = "1.33"
)

// values are the settings of a chart.
type values = map[string]any

// charts are settings for which the chart is rendered and checked against the schemas of
// Kubernetes.
var charts = []struct {
	name   string
	values values
	want   []string // in the manifests
}{
	{"defaults", nil, []string{"--advertise=http://understudy.$(POD_NAMESPACE).svc:8080", "--data=/data/state", "volumeClaimTemplates"}},
	{"a control token", values{"controlToken": "t"}, []string{"kind: Secret", `control-token: "t"`, "UNDERSTUDY_CONTROL_TOKEN"}},
	{"a secret that exists", values{"existingSecret": "mine"}, []string{"name: mine"}},
	{"without storage", values{"storage": values{"enabled": false, "size": "1Gi"}}, []string{"emptyDir"}},
	{"another volume", values{"storage": values{"enabled": true, "size": "5Gi", "className": "fast"}}, []string{"--data=/data/state", "storageClassName: fast", "storage: 5Gi"}},
	{"a certificate", values{"tls": values{"secretName": "cert"}}, []string{"--advertise=https://understudy.$(POD_NAMESPACE).svc:8080", "--tls-cert=/tls/tls.crt", "scheme: HTTPS", "secretName: cert"}},
	{"a fleet", values{"fleet": values{"nats": "nats://a:4222,b:4222", "replicas": 5, "secret": "s"}}, []string{
		"kind: Deployment", "replicas: 5", `"--data=nats://a:4222,b:4222"`, "--advertise=http://$(POD_IP):8080", `fleet-secret: "s"`, "UNDERSTUDY_FLEET_SECRET", "status.podIP",
	}},
	{"a fleet with a secret that exists and a certificate", values{"fleet": values{"nats": "nats://a:4222", "replicas": 2, "secret": ""}, "existingSecret": "mine", "tls": values{"secretName": "cert"}}, []string{
		"--advertise=https://$(POD_IP):8080", "name: mine", "key: fleet-secret",
	}},
	{"everything else", values{
		"advertise": "https://understudy.example", "flags": []any{"--clock=manual"}, "nodeSelector": values{"disk": "ssd"},
		"tolerations": []any{values{"key": "ci", "operator": "Exists"}}, "service": values{"type": "NodePort", "port": 80},
	}, []string{"--advertise=https://understudy.example", "--clock=manual", "disk: ssd", "key: ci", "type: NodePort"}},
}

func TestPackagingKubernetes(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	for _, c := range charts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := rendered(t, c.values)
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			if out, err := python(t, "kubernetes_validate", "--strict", "-k", kubernetesVersion, write(t, "manifests.yaml", text)); err != nil {
				t.Errorf("%v\n%s\n%s", err, out, text)
			}
		})
	}
	t.Run("a mistake is found", func(t *testing.T) {
		t.Parallel()
		text := strings.Replace(rendered(t, nil), "readOnlyRootFilesystem", "readOnlyRoot", 1)
		if out, err := python(t, "kubernetes_validate", "--strict", "-k", kubernetesVersion, write(t, "manifests.yaml", text)); err == nil {
			t.Errorf("nothing was found\n%s", out)
		}
	})
}

// TestGeneratedManifests compares the manifests for kubectl with the rendered chart.
func TestGeneratedManifests(t *testing.T) {
	t.Parallel()
	expect.Generated(t, "kubernetes/understudy.yaml", "# The chart in packaging/helm with its defaults: kubectl apply -f packaging/kubernetes/understudy.yaml\n"+
		strings.ReplaceAll(rendered(t, nil), "managed-by: Helm", "managed-by: kubectl"))
}

// TestPackagingHelm compares the rendered charts with Helm, whose path is in HELM.
func TestPackagingHelm(t *testing.T) {
	effort.Long(t, "builds or installs packages")
	t.Parallel()
	helm := os.Getenv("HELM")
	if helm == "" {
		t.Skip("HELM is not set: it must be the path of helm")
	}
	for _, c := range charts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			chosen, err := yaml.Marshal(c.values)
			expect.NoError(t, err)
			settings := write(t, "values.yaml", string(chosen))
			if out, err := exec.CommandContext(t.Context(), helm, "lint", "--strict", "--values", settings, chart).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			out, err := exec.CommandContext(t.Context(), helm, "template", "understudy", "--values", settings, chart).Output()
			expect.NoError(t, err)
			text := strings.ReplaceAll(string(out), "\n\n---", "\n---") // versions of Helm differ in blank lines
			if diff := cmp.Diff(strings.Trim(text, "\n"), strings.Trim(rendered(t, c.values), "\n")); diff != "" {
				t.Errorf("Helm -, here +:\n%s", diff)
			}
		})
	}
}

// rendered is the output of `helm template understudy` for settings that override the
// defaults. Building Helm takes three minutes, so the few functions that the templates use
// are implemented here; TestPackagingHelm compares the results.
func rendered(t *testing.T, more values) string {
	t.Helper()
	settings := values{}
	read(t, filepath.Join(chart, "values.yaml"), &settings)
	for key, value := range more {
		if _, ok := settings[key]; !ok {
			t.Fatalf("the chart has no value %q", key)
		}
		settings[key] = value
	}
	var about struct {
		Name       string
		AppVersion string `yaml:"appVersion"`
	}
	read(t, filepath.Join(chart, "Chart.yaml"), &about)
	text, err := yaml.Marshal(settings)
	expect.NoError(t, err)
	if out, err := validate(t, filepath.Join(chart, "values.schema.json"), write(t, "values.yaml", string(text))); err != nil {
		t.Errorf("the schema of the values refuses these: %v\n%s", err, out)
	}
	templates := template.New("chart").Option("missingkey=error")
	templates.Funcs(helmFunctions(templates))
	expect.NoError(t, expect.ErrorOf(templates.ParseGlob(filepath.Join(chart, "templates/*.*"))))
	data := values{
		"Values": settings, "Chart": about,
		"Release": values{"Name": "understudy", "Namespace": "default", "Service": "Helm"},
	}
	var all strings.Builder
	for _, name := range []string{"secret.yaml", "service.yaml", "deployment.yaml", "statefulset.yaml"} {
		var one strings.Builder
		expect.NoError(t, templates.ExecuteTemplate(&one, name, data))
		if text := strings.Trim(one.String(), "\n"); text != "" {
			fmt.Fprintf(&all, "---\n# Source: understudy/templates/%s\n%s\n", name, text)
		}
	}
	if err := templates.ExecuteTemplate(&strings.Builder{}, "NOTES.txt", data); err != nil {
		t.Error(err)
	}
	return all.String()
}

// helmFunctions are the functions of Helm that the templates use.
func helmFunctions(templates *template.Template) template.FuncMap {
	return template.FuncMap{
		"contains": func(part, text string) bool { return strings.Contains(text, part) },
		"default": func(otherwise, value any) any {
			if truth, _ := template.IsTrue(value); truth {
				return value
			}
			return otherwise
		},
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := templates.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"nindent": func(n int, text string) string {
			indent := "\n" + strings.Repeat(" ", n)
			return indent + strings.ReplaceAll(text, "\n", indent)
		},
		"quote": func(value any) string { return fmt.Sprintf("%q", fmt.Sprint(value)) },
		"toYaml": func(value any) (string, error) {
			var b bytes.Buffer
			e := yaml.NewEncoder(&b)
			e.SetIndent(2)
			err := e.Encode(value)
			return strings.TrimSuffix(b.String(), "\n"), err
		},
		"replace":    func(old, by, text string) string { return strings.ReplaceAll(text, old, by) },
		"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
		"trunc":      func(n int, text string) string { return text[:min(n, len(text))] },
	}
}
