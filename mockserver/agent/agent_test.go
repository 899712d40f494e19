package agent_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/agent"
	_ "github.com/understudy-mock/understudy/mockserver/complete" // the links of errors
	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/spec"
)

// TestMain fails if a session leaves a goroutine behind.
func TestMain(m *testing.M) {
	parts := control.Attached()
	parts.Agents = func(api http.Handler) http.Handler { return agent.Handler("test", api) }
	control.Attach(parts)
	goleak.VerifyTestMain(m)
}

// session is a client of the tools.
type session struct {
	*mcp.ClientSession

	t testing.TB
}

// connect starts a server, and a session with it over HTTP.
func connect(t testing.TB, query string, cfg ...mockserver.Config) (*mockserver.TestServer, *session) {
	t.Helper()
	u := mockserver.RunT(t, cfg...)
	return u, connected(t, u.URL()+"/_understudy/mcp"+query, http.DefaultTransport)
}

// connected is a session over HTTP.
func connected(t testing.TB, endpoint string, transport http.RoundTripper) *session {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: transport}}, nil)
	expect.NoError(t, err)
	t.Cleanup(func() {
		_ = s.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return &session{s, t}
}

// said is the answer of a tool.
type said struct {
	Result any
	Page   string
	Cursor string
	Cut    string

	text   string
	failed bool
}

// call calls a tool with arguments in JSON.
func (s *session) call(name, arguments string) said {
	s.t.Helper()
	result, err := s.CallTool(s.t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	answer := said{text: text, failed: result.IsError}
	if !result.IsError && json.Unmarshal([]byte(text), &answer) != nil {
		s.t.Fatalf("%s: not JSON: %s", name, text)
	}
	return answer
}

// ok is call for an answer that must not be an error.
func (s *session) ok(name, arguments string) said {
	s.t.Helper()
	answer := s.call(name, arguments)
	if answer.failed {
		s.t.Fatalf("%s %s: %s", name, arguments, answer.text)
	}
	return answer
}

// at is a text in an answer, by the names of members and the numbers of entries.
func (a said) at(keys ...any) string {
	value := a.Result
	for _, key := range keys {
		switch k := key.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[k]
		case int:
			list, _ := value.([]any)
			if k >= len(list) {
				return ""
			}
			value = list[k]
		}
	}
	return fmt.Sprint(value)
}

// TestTools calls every tool. A tool without a call fails the test.
func TestTools(t *testing.T) {
	t.Parallel()
	u, s := connect(t, "", mockserver.Config{Seed: 1, Clock: "manual"})
	called := map[string]bool{}
	call := func(name, arguments string) said {
		t.Helper()
		called[name] = true
		return s.ok(name, arguments)
	}
	call("clock", `{"mode":"manual"}`)
	call("stub", `{"url":"https://app.test/*","answers":[{"status":500,"body":"no stock"}]}`)
	expect.Equal(t, "status of a plain answer", call("stub", `{"url":"https://plain.test/*","answers":[503]}`).at(0, "answers", 0, "status"), "503")
	id := call("publish", `{"destination":"https://app.test/order","body":{"id":7},"retries":1,"headers":{"X-Shop":"a"},"options":{"Label":"shop"}}`).at("messageId")
	call("settle", `{}`)
	call("deliver_now", `{"messageId":"`+id+`"}`)
	call("settle", `{}`)
	dlq := call("list", `{"kind":"dlq"}`)
	entry := dlq.at("entries", 0, "dlqId")
	expect.Equal(t, "message in the DLQ", dlq.at("entries", 0, "messageId"), id)
	expect.Equal(t, "page of the list", dlq.Page, u.URL()+"/_understudy/ui/dlq")
	why := call("why", `{"id":"`+id+`"}`)
	expect.Contains(t, "reason", why.at("failure", "reason"), "no stock (500)")
	expect.Equal(t, "page of the message", why.Page, u.URL()+"/_understudy/ui/messages/"+id)
	expect.Equal(t, "tool that helps", why.at("next", 0, "tool"), "retry")
	expect.Equal(t, "its argument", why.at("next", 0, "arguments", "dlqId"), entry)
	expect.Contains(t, "time for readers", why.at("nowISO"), "T")
	attempts := call("deliveries", `{"messageId":"`+id+`","count":1}`)
	expect.Equal(t, "body of the delivery", attempts.at("entries", 0, "request", "body"), `{"id":7}`)
	expect.Equal(t, "forwarded header", attempts.at("entries", 0, "request", "headers", "X-Shop", 0), "a")
	expect.Equal(t, "newest attempt", attempts.at("entries", 0, "attempt"), "1")
	older := call("deliveries", `{"messageId":"`+id+`","count":1,"cursor":"`+attempts.Cursor+`"}`)
	expect.Equal(t, "older attempt", older.at("entries", 0, "attempt"), "0")
	expect.Equal(t, "cursor of the last part", older.Cursor, "")
	expect.Equal(t, "entry", call("get", `{"id":"`+entry+`"}`).at("messageId"), id)
	expect.Equal(t, "found", call("search", `{"q":"label:shop kind:message"}`).at("hits", 0, "id"), id)
	expect.Equal(t, "body", call("body", `{"kind":"messages","id":"`+id+`","maxBody":3}`).at("body"), `{"i`)

	call("snapshot", `{"label":"before the retry"}`)
	point := call("list", `{"kind":"snapshots"}`).at("points", 0, "id")
	again := call("retry", `{"dlqId":"`+entry+`"}`).at("messageId")
	expect.Equal(t, "state", call("wait", `{"on":"events","messageId":"`+again+`","state":"ERROR"}`).at("entries", 0, "state"), "ERROR")
	call("cancel", `{"id":"`+again+`"}`)
	call("restore", `{"id":"`+point+`"}`)
	expect.Equal(t, "entry after restore", call("list", `{"kind":"dlq"}`).at("entries", 0, "dlqId"), entry)

	run := call("trigger", `{"workflowUrl":"https://app.test/flow","body":"x","options":{"Retries":"0"}}`).at("workflowRunId")
	call("settle", `{}`)
	got := call("get", `{"id":"`+run+`"}`)
	expect.Equal(t, "state of the run", got.at("row", "workflowState"), "RUN_FAILED")
	expect.Equal(t, "events without being asked for", got.at("events", 0, "state"), "")
	expect.Equal(t, "tool that helps a failed run", got.at("next", 0, "tool"), "resume")
	expect.Lacks(t, "run", got.text, "/v2/")
	expect.Equal(t, "events", call("get", `{"id":"`+run+`","events":true}`).at("events", 0, "workflowRunId"), run)
	resumed := call("resume", `{"id":"`+run+`"}`).at("workflowRunId")
	call("settle", `{}`)
	call("restart", `{"id":"`+resumed+`"}`)
	call("notify", `{"eventId":"paid","data":{"ok":true}}`)
	call("advance", `{"by":"1h"}`)
	call("fault", `{"on":"delivery","drop":true,"times":1}`)
	expect.Equal(t, "second fault", call("fault", `{"on":"api","status":503}`).at(1, "status"), "503")
	expect.Equal(t, "faults", call("overview", `{}`).at("faults"), "2")
	call("clear", `{"kind":"faults"}`)
	call("reset", `{}`)
	expect.Equal(t, "messages after reset", call("list", `{"kind":"messages"}`).at("messages", 0), "")

	page := call("docs_search", `{"query":"manual clock"}`).at(0, "page")
	text := call("docs_read", `{"page":"`+page+`"}`)
	expect.Contains(t, "page "+page, text.at(), "# ")
	expect.Contains(t, "explanation", call("explain_error", `{"text":"{\"error\":\"publishMessage: no credentials: must be Bearer\"}"}`).at(), "### 4.")
	for _, printed := range []string{"connection refused", "dial tcp 127.0.0.1:3000: connect: connection refused", "TypeError: fetch failed: connect ECONNREFUSED 127.0.0.1:3000"} {
		expect.Contains(t, "explanation of "+printed, call("explain_error", `{"text":"`+printed+`"}`).at(), "### 17.")
	}
	expect.Contains(t, "explanation of what a client prints", call("explain_error", `{"text":"Unauthorized"}`).at(), "### 4.")

	list, err := s.ListTools(t.Context(), nil)
	expect.Nil(t, "tools/list", err)
	for _, tool := range list.Tools {
		expect.True(t, tool.Name+" is called", called[tool.Name])
	}
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	_, s := connect(t, "")
	list, err := s.ListTools(t.Context(), nil)
	expect.NoError(t, err)
	for _, tool := range list.Tools {
		t.Run(tool.Name, func(t *testing.T) {
			t.Parallel()
			input := tool.InputSchema.(map[string]any)
			expect.Equal[any](t, "type", input["type"], "object")
			expect.Equal[any](t, "other arguments", input["additionalProperties"], false)
			text, _ := json.Marshal(input)
			expect.Lacks(t, "schema", string(text), `"$ref"`)
			expect.Lacks(t, "schema", string(text), `"x-`)
			expect.True(t, "it has hints", tool.Annotations != nil && tool.Annotations.DestructiveHint != nil)
			expect.True(t, "its description is a sentence", strings.HasSuffix(tool.Description, ".") && len(tool.Description) < 300)
			properties, _ := input["properties"].(map[string]any)
			required, _ := input["required"].([]any)
			for name, described := range properties {
				expect.True(t, name+" is described", described.(map[string]any)["description"] != nil)
				what, _ := described.(map[string]any)["description"].(string)
				expect.True(t, name+" is described by more than the end of a sentence", strings.Contains(what, " ") && !strings.HasPrefix(what, "of "))
				expect.True(t, name+" is no header of the dialect", !strings.HasPrefix(name, "svc"))
			}
			expect.True(t, "it describes its answer", tool.OutputSchema != nil)
			for _, name := range required {
				expect.True(t, fmt.Sprintf("required argument %v is described", name), properties[name.(string)] != nil)
			}
		})
	}
	t.Run("destructive tools are annotated", func(t *testing.T) {
		t.Parallel()
		var names []string
		for _, tool := range list.Tools {
			if *tool.Annotations.DestructiveHint {
				names = append(names, tool.Name)
			}
		}
		expect.Equal(t, "tools", strings.Join(names, " "), "cancel clear reset restore")
	})
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	_, s := connect(t, "?read-only=true")
	list, err := s.ListTools(t.Context(), nil)
	expect.Nil(t, "tools/list", err)
	for _, tool := range list.Tools {
		expect.True(t, tool.Name+" only reads", tool.Annotations.ReadOnlyHint)
	}
	_, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "reset"})
	expect.True(t, "reset is unknown", err != nil)
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	_, s := connect(t, "")
	for _, c := range []struct{ tool, arguments, want string }{
		{"why", `{}`, "argument id: missing: must be"},
		{"why", `{"ID":"x"}`, "argument ID: unknown key: must be one of id"},
		{"why", `[]`, "argument invalid value []: must be"},
		{"why", `{"id":"no"}`, `no message, run, DLQ entry or flow-control key`},
		{"list", `{"kind":"dlqs"}`, `argument kind: invalid value "dlqs": must be one of dlq, faults,`},
		{"list", `{"kind":"dlq","count":0}`, `argument count: invalid value 0: must be an integer from 1 to 100`},
		{"list", `{"kind":"stubs","workflowRunId":"x"}`, `argument workflowRunId: not for kind stubs`},
		{"list", `{"kind":"messages","cursor":"x"}`, `query cursor`},
		{"list", `{"kind":"stubs","cursor":"x"}`, `argument cursor: invalid value "x"`},
		{"get", `{"id":"no"}`, `no message, run, DLQ entry or schedule has the id "no"`},
		{"publish", `{"destination":"nowhere"}`, `nowhere`},
		{"publish", `{"destination":"https://app.test/","headers":{"X Y":"z"}}`, `argument headers.X Y: invalid value "z": must be one line`},
		{"publish", `{"destination":"https://app.test/","headers":{"X-Y":"a\nb"}}`, `argument headers.X-Y: invalid value`},
		{"list", `{"kind":"messages","state":"nosuch"}`, `must be one of ACTIVE`},
		{"get", `{"id":"../../accounts"}`, `no message, run, DLQ entry or schedule has the id`},
		{"stub", `{"url":"x","answers":[{"status":99}]}`, `/answers/0/status`},
		{"docs_read", `{"page":"zzz"}`, `argument page: invalid value "zzz": must be one of README`},
		{"docs_read", `{"page":"testing","cursor":"99999999"}`, `argument cursor: invalid value`},
		{"resume", `{"id":"wfr_no"}`, `not found`},
	} {
		t.Run(c.tool+" "+c.arguments, func(t *testing.T) {
			t.Parallel()
			got := s.call(c.tool, c.arguments)
			expect.True(t, "it fails", got.failed)
			expect.Contains(t, "error", got.text, c.want)
			expect.Lacks(t, "error", got.text, "\n")
		})
	}
}

