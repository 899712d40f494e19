package control_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/control"
)

const nodeTrace = `TypeError: Cannot read properties of undefined (reading 'total')
    at /app/node_modules/express/lib/router/layer.js:95:5
    at Object.next (node:internal/process/task_queues:95:5)
    at async charge (/app/src/orders/charge.ts:41:18)
    at async /app/src/server.ts:12:3`

const pythonTrace = `Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/flask/app.py", line 880, in full_dispatch_request
    rv = self.dispatch_request()
  File "/srv/shop/orders.py", line 17, in charge
    total = order["total"]
  File "/usr/lib/python3.12/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
KeyError: 'total'`

const goTrace = `goroutine 12 [running]:
runtime/debug.Stack()
	/usr/local/go/src/runtime/debug/stack.go:26 +0x5e
main.charge({0x7f, 0x1})
	/home/dev/shop/charge.go:33 +0x1c5
net/http.HandlerFunc.ServeHTTP(0x0?)
	/usr/local/go/src/net/http/server.go:2171 +0x29`

const javaTrace = `java.lang.IllegalStateException: no paper
	at java.base/java.util.Optional.orElseThrow(Optional.java:403)
	at org.springframework.web.Dispatch.run(Dispatch.java:12)
	at com.shop.Label.print(Label.java:27)`

