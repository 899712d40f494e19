package target

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/expect"
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

// TestTargetMistakes: each names the line and the key, and never shows a secret.
func TestTargetMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, want string }{
		{"apiVersion: conformance/v1\n", "", "t.yaml:1: apiVersion: the key is missing"},
		{"conformance/v1", "conformance/v2", `t.yaml:1: apiVersion: "conformance/v2": accepted is conformance/v1`},
		{"target:\n  name: acme", "targt:\n  name: acme", `t.yaml:3: targt: unknown key; did you mean "target"?`},
		{"  name: acme\n", "", "t.yaml:4: target.name: the key is missing"},
		{"name: acme", "name: [acme]", "t.yaml:4: target.name: accepted is"},
		{"name: acme", "nam: acme", `t.yaml:4: target.nam: unknown key; did you mean "name"?`},
		{"https://q.acme.example", "q.acme.example", `t.yaml:6: target.urls.base: "q.acme.example": accepted is an http(s) URL`},
		{"https://q.acme.example", "ftp://q.acme.example", "accepted is an http(s) URL"},
		{"https://q.acme.example", "ftp://q.acme.example/a?token=secret-1", `target.urls.base: "ftp://q.acme.example": accepted is an http(s) URL`},
		{"https://q.acme.example", "https://secret-me:secret-pw@q.acme.example", "accepted is an http(s) URL without user name"},
		{"127.0.0.1:0", "secret-aaaaaaaaaaaaaaaaaaaaaaaa", "receiver.listen: a text of 31 characters: accepted is HOST:PORT"},
		{"https://q.acme.example", "https://me:pw@q.acme.example", "accepted is an http(s) URL without user name"},
		{"    base: https://q.acme.example\n", "    bas: https://q.acme.example\n", "target.urls.bas: unknown key"},
		{"{env: ACME_TOKEN}", "{env: NOBODY}", "t.yaml:8: target.auth.bearer: the environment variable NOBODY is not set"},
		{"{env: ACME_TOKEN}", "{envv: ACME_TOKEN}", "t.yaml:8: target.auth.bearer: accepted is a text, or {env: NAME}"},
		{"{env: ACME_TOKEN}", "[secret-token]", "t.yaml:8: target.auth.bearer: accepted is a text"},
		{"{env: ACME_TOKEN}", "''", "t.yaml:8: target.auth.bearer: accepted is a text"},
		{"username: me, ", "", "t.yaml:9: target.auth.basic.username: the key is missing"},
		{"[MSG, WF-READ]", "[MSG, WF-WRITE]", `t.yaml:10: profiles.1: "WF-WRITE": accepted is one of MSG, GROUP`},
		{"[MSG, WF-READ]", "MSG", `t.yaml:10: profiles: "MSG": accepted is expected array`},
		{"[MSG, WF-READ]", "[MSG, MSG]", "t.yaml:10: profiles: accepted is items at index 0 and 1 are equal"},
		{"flow-resume: auto", "flow-resume: maybe", `t.yaml:12: capabilities.flow-resume: "maybe": accepted is one of true, false, auto`},
		{"method: POST", "method: SEND", `t.yaml:14: bindings.publish.method: "SEND": accepted is one of GET, POST`},
		{`"{n}s"`, `"3s"`, `t.yaml:15: bindings.delay.format: "3s": accepted is a text with {n}`},
		{"logs: {cursor: cursor}", "logs: {cursors: cursor}", `t.yaml:16: bindings.logs.cursors: unknown key; did you mean "cursor"?`},
		{"logs: {cursor: cursor}", "logs: {cursor: 3}", "t.yaml:16: bindings.logs.cursor"},
		{"logs: {cursor: cursor}", "log: {cursor: cursor}", `t.yaml:16: bindings.log: unknown key; did you mean "logs"?`},
		{"pause: {kind: manual}", "pause: {kind: magic}", `t.yaml:18: drivers.pause.kind: "magic": accepted is one of http, exec`},
		{"pause: {kind: manual}", "pause: {}", "t.yaml:18: drivers.pause.kind: the key is missing"},
		{"pause: {kind: manual}", "pawse: {kind: manual}", `t.yaml:18: drivers.pawse: unknown key; did you mean "pause"?`},
		{"pause: {kind: manual}", "pause: {kind: exec}", "t.yaml:18: drivers.pause.command: the key is missing"},
		{"pause: {kind: manual}", "pause: {kind: exec, command: []}", "t.yaml:18: drivers.pause.command"},
		{"pause: {kind: manual}", "pause: {kind: http}", "t.yaml:18: drivers.pause.url: the key is missing"},
		{"pause: {kind: manual}", "pause: {kind: control, url: 'http://x'}", "drivers.pause.kind: control is for the clock only"},
		{"pause: {kind: manual}", "clock: {kind: http, url: 'http://x'}", "drivers.clock.kind: accepted are control and none"},
		{`trigger: {url: "{{base}}/run?id={{runId}}"}`, "url: x", "t.yaml:19: drivers.run.trigger: the key is missing"},
		{`trigger: {url: "{{base}}/run?id={{runId}}"}`, "trigger: {}", "t.yaml:19: drivers.run.trigger.url: the key is missing"},
		{"{{base}}/run", "{{bse}}/run", "t.yaml:19: drivers.run.trigger.url: unknown placeholder {{bse}}; did you mean {{base}}?"},
		{"{{base}}/run", "{{ endpoints }}/run", "t.yaml:19: drivers.run.trigger.url: unknown placeholder {{endpoints}}; must be one of account, base"},
		{"{{base}}/run", "{{}}/run", "t.yaml:19: drivers.run.trigger.url: unknown placeholder {{}}"},
		{"{{base}}/run", "{{vector token}}/run", "t.yaml:19: drivers.run.trigger.url: unknown placeholder {{vector token}}"},
		{"{{base}}/run", "{{kv}}/run", "t.yaml:19: drivers.run.trigger.url: placeholder {{kv}} has no value: set target.urls.kv"},
		{"{{base}}/run", "{{base}}/{{vectorToken}}", "t.yaml:19: drivers.run.trigger.url: placeholder {{vectorToken}} has no value: set target.auth.vector_bearer"},
		{"{{base}}/run?id={{runId}}", "{{base}}/run", "t.yaml:19: drivers.run.trigger: the run has no known id: send {{runId}}, or set result"},
		{"pause: {kind: manual}", "pause: {kind: exec, command: [pause, '{{keys}}']}", "t.yaml:18: drivers.pause.command.1: unknown placeholder {{keys}}; did you mean {{key}}?"},
		{"pause: {kind: manual}", "pause: {kind: http, url: 'http://x', headers: {A: '{{tokn}}'}}", "t.yaml:18: drivers.pause.headers.A: unknown placeholder {{tokn}}; did you mean {{token}}?"},
		{"mode: listen", "mode: liston", `t.yaml:21: receiver.mode: "liston": accepted is one of in-process, listen`},
		{"mode: listen", "mode: advertised", "receiver.public_url: the key is missing; the mode advertised needs it"},
		{"mode: listen", "mode: tunnel", "receiver.tunnel: the key is missing"},
		{"mode: listen", "mode: tunnel\n  tunnel: {command: 'x {port}', url_pattern: '('}", "receiver.tunnel.url_pattern"},
		{"mode: listen", "mode: relay", "receiver.relay: the key is missing"},
		{"mode: listen", "mode: listen\n  tls: {cert: a.pem}", "receiver.tls: cert and key belong together"},
		{"127.0.0.1:0", "127.0.0.1", `t.yaml:22: receiver.listen: "127.0.0.1": accepted is HOST:PORT`},
		{"scale: 1.5", "scale: 0", `t.yaml:24: timing.scale: "0": accepted is`},
		{"scale: 1.5", "scale: fast", `t.yaml:24: timing.scale: "fast": accepted is`},
		{"15s", "15", `t.yaml:25: timing.delivery_budget: "15": accepted is a duration`},
		{"15s", "15 seconds", "t.yaml:25: timing.delivery_budget: \"15 seconds\": accepted is a duration"},
		{"wall: 30m", "walls: 30m", `t.yaml:26: limits.walls: unknown key; did you mean "wall"?`},
		{"prefix: cf", "prefix: c-f", "t.yaml:27: isolation.prefix"},
		{"parallel: 8", "parallel: 0", "t.yaml:27: isolation.parallel"},
		{"parallel: 8", "parallel: 8, parallel: 9", `t.yaml:27: mapping key "parallel" already defined at line 27`},
		{"limits: {wall: 30m}", "limits: {wall: 30m", "t.yaml:"},
		{"limits: {wall: 30m}", "\tlimits: {}", "t.yaml:25: found a tab character"},
		{"isolation", "---\nisolation", "holds a second document"},
		{goodTarget, "", "the file is empty"},
		{goodTarget, "# nothing\n", "t.yaml: EOF"},
		{goodTarget, "[1, 2]", "t.yaml:1: accepted is expected object"},
		{goodTarget, "just text", "t.yaml:1:"},
	} {
		text := strings.Replace(goodTarget, c.from, c.to, 1)
		_, err := parseTarget("t.yaml", []byte(text), testEnv)
		expect.True(expect.Now(t), fmt.Sprintf("%q -> %q: an error", c.from, c.to), err != nil)
		expect.Contains(t, fmt.Sprintf("%q -> %q: error", c.from, c.to), err.Error(), c.want)
		expect.Lacks(t, fmt.Sprintf("%q -> %q: error", c.from, c.to), err.Error(), "secret-")
		expect.Lacks(t, fmt.Sprintf("%q -> %q: error", c.from, c.to), err.Error(), "\n")
	}
}