// TestEachKindOfAListIsSortedByItsOwnMembers checks that the argument sort has the values of all kinds.
func TestEachKindOfAListIsSortedByItsOwnMembers(t *testing.T) {
	t.Parallel()
	_, s := connect(t, "")
	for kind, member := range map[string]string{"dlq": "-failedAt", "messages": "bytes", "runs": "-workflowRunId"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			got := s.call("list", `{"kind":"`+kind+`","sort":"`+member+`"}`)
			expect.True(t, "it is sorted: "+got.text, !got.failed)
		})
	}
	t.Run("a member of another kind", func(t *testing.T) {
		t.Parallel()
		got := s.call("list", `{"kind":"dlq","sort":"bytes"}`)
		expect.Contains(t, "error", got.text, "must be one of attempts, cause, dlqId")
	})
}

// TestToolsForAWaitingRun checks that why names the tools that end a wait, as a model calls them.
func TestToolsForAWaitingRun(t *testing.T) {
	t.Parallel()
	u, s := connect(t, "", mockserver.Config{Clock: "manual"})
	expect.NoError(t, u.Load(mockserver.Fixture{Name: "run.yaml", Text: []byte("runs: [{id: wfr_1, url: https://app.test/flow, state: RUN_STARTED, steps: [{name: ask}], waits: [{event: paid, timeout: 1d}]}]")}))
	why := s.ok("why", `{"id":"wfr_1"}`)
	expect.Equal(t, "tool that sends the event", why.at("next", 0, "tool")+" "+why.at("next", 0, "arguments", "eventId")+" "+why.at("next", 0, "arguments", "workflowRunId"), "notify paid wfr_1")
	expect.Equal(t, "tool that ends the wait", why.at("next", 1, "tool")+" "+why.at("next", 1, "arguments", "by"), "advance 24h")
	expect.NoError(t, u.Load(mockserver.Fixture{Name: "long.yaml", Text: []byte("runs: [{id: wfr_2, url: https://app.test/flow, state: RUN_STARTED, steps: [" + strings.Repeat("{name: a step of a long run, out: {order: 7}}, ", 120) + "], waits: [{event: paid, timeout: 1d}]}]")}))
	for _, id := range []string{"wfr_1", "wfr_2"} {
		got := s.ok("get", `{"id":"`+id+`"}`)
		if size := len(got.text); size > 6000 {
			t.Errorf("size of the run: got %d, want at most 6000 bytes", size)
		}
		expect.Contains(t, "the steps that are shown", got.text, `"waitEventId":"paid"`)
	}
	expect.Contains(t, "what a long run leaves out", s.ok("get", `{"id":"wfr_2"}`).text, "events=true shows more of a run")
}

