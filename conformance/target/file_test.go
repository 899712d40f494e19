package target

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

const goodTarget = `apiVersion: conformance/v1
spec: 2025-r1
target:
  name: acme
  urls:
    base: https://q.acme.example
  auth:
    bearer: {env: ACME_TOKEN}
    basic: {username: me, password: {env: ACME_KEY}}
profiles: [MSG, WF-READ]
capabilities:
  flow-resume: auto
bindings:
  publish: {method: POST}
  delay: {format: "{n}s"}
  logs: {cursor: cursor}
drivers:
  pause: {kind: manual}
  run: {kind: http, trigger: {url: "{{base}}/run?id={{runId}}"}}
receiver:
  mode: listen
  listen: 127.0.0.1:0
timing:
  scale: 1.5
  delivery_budget: 15s
limits: {wall: 30m}
isolation: {prefix: cf, parallel: 8}
`

func testEnv(name string) (string, bool) {
	v, ok := map[string]string{"ACME_TOKEN": "secret-token", "ACME_KEY": "secret-key"}[name]
	return v, ok
}

func TestTargetLoads(t *testing.T) {
	t.Parallel()
	target, err := parseTarget("t.yaml", []byte(goodTarget), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "bearer token", string(target.Target.Auth.Bearer), "secret-token")
	expect.Equal(t, "scale of time", target.Timing.Scale, 1.5)
	expect.Equal(t, "budget of a delivery", target.Timing.DeliveryBudget.String(), "15s")
	expect.Equal(t, "capability flow-resume", target.Capabilities["flow-resume"], "auto")
	text, err := json.Marshal(target)
	if shown := fmt.Sprintf("%v %+v %s", target, *target, text); err != nil || strings.Contains(shown, "secret-") {
		t.Errorf("a secret shows: %s %v", shown, err)
	}
}