func TestFind(t *testing.T) {
	t.Parallel()
	inJSON, _ := json.Marshal(map[string]any{"error": "TypeError", "message": "no", "stack": nodeTrace})
	asLines, _ := json.Marshal(map[string]any{"exception": map[string]any{"trace": strings.Split(pythonTrace, "\n")}})
	for name, c := range map[string]struct{ body, own, lacks string }{
		"JavaScript":              {nodeTrace, "at async charge (/app/src/orders/charge.ts:41:18)", ""},
		"a member of JSON":        {string(inJSON), "at async charge (/app/src/orders/charge.ts:41:18)", "message"},
		"an error page":           {"<html><pre>" + strings.ReplaceAll(strings.ReplaceAll(nodeTrace, "'", "&#39;"), "\n", "<br>") + "</pre></html>", "at async charge (/app/src/orders/charge.ts:41:18)", "<br>"},
		"Python, innermost last":  {pythonTrace, `File "/srv/shop/orders.py", line 17, in charge`, ""},
		"lines in a list of JSON": {string(asLines), `File "/srv/shop/orders.py", line 17, in charge`, ""},
		"Go":                      {goTrace, "/home/dev/shop/charge.go:33 +0x1c5", ""},
		"Java":                    {javaTrace, "at com.shop.Label.print(Label.java:27)", ""},
		"Ruby":                    {"boom (RuntimeError)\n/var/gems/rack-3/lib/rack.rb:4:in `call'\n/app/label.rb:9:in `print'", "/app/label.rb:9:in `print'", ""},
		"PHP":                     {"Error: boom\n#0 /app/vendor/x/y.php(3): f()\n#1 /app/label.php(12): g()\n#2 {main}", "#1 /app/label.php(12): g()", ""},
		".NET":                    {"System.Exception: boom\n   at System.Linq.First() in /_/src/Linq.cs:line 3\n   at Shop.Label.Print() in /src/Label.cs:line 12", "at Shop.Label.Print() in /src/Label.cs:line 12", ""},
		"only foreign calls":      {"Error: boom\n    at x (/app/node_modules/a/b.js:1:2)", "", ""},
		"an error page of Express, with its spaces":          {"<pre>Error: boom<br> &nbsp; &nbsp;at Layer.handle (/app/node_modules/express/layer.js:95:5)<br> &nbsp; &nbsp;at /app/server.js:10:9</pre>", "at /app/server.js:10:9", ""},
		"the code of a CommonJS module":                      {"Error: boom\n    at run (/app/node_modules/a/b.js:1:2)\n    at Object.<anonymous> (/app/server.js:3:9)", "at Object.<anonymous> (/app/server.js:3:9)", ""},
		"a path with spaces":                                 {"Error: boom\n    at run (/my app/node_modules/a/b.js:1:2)\n    at charge (/my app/src/charge.ts:3:9)", "at charge (/my app/src/charge.ts:3:9)", ""},
		"modules of webpack":                                 {"Error: boom\n    at WorkflowContext.run (webpack-internal:///(rsc)/./node_modules/@a/b/c.mjs:1:2)\n    at eval (webpack-internal:///(rsc)/./app/api/route.ts:3:9)", "at eval (webpack-internal:///(rsc)/./app/api/route.ts:3:9)", ""},
		"a client library that is bundled with the endpoint": {"Error: boom\n    at LazyFunctionStep.getResultStep (file:///app/dist/index.mjs:1294:16)\n    at async _AutoExecutor.addStep (file:///app/dist/index.mjs:2186:20)\n    at async WorkflowContext.run (file:///app/dist/index.mjs:2904:12)\n    at async charge (file:///app/dist/index.mjs:9:3)", "at async charge (file:///app/dist/index.mjs:9:3)", ""},
		"a client library in the cache of Deno":              {"Error: boom\n    at run (file:///root/.cache/deno/npm/registry.npmjs.org/@a/workflow/1.3.3/c.mjs:1:2)\n    at charge (file:///app/main.ts:3:9)", "at charge (file:///app/main.ts:3:9)", ""},
		"a client library at a URL":                          {"Error: boom\n    at run (https://esm.sh/@a/workflow@1.3.3/es2022/c.mjs:1:2)\n    at charge (file:///app/main.ts:3:9)", "at charge (file:///app/main.ts:3:9)", ""},
		"a client library in the cache of Bun":               {"Error: boom\n    at run (/root/.bun/install/cache/@a/workflow@1.3.3/c.mjs:1:2)\n    at charge (/app/main.ts:3:9)", "at charge (/app/main.ts:3:9)", ""},
		"a Python package outside of site-packages":          {strings.Replace(pythonTrace, "/usr/lib/python3.12/json/__init__.py", "/opt/python/acme_workflow/context/context.py", 1), `File "/srv/shop/orders.py", line 17, in charge`, ""},
		"a Go binary without the paths of its build":         {"goroutine 1 [running]:\nruntime/debug.Stack()\n\truntime/debug/stack.go:26 +0x5e\nx.Y()\n\tgithub.com/x/y@v1.2.3/y.go:4 +0x1\nmain.charge()\n\tshop/charge.go:33 +0x1c5\nnet/http.F()\n\tnet/http/server.go:2171 +0x29", "shop/charge.go:33 +0x1c5", ""},
		"a group of exceptions in Python":                    {"  + Exception Group Traceback (most recent call last):\n  |   File \"/v/lib/python3.12/site-packages/anyio/x.py\", line 8, in f\n  | ExceptionGroup: (1)\n  +-+---------------- 1 ----------------\n    |   File \"/srv/shop/orders.py\", line 17, in charge\n    |   File \"/v/lib/python3.12/site-packages/a/b.py\", line 3, in g\n", `File "/srv/shop/orders.py", line 17, in charge`, ""},
		"code about vendors":                                 {"Error: boom\n    at pay (/app/src/vendor/pay.ts:1:2)", "at pay (/app/src/vendor/pay.ts:1:2)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trace, ok := control.FindTrace([]byte(c.body))
			if !ok {
				t.Fatal("got no trace, want one")
			}
			expect.Equal(t, "first own line", trace.Own, c.own)
			if c.lacks != "" {
				expect.Lacks(t, "the trace", trace.Text, c.lacks)
			}
		})
	}
	for name, body := range map[string]string{
		"nothing":            "",
		"a text":             "the printer is on fire",
		"bytes":              "\xff\xfe\x00",
		"JSON without one":   `{"error":"no","at":"10:30"}`,
		"a text that has at": "look at the printer (room 3:12)",
	} {
		t.Run("no trace in "+name, func(t *testing.T) {
			t.Parallel()
			if trace, ok := control.FindTrace([]byte(body)); ok {
				t.Errorf("got %q, want none", trace.Text)
			}
		})
	}
}

func TestTracesAreBounded(t *testing.T) {
	t.Parallel()
	trace, _ := control.FindTrace([]byte("Error: é\n" + strings.Repeat("    at é (/app/é.js:1:2)\n", 5000)))
	if got, most := len(trace.Text), 17<<10; got > most {
		t.Errorf("bytes of the trace: got %d, want at most %d", got, most)
	}
	trace, _ = control.FindTrace([]byte("Traceback (most recent call last):\n" + strings.Repeat("  File \"/v/site-packages/é.py\", line 1, in é\n", 1000) + "  File \"/srv/own.py\", line 2, in charge\n    no()\nKeyError: 'total'"))
	if got, most := len(trace.Text), 17<<10; got > most {
		t.Errorf("bytes of the Python trace: got %d, want at most %d", got, most)
	}
	expect.Contains(t, "the Python trace", trace.Text, "KeyError: 'total'")
}