// TestWarning checks that a model reads what the server warns of, and that states have either case.
func TestWarning(t *testing.T) {
	t.Parallel()
	u, s := connect(t, "")
	u.Stub("*", 200)
	var warned struct{ Warning string }
	expect.Nil(t, "answer", json.Unmarshal([]byte(s.ok("publish", `{"destination":"https://app.test/","options":{"Delayy":"1h"}}`).text), &warned))
	expect.Contains(t, "warning", warned.Warning, spec.BuiltInDialects().Named(spec.Published).HeaderPrefix+"Delay")
	u.Settle()
	expect.Equal(t, "state", s.ok("list", `{"kind":"messages","state":"delivered"}`).at("messages", 0, "state"), "DELIVERED")
}

func TestBoundedAnswers(t *testing.T) {
	t.Parallel()
	u, s := connect(t, "", mockserver.Config{Clock: "manual"})
	u.Stub("https://app.test/*", 500)
	long := strings.Repeat("<é>", 40_000)
	for range 3 {
		u.Publish("https://app.test/"+strings.Repeat("p", 900), []byte(long), "Svc-Retries: 12")
	}
	for range 40 {
		u.Publish("https://app.test/"+strings.Repeat("q", 900), nil, "Svc-Retries: 0")
	}
	u.Advance(7 * 24 * time.Hour)
	t.Run("a list continues until its end", func(t *testing.T) {
		t.Parallel()
		seen := map[string]bool{}
		for cursor, calls := "", 0; calls == 0 || cursor != ""; calls++ {
			arguments := `{"kind":"messages","count":100}`
			if cursor != "" {
				arguments = `{"kind":"messages","count":100,"cursor":"` + cursor + `"}`
			}
			part := s.ok("list", arguments)
			expect.True(t, "the answer is small", len(part.text) <= 20_000)
			for i := 0; part.at("messages", i) != ""; i++ {
				seen[part.at("messages", i, "messageId")] = true
			}
			cursor = part.Cursor
		}
		expect.Equal(t, "messages", len(seen), 43)
	})
	t.Run("every tool that reads is bounded", func(t *testing.T) {
		t.Parallel()
		id := u.Deliveries()[0].MessageID
		for _, c := range [][2]string{
			{"deliveries", `{}`}, {"deliveries", `{"maxBody":1000000,"count":100}`}, {"get", `{"id":"` + id + `"}`}, {"why", `{"id":"` + id + `"}`}, {"body", `{"kind":"messages","id":"` + id + `"}`},
			{"list", `{"kind":"log","count":100}`}, {"list", `{"kind":"requests","count":100}`}, {"search", `{"q":"app","count":100}`}, {"docs_read", `{"page":"interface"}`},
		} {
			got := s.ok(c[0], c[1])
			expect.True(t, fmt.Sprintf("%s %s has %d bytes", c[0], c[1], len(got.text)), len(got.text) <= 20_000 && got.Result != nil)
		}
	})
	t.Run("the parts of a page are the page", func(t *testing.T) {
		t.Parallel()
		text := ""
		for cursor := "0"; cursor != ""; {
			part := s.ok("docs_read", `{"page":"wire","cursor":"`+cursor+`"}`)
			text += part.at()
			cursor = part.Cursor
		}
		source, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "wire.md"))
		expect.Nil(t, "source", err)
		expect.Equal(t, "text", text, string(source))
	})
}