// TestTargetMistakes checks that each error names the line and the key, and contains no secret.
func TestTargetMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, want string }{
		{"apiVersion: conformance/v1\n", "", "t.yaml:1: apiVersion: missing: must be"},
		{"conformance/v1", "conformance/v2", `t.yaml:1: apiVersion: invalid value "conformance/v2": must be conformance/v1`},
		{"target:\n  name: acme", "targt:\n  name: acme", `t.yaml:3: targt: unknown key: must be one of`},
		{"  name: acme\n", "", "t.yaml:4: target.name: missing: must be"},
		{"name: acme", "name: [acme]", "t.yaml:4: target.name: must be"},
		{"name: acme", "nam: acme", `t.yaml:4: target.nam: unknown key: must be one of`},
		{"https://q.acme.example", "q.acme.example", `t.yaml:6: target.urls.base: invalid value "q.acme.example": must be an http(s) URL`},
		{"https://q.acme.example", "ftp://q.acme.example", "must be an http(s) URL"},
		{"https://q.acme.example", "ftp://q.acme.example/a?token=secret-1", `target.urls.base: invalid value "ftp://q.acme.example": must be an http(s) URL`},
		{"https://q.acme.example", "https://secret-me:secret-pw@q.acme.example", "must be an http(s) URL without user name"},
		{"127.0.0.1:0", "secret-aaaaaaaaaaaaaaaaaaaaaaaa", "receiver.listen: invalid value of 31 characters: must be HOST:PORT"},
		{"https://q.acme.example", "https://me:pw@q.acme.example", "must be an http(s) URL without user name"},
		{"    base: https://q.acme.example\n", "    bas: https://q.acme.example\n", "target.urls.bas: unknown key"},
		{"{env: ACME_TOKEN}", "{env: NOBODY}", "t.yaml:8: target.auth.bearer: environment variable NOBODY: not set or empty"},
		{"{env: ACME_TOKEN}", "{envv: ACME_TOKEN}", "t.yaml:8: target.auth.bearer: must be a string, or {env: NAME}"},
		{"{env: ACME_TOKEN}", "[secret-token]", "t.yaml:8: target.auth.bearer: must be a string"},
		{"{env: ACME_TOKEN}", "''", "t.yaml:8: target.auth.bearer: must be a string"},
		{"username: me, ", "", "t.yaml:9: target.auth.basic.username: missing: must be"},
		{"[MSG, WF-READ]", "[MSG, WF-WRITE]", `t.yaml:10: profiles[1]: invalid value "WF-WRITE": must be one of MSG, GROUP`},
		{"[MSG, WF-READ]", "MSG", `t.yaml:10: profiles: invalid value "MSG": must be a list`},
		{"[MSG, WF-READ]", "[MSG, MSG]", "t.yaml:10: profiles: must be a list without duplicates"},
		{"flow-resume: auto", "flow-resume: maybe", `t.yaml:12: capabilities.flow-resume: invalid value "maybe": must be one of true, false, auto`},
		{"flow-resume: auto", "flow-resum: auto", `t.yaml:12: capabilities.flow-resum: unknown key: must be one of flow-resume, publish-query-config, ratelimit, restart-custom-run-id, search-delete; did you mean "flow-resume"?`},
		{"method: POST", "method: SEND", `t.yaml:14: bindings.publish.method: invalid value "SEND": must be one of GET, POST`},
		{`"{n}s"`, `"3s"`, `t.yaml:15: bindings.delay.format: invalid value "3s": must be a string with {n}`},
		{"logs: {cursor: cursor}", "logs: {cursors: cursor}", `t.yaml:16: bindings.logs.cursors: unknown key: must be one of`},
		{"logs: {cursor: cursor}", "logs: {cursor: 3}", "t.yaml:16: bindings.logs.cursor"},
		{"logs: {cursor: cursor}", "log: {cursor: cursor}", `t.yaml:16: bindings.log: unknown key: must be one of`},
		{"pause: {kind: manual}", "pause: {kind: magic}", `t.yaml:18: drivers.pause.kind: invalid value "magic": must be one of http, exec`},
		{"pause: {kind: manual}", "pause: {}", "t.yaml:18: drivers.pause.kind: missing: must be"},
		{"pause: {kind: manual}", "pawse: {kind: manual}", `t.yaml:18: drivers.pawse: unknown key: must be one of`},
		{"pause: {kind: manual}", "pause: {kind: exec}", "t.yaml:18: drivers.pause.command: missing: must be"},
		{"pause: {kind: manual}", "pause: {kind: exec, command: []}", "t.yaml:18: drivers.pause.command"},
		{"pause: {kind: manual}", "pause: {kind: http}", "t.yaml:18: drivers.pause.url: missing: must be"},
		{"pause: {kind: manual}", "pause: {kind: control, url: 'http://x'}", "drivers.pause.kind: invalid value \"control\": must be one of http, exec, manual, none; control is for the clock only"},
		{"pause: {kind: manual}", "clock: {kind: http, url: 'http://x'}", "drivers.clock.kind: invalid value \"http\": must be one of control, none"},
		{`trigger: {url: "{{base}}/run?id={{runId}}"}`, "url: x", "t.yaml:19: drivers.run.trigger: missing: must be"},
		{`trigger: {url: "{{base}}/run?id={{runId}}"}`, "trigger: {}", "t.yaml:19: drivers.run.trigger.url: missing: must be"},
		{"{{base}}/run", "{{bse}}/run", "t.yaml:19: drivers.run.trigger.url: unknown placeholder {{bse}}: must be one of"},
		{"{{base}}/run", "{{ endpoints }}/run", "t.yaml:19: drivers.run.trigger.url: unknown placeholder {{endpoints}}: must be one of account, base"},
		{"{{base}}/run", "{{}}/run", "t.yaml:19: drivers.run.trigger.url: unknown placeholder {{}}"},
		{"{{base}}/run", "{{vector token}}/run", "t.yaml:19: drivers.run.trigger.url: unknown placeholder {{vector token}}"},
		{"{{base}}/run", "{{kv}}/run", "t.yaml:19: drivers.run.trigger.url: placeholder {{kv}} has no value: target.urls.kv must be set"},
		{"{{base}}/run", "{{base}}/{{vectorToken}}", "t.yaml:19: drivers.run.trigger.url: placeholder {{vectorToken}} has no value: target.auth.vector_bearer must be set"},
		{"{{base}}/run?id={{runId}}", "{{base}}/run", "t.yaml:19: drivers.run.trigger: the id of the run is unknown: must send {{runId}}, or have result"},
		{"pause: {kind: manual}", "pause: {kind: exec, command: [pause, '{{keys}}']}", "t.yaml:18: drivers.pause.command[1]: unknown placeholder {{keys}}: must be one of"},
		{"pause: {kind: manual}", "pause: {kind: http, url: 'http://x', headers: {A: '{{tokn}}'}}", "t.yaml:18: drivers.pause.headers.A: unknown placeholder {{tokn}}: must be one of"},
		{"mode: listen", "mode: liston", `t.yaml:21: receiver.mode: invalid value "liston": must be one of in-process, listen`},
		{"mode: listen", "mode: advertised", "receiver.public_url: missing: must be set for mode advertised"},
		{"mode: listen", "mode: tunnel", `receiver.mode: invalid value "tunnel": must be one of`},
		{"mode: listen", "mode: relay", "receiver.relay: missing: must be"},
		{"mode: listen", "mode: listen\n  tls: {cert: a.pem}", "receiver.tls: one of cert and key is missing: must have both or neither"},
		{"127.0.0.1:0", "127.0.0.1", `t.yaml:22: receiver.listen: invalid value "127.0.0.1": must be HOST:PORT`},
		{"scale: 1.5", "scale: 0", `t.yaml:24: timing.scale: invalid value 0: must be`},
		{"scale: 1.5", "scale: fast", `t.yaml:24: timing.scale: invalid value "fast": must be`},
		{"15s", "15", `t.yaml:25: timing.delivery_budget: invalid value 15: must be a duration`},
		{"15s", "15 seconds", "t.yaml:25: timing.delivery_budget: invalid value \"15 seconds\": must be a duration"},
		{"wall: 30m", "walls: 30m", `t.yaml:26: limits.walls: unknown key: must be one of`},
		{"prefix: cf", "prefix: c-f", "t.yaml:27: isolation.prefix"},
		{"parallel: 8", "parallel: 0", "t.yaml:27: isolation.parallel"},
		{"parallel: 8", "parallel: 8, parallel: 9", `t.yaml:27: isolation.parallel: duplicate key: the first is on line 27`},
		{"limits: {wall: 30m}", "limits: {wall: 30m", "t.yaml:"},
		{"limits: {wall: 30m}", "\tlimits: {}", "t.yaml:26: tab in the indentation: must be spaces"},
		{"isolation", "---\nisolation", "second document: the file must have one"},
		{goodTarget, "", "the file is empty"},
		{goodTarget, "# nothing\n", "t.yaml: the file is empty"},
		{goodTarget, "[1, 2]", "t.yaml:1: must be a mapping"},
		{goodTarget, "just text", "t.yaml:1:"},
	} {
		_, err := parseTarget("t.yaml", []byte(strings.Replace(goodTarget, c.from, c.to, 1)), testEnv)
		expect.True(expect.Now(t), fmt.Sprintf("%q -> %q: an error", c.from, c.to), err != nil)
		expect.Contains(t, fmt.Sprintf("%q -> %q: error", c.from, c.to), err.Error(), c.want)
		expect.Lacks(t, fmt.Sprintf("%q -> %q: error", c.from, c.to), err.Error(), "secret-")
		expect.Lacks(t, fmt.Sprintf("%q -> %q: error", c.from, c.to), err.Error(), "\n")
	}
}

// A report names the revision, so it must be the one that the program judges by.
func TestAnotherRevisionIsRefused(t *testing.T) {
	t.Parallel()
	_, err := parseTarget("t.yaml", []byte(strings.Replace(goodTarget, "2025-r1", "2024-r9", 1)), testEnv)
	expect.Equal(t, "error", fmt.Sprint(err), `t.yaml:2: spec: invalid value "2024-r9": must be 2025-r1, the revision that this program judges by`)
}

func TestAListInPlaceOfAFileOfKnownFailures(t *testing.T) {
	t.Parallel()
	_, err := parseTarget("t.yaml", []byte("apiVersion: conformance/v1\ntarget: {name: x, urls: {base: 'http://x'}}\nexpected_failures: [REQ-PUB-001]\n"), nil)
	if want := "t.yaml:3: expected_failures: must be the name of a file, such as baseline.yaml"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