func TestMasking(t *testing.T) {
	t.Parallel()
	u, s := connect(t, "")
	u.Stub("https://app.test/*", 500)
	id := u.Publish("https://user:pa55word@app.test/?token=s3cret", []byte("x"), "Svc-Forward-Authorization: Bearer hidden-key", "Svc-Retries: 0")
	u.Settle()
	for _, c := range [][2]string{{"get", `{"id":"` + id + `"}`}, {"deliveries", `{}`}, {"list", `{"kind":"requests"}`}, {"list", `{"kind":"messages"}`}, {"why", `{"id":"` + id + `"}`}, {"get", `{"id":"` + s.ok("list", `{"kind":"dlq"}`).at("entries", 0, "dlqId") + `"}`}} {
		got := s.call(c[0], c[1]).text
		for _, secret := range []string{"pa55word", "s3cret", "hidden-key", u.Token()} {
			expect.Lacks(t, c[0]+" "+c[1], got, secret)
		}
	}
}

// TestAdmission compares the rules of the endpoint with those of the control API.
func TestAdmission(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{ControlToken: "control-secret"})
	open := mockserver.RunT(t)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	for fact, c := range map[string]struct {
		server *mockserver.TestServer
		header [2]string
		status int
	}{
		"without the token":             {u, [2]string{"X-A", "b"}, 401},
		"with a wrong token":            {u, [2]string{"Authorization", "Bearer x"}, 401},
		"with the token":                {u, [2]string{"Authorization", "Bearer control-secret"}, 200},
		"from a page of another site":   {open, [2]string{"Origin", "https://evil.example"}, 403},
		"with the name of another site": {open, [2]string{"Host", "evil.example"}, 401},
		"without a token on loopback":   {open, [2]string{"X-A", "b"}, 200},
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			for _, call := range [][3]string{{http.MethodPost, "mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, {http.MethodPost, "settle", ""}} {
				r, _ := http.NewRequestWithContext(t.Context(), call[0], c.server.URL()+"/_understudy/"+call[1], strings.NewReader(call[2]))
				r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
				r.Header.Set(c.header[0], c.header[1])
				if c.header[0] == "Host" {
					r.Host = c.header[1]
				}
				answer, err := http.DefaultClient.Do(r)
				expect.NoError(t, err)
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				expect.Equal(t, "status of "+call[1], answer.StatusCode, c.status)
			}
		})
	}
	t.Run("tools use the token of the session", func(t *testing.T) {
		t.Parallel()
		connected(t, u.URL()+"/_understudy/mcp", bearer("control-secret")).ok("overview", `{}`)
	})
}

// bearer is a transport with a token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func TestAccount(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Accounts: []mockserver.Account{{ID: "one", Token: "t1"}, {ID: "two", Token: "t2"}}})
	one, two := connected(t, u.URL()+"/_understudy/mcp", http.DefaultTransport), connected(t, u.URL()+"/_understudy/mcp?account=two", http.DefaultTransport)
	two.ok("stub", `{"url":"*","answers":[{"status":200}]}`)
	published := two.ok("publish", `{"destination":"https://app.test/"}`)
	expect.Contains(t, "page", published.Page, "?account=two")
	expect.Equal(t, "messages of the other account", one.ok("list", `{"kind":"messages"}`).at("messages", 0), "")
	expect.Equal(t, "own message", two.ok("list", `{"kind":"messages"}`).at("messages", 0, "messageId"), published.at("messageId"))
}

// TestManySessions opens sessions that leave without a goodbye. goleak checks that nothing is left.
func TestManySessions(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	transport := &http.Transport{MaxConnsPerHost: 8}
	t.Cleanup(transport.CloseIdleConnections)
	var wg sync.WaitGroup
	limit := make(chan struct{}, 8)
	for range 1000 {
		wg.Add(1)
		limit <- struct{}{}
		go func() {
			defer wg.Done()
			defer func() { <-limit }()
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, u.URL()+"/_understudy/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			answer, err := transport.RoundTrip(r)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusOK || answer.Header.Get("Mcp-Session-Id") != "" {
				t.Errorf("status %d, session %q", answer.StatusCode, answer.Header.Get("Mcp-Session-Id"))
			}
		}()
	}
	wg.Wait()
}

func TestResources(t *testing.T) {
	t.Parallel()
	_, s := connect(t, "")
	list, err := s.ListResources(t.Context(), nil)
	expect.NoError(t, err)
	expect.True(t, "how to release is no resource", !slices.ContainsFunc(list.Resources, func(r *mcp.Resource) bool { return strings.HasSuffix(r.URI, "/releasing") }))
	expect.True(t, "the interface is a resource", slices.ContainsFunc(list.Resources, func(r *mcp.Resource) bool { return r.URI == "understudy://docs/interface" }))
	for _, r := range list.Resources {
		page, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: r.URI})
		expect.Nil(t, r.URI, err)
		expect.Equal(t, "bytes of "+r.URI, int64(len(page.Contents[0].Text)), r.Size)
	}
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	_, s := connect(t, "")
	list, err := s.ListPrompts(t.Context(), nil)
	expect.NoError(t, err)
	tools, err := s.ListTools(t.Context(), nil)
	expect.Nil(t, "tools", err)
	for _, p := range list.Prompts {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			got, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.Name, Arguments: map[string]string{"id": "wfr_7"}})
			expect.NoError(t, err)
			text := got.Messages[0].Content.(*mcp.TextContent).Text
			expect.Contains(t, "prompt", text, "wfr_7")
			for _, name := range []string{"why", "deliveries"} {
				expect.Contains(t, "prompt", text, name)
				expect.True(t, name+" is a tool", slices.ContainsFunc(tools.Tools, func(t *mcp.Tool) bool { return t.Name == name }))
			}
			_, err = s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.Name})
			expect.True(t, "the id is required", err != nil && strings.Contains(err.Error(), "argument id: missing"))
		})
	}
}
