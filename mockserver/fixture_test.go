package mockserver_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/fixtures"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func everything(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/fixture.yaml")
	expect.NoError(t, err)
	return text
}

func TestAFixtureWithEverything(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	u.Stub("https://*", 200)
	expect.NoError(t, u.Load(mockserver.Fixture{Name: "fixture.yaml", Text: everything(t)}))
	u.Settle()
	groups := c.do("GET", "/v2/topics", "").ok()
	expect.Equal(t, "name of the group", groups.text(0, "name"), "orders")
	expect.Equal(t, "retries of the group", groups.text(0, "headers", published.HeaderPrefix+"Retries", 0), "2")
	nightly := c.do("GET", "/v2/schedules/nightly", "").ok()
	expect.Equal[any](t, "isPaused of the schedule", nightly.get("isPaused"), true)
	expect.Equal(t, "cron of the schedule", nightly.text("cron"), "0 3 * * *")
	dlq := c.do("GET", "/v2/dlq?count=10", "").ok()
	if n := len(dlq.list("messages")); n != 3 {
		t.Fatalf("entries in the DLQ: got %d, want 3: %s", n, dlq.raw)
	}
	plain := c.do("GET", "/v2/dlq/dlq-1", "").ok()
	expect.Equal(t, "responseStatus of the entry", plain.number("responseStatus"), 503)
	expect.Equal(t, "responseBody of the entry", plain.text("responseBody"), "overloaded")
	expect.Equal(t, "state of the entry's failure callback", plain.text("failureCallbackInfo", "state"), "CALLBACK_FAIL")
	expect.Equal(t, "body of the entry", plain.text("body"), `{"order":7}`)
	expect.Equal(t, "log of the entry", logged(c, plain.text("messageId")), "CREATED ACTIVE ERROR RETRY ACTIVE ERROR FAILED")
	c.do("DELETE", "/v2/dlq/dlq-1", "").ok()
	runs := c.do("GET", "/v2/workflows/logs?count=10", "").ok()
	want := map[string]string{"wfr_done": "RUN_SUCCESS", "wfr_failed": "RUN_FAILED", "wfr_canceled": "RUN_CANCELED", "wfr_waiting": "RUN_STARTED", "wfr_later": "RUN_STARTED"}
	for i := range runs.list("runs") {
		id := runs.text("runs", i, "workflowRunId")
		if state := runs.text("runs", i, "workflowState"); state != want[id] {
			t.Errorf("state of run %s: got %s, want %s", id, state, want[id])
		}
		delete(want, id)
	}
	if len(want) > 0 {
		t.Errorf("runs: got %s, want %v as well", runs.raw, want)
	}
	if a := c.do("GET", "/v2/waiters/paid", "").ok(); len(a.list()) != 1 {
		t.Errorf("waiters: got %s, want one", a.raw)
	}
	expect.Equal(t, "notified run", c.do("POST", "/v2/notify/paid", "yes").ok().text(0, "workflowRunId"), "wfr_waiting")
	expect.Equal(t, "run of the entry in the DLQ", c.do("GET", "/v2/workflows/dlq/dlq-run", "").ok().text("workflowRunId"), "wfr_failed")
	if a := c.do("POST", "/v2/workflows/dlq/restart/dlq-run", "").ok(); !strings.HasPrefix(a.text("workflowRunId"), "wfr_") {
		t.Errorf("restart: got %s, want a workflowRunId that begins with wfr_", a.raw)
	}
	key := c.do("GET", "/v2/flowControl/billing", "").ok()
	expect.Equal(t, "isPaused of the key", key.get("isPaused"), true)
	expect.Equal(t, "parallelismMax of the key", key.number("parallelismMax"), 3)
	expect.Equal(t, "waitListSize of the key", key.number("waitListSize"), 1)
	c.do("POST", "/v2/flowControl/billing/resume", "").ok()
	expect.Contains(t, "deliveries", delivered(u.Deliveries()), "charge")
}

func logged(c *client, id string) string {
	a := c.do("GET", "/v2/logs?messageId="+id, "").ok()
	states := []string{}
	for i := range slices.Backward(a.list("logs")) {
		states = append(states, a.text("logs", i, "state"))
	}
	return strings.Join(states, " ")
}

func TestFixturesOfOtherAccounts(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Seed: 3})
	c := newClient(t, u)
	c.do("POST", "/_understudy/fixtures", `{"accounts": [{"id": "shop", "token": "token-shop", "groups": [{"name": "g", "endpoints": [{"url": "https://e.test/"}]}],
	  "vectors": [{"index": "films", "type": "DENSE", "dimension": 2, "vectors": [{"id": "a", "vector": [1, 0]}]}], "search": [{"id": "s1", "name": "docs"}]}]}`).ok()
	expect.Equal(t, "name of the group", c.do("GET", "/v2/topics", "", "Authorization: Bearer token-shop").ok().text(0, "name"), "g")
	if a := c.do("GET", "/v2/topics", "").ok(); len(a.list()) != 0 {
		t.Errorf("groups of the other account: got %s, want none", a.raw)
	}
	c.do("POST", "/_understudy/fixtures?account=shop", "queues:\n- {name: q, parallelism: 4, paused: true}\n").ok()
	queue := c.do("GET", "/v2/queues/q", "", "Authorization: Bearer token-shop").ok()
	expect.Equal(t, "parallelism of the queue", queue.number("parallelism"), 4)
	expect.Equal[any](t, "paused of the queue", queue.get("paused"), true)
}

// A file with a mistake changes nothing, however much of it is right, and the
// error names file, line and key.
func TestAFixtureWithAMistakeChangesNothing(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Accounts: []mockserver.Account{{ID: "a", Token: "token-a"}, {ID: "b", Token: "token-b"}}})
	c := newClient(t, u)
	before := state(c.do("GET", "/_understudy/snapshot", "").ok().raw)
	whole := string(everything(t))
	for name, row := range map[string]struct{ text, want string }{
		"no YAML":                   {"groups: [", "f.yaml:1: "},
		"nothing":                   {" \n", ""},
		"a second document":         {"version: 1\n---\nversion: 1\n", "second document"},
		"an unknown key":            {"groups:\n- name: g\n  endpoints: [{url: 'https://e.test/'}]\n  colour: red\n", "f.yaml:4: groups[0].colour: unknown key: must be one of endpoints, headers, name"},
		"a key twice":               {"version: 1\nversion: 1\n", "f.yaml:2: version: duplicate key: the first is on line 1"},
		"another version":           {"version: 2\n", "f.yaml:1: version: invalid value 2: must be 1"},
		"a missing key":             {"groups:\n- name: g\n", "f.yaml:2: groups[0].endpoints: missing: must be a list of at least one"},
		"a wrong type":              {"\nqueues:\n- name: q\n  parallelism: many\n", `f.yaml:4: queues[0].parallelism: invalid value "many": must be an integer of 1 or more`},
		"an unknown state":          {strings.Replace(whole, "RUN_CANCELED", "RUN_LOST", 1), "runs["},
		"a time":                    {"usage:\n- at: yesterday\n  created: 1\n", "f.yaml:2: usage[0].at"},
		"a span that ends first":    {"usage:\n- at: -1h\n  until: -2h\n  every: 1m\n", `f.yaml:3: usage[0].until: invalid value "-2h": must be a time after at`},
		"an option":                 {"messages:\n- destination: https://e.test/\n  headers:\n    Svc-Retries: many\n", "f.yaml:4: messages[0].headers"},
		"an unknown option":         {"messages:\n- destination: https://e.test/\n  headers:\n    Svc-Retrys: 3\n", "f.yaml:4: messages[0].headers: header Svc-Retrys: unknown option; did you mean Svc-Retries?"},
		"an unknown default":        {"groups:\n- name: g\n  endpoints: [{url: https://e.test/}]\n  headers: {Svc-Dealy: 3s}\n", "f.yaml:4: groups[0].headers: header Svc-Dealy: unknown option; did you mean Svc-Delay?"},
		"a destination":             {"messages:\n- destination: 'ftp://e.test/'\n", `f.yaml:2: messages[0].destination: invalid value "ftp://e.test/": unknown scheme "ftp": must be http(s)://`},
		"a group that is not there": {"messages:\n- destination: https://e.test/\n- destination: nobody\n", "f.yaml:3: messages[1]"},
		"a cron":                    {"schedules:\n- cron: whenever\n  destination: https://e.test/\n", "f.yaml:2: schedules[0]"},
		"a second account":          {"queues: [{name: q}]\naccounts:\n- id: b\n  queues: [{name: q}]\n  dlq:\n  - destination: https://e.test/\n    id: x\n  - destination: https://e.test/\n    id: x\n", "f.yaml:8: accounts[0].dlq[1]"},
		"a new account":             {"accounts:\n- {id: new}\n- id: b\n  vectors: [{index: none}]\n", "f.yaml:4: accounts[1].vectors[0]"},
		"a token of another":        {"accounts:\n- {id: new, token: token-a}\n", "f.yaml:2: accounts[0]"},
		"a vector":                  {"vectors:\n- vectors:\n  - {id: a, vector: [1, 2]}\n  - {id: b, vector: [1]}\n", "f.yaml:2: vectors[0]"},
		"a run that ends too early": {"runs:\n- {url: 'https://e.test/', state: RUN_SUCCESS, createdAt: -1h, endedAt: -2h}\n", "f.yaml:2: runs[0]"},
		"a success in the DLQ":      {"dlq:\n- destination: https://e.test/\n  response: {status: 200}\n", "f.yaml:3: dlq[0].response.status"},
	} {
		a := c.do("POST", "/_understudy/fixtures?name=f.yaml", row.text)
		if refused := []int{400, 404, 409}; !slices.Contains(refused, a.status) {
			t.Errorf("%s: status: got %d, want one of %v: %s", name, a.status, refused, a.raw)
		}
		expect.Contains(t, name+": error", a.text("error"), row.want)
		expect.Lacks(t, name+": error", a.text("error"), "\n")
	}
	if after := state(c.do("GET", "/_understudy/snapshot", "").ok().raw); !bytes.Equal(before, after) {
		t.Errorf("the state: got\n%s\nwant it as before:\n%s", after, before)
	}
	for range 2 { // the second time its ids are there
		if err := u.Load(mockserver.Fixture{Text: everything(t)}); err != nil && !strings.Contains(err.Error(), "exists") {
			t.Errorf("loading the whole file: got %v, want no error but that its ids exist", err)
		}
	}
}

func FuzzFixture(f *testing.F) {
	f.Add(func() []byte { text, _ := os.ReadFile("testdata/fixture.yaml"); return text }())
	for _, text := range []string{"", "a: [", "version: 1", "messages:\n- destination: x\n", "usage: [{at: -1h, until: 1h, every: 1m}]", "accounts: [{id: a}, {id: a}]", "&a [*a]",
		"runs: [{url: 'https://e.test/', state: RUN_STARTED, steps: [{name: s, out: {a: 1}}], waits: [{event: e}]}]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		u := mockserver.RunT(t, mockserver.Config{Start: time.UnixMilli(1_800_000_000_000), Stubs: []mockserver.Stub{{URL: "*"}}})
		before, err := u.Snapshot()
		expect.NoError(t, err)
		if u.Load(mockserver.Fixture{Text: text}) == nil {
			return
		}
		after, err := u.Snapshot()
		expect.Nil(expect.Now(t), "error of the snapshot", err)
		if !bytes.Equal(state(before), state(after)) {
			t.Errorf("the state after a refused fixture: got\n%s\nwant it as before:\n%s", after, before)
		}
	})
}

func TestGeneratedFixturesLoad(t *testing.T) {
	t.Parallel()
	for seed := range int64(4) {
		var text bytes.Buffer
		expect.NoError(t, fixtures.New(seed).WriteFile(&text, fixtures.Size{Messages: 200, DLQ: 40, Runs: 40}))
		u := mockserver.RunT(t)
		if err := u.Load(mockserver.Fixture{Text: text.Bytes()}); err != nil {
			t.Fatalf("seed %d: loading: got %v, want no error", seed, err)
		}
		c := newClient(t, u)
		if n := len(c.do("GET", "/v2/dlq?count=100", "").ok().list("messages")); n != 40+8 { // one run in five has failed
			t.Errorf("seed %d: entries in the DLQ: got %d, want 48", seed, n)
		}
		u.Advance(25 * time.Hour)
		all := u.Deliveries()
		if len(all) < 200 {
			t.Errorf("seed %d: deliveries: got %d, want 200 at least", seed, len(all))
		}
		if i := slices.IndexFunc(all, func(d mockserver.Delivery) bool { return !d.Stubbed }); i >= 0 {
			t.Errorf("seed %d: got a delivery to %s over the network, want a stub for each", seed, all[i].URL)
		}
	}
}

// Whatever the seed and the size, a generated file can be loaded. The four large
// ones once held a label in brackets.
func TestAnyGeneratedFixtureLoads(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for refusals, not for races")
	load := func(seed int64, size fixtures.Size) error {
		var text bytes.Buffer
		if err := fixtures.New(seed).WriteFile(&text, size); err != nil {
			return err
		}
		return mockserver.RunT(t).Load(mockserver.Fixture{Text: text.Bytes()})
	}
	messages := effort.Amount(t, "FIXTURE", 500, 3000)
	for _, seed := range []int64{3, 6, 8, 9} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			if err := load(seed, fixtures.Size{Messages: messages, DLQ: 30, Runs: 30}); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("any seed and size", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			seed, most := rapid.Int64().Draw(t, "seed"), rapid.IntRange(0, 60)
			expect.NoError(t, load(seed, fixtures.Size{Messages: most.Draw(t, "messages"), DLQ: most.Draw(t, "dlq"), Runs: most.Draw(t, "runs")}))
		})
	})
}

// past is a fixture with a history older than whatever a test has done.
const past = `dlq:
- {id: old-1, destination: 'https://app.test/failed/1', at: -3h}
- {id: old-2, destination: 'https://app.test/failed/2', at: -1h}
runs:
- {id: wfr_old, url: 'https://app.test/workflow', state: RUN_SUCCESS, createdAt: -2h, endedAt: -90m, steps: [{name: charge, out: done}]}
- {id: wfr_older, url: 'https://app.test/workflow', state: RUN_FAILED, createdAt: -5h, endedAt: -4h, dlqId: old-3, steps: [{name: charge, out: done}]}
`

// times walks a list to its end, two entries a page, and gives their times.
func times(c *client, path, list, field string) (all []int64) {
	c.t.Helper()
	for cursor := ""; ; {
		a := c.do("GET", path+"count=2"+cursor, "").ok()
		for i := range a.list(list) {
			all = append(all, a.number(list, i, field))
		}
		if a.text("cursor") == "" {
			return all
		}
		cursor = "&cursor=" + a.text("cursor")
	}
}

func TestListsGoByTimeAfterSeeding(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	u.Stub("https://app.test/*", 500)
	for range 2 {
		u.Publish("https://app.test/a", nil, "Svc-Retries: 0")
		c.trigger("wfr_"+fmt.Sprint(u.Message(u.Publish("https://later.test/", nil, "Svc-Delay: 9d")).CreatedAt.UnixMilli()), "Svc-Retries: 0")
		u.Advance(time.Minute)
	}
	c.do("POST", "/_understudy/fixtures", past).ok()
	u.Advance(time.Minute)
	u.Publish("https://app.test/b", nil, "Svc-Retries: 0")
	u.Settle()
	check := func(t *testing.T) {
		for _, row := range []struct {
			path, list, field string
			want              int
		}{
			{"/v2/dlq?", "messages", "createdAt", 8},
			{"/v2/workflows/logs?", "runs", "workflowRunCreatedAt", 4},
			{"/v2/workflows/messageLogs?", "events", "time", 0},
			{"/v2/logs?", "logs", "time", 0},
			{"/_understudy/dlq?", "entries", "failedAt", 8},
			{"/_understudy/log?", "events", "time", 0},
			{"/_understudy/messages?", "messages", "createdAt", 0},
			{"/_understudy/runs?", "runs", "workflowRunCreatedAt", 4},
		} {
			t.Run(row.path, func(t *testing.T) {
				all := times(c, row.path, row.list, row.field)
				if row.want > 0 {
					expect.Equal(t, "number of entries", len(all), row.want)
				}
				if len(all) < 4 {
					t.Errorf("number of entries: got %d, want 4 at least", len(all))
				}
				if !slices.IsSortedFunc(all, func(x, y int64) int { return int(y - x) }) {
					t.Errorf("times: got %v, want the newest first", all)
				}
			})
		}
	}
	check(t)
	text, err := u.Snapshot()
	expect.NoError(t, err)
	expect.NoError(t, expect.ErrorOf(u.Restore(text)))
	t.Run("after a snapshot", check)
}

func TestARunKeepsItsHistoryAfterSeeding(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	workflowAnswers(u, "200")
	c.trigger("wfr_1")
	u.Settle()
	c.report("wfr_1", `{"stepId":1,"stepName":"reserve","stepType":"Run","out":"1","concurrent":1}`).ok()
	u.Settle()
	before := c.do("GET", "/_understudy/runs/wfr_1", "").ok()
	c.do("POST", "/_understudy/fixtures", past).ok()
	after := c.do("GET", "/_understudy/runs/wfr_1", "").ok()
	for _, part := range []string{"events", "spans"} {
		if len(before.list(part)) == 0 {
			t.Errorf("%s before seeding: got none, want one at least", part)
		}
		expect.Equal(t, part+" after seeding", len(after.list(part)), len(before.list(part)))
	}
	for i := range after.list("spans") {
		if from, created := after.number("spans", i, "from"), before.number("run", "workflowRunCreatedAt"); from < created {
			t.Errorf("beginning of span %d: got %d, want at least that of the run, %d", i, from, created)
		}
	}
}

func TestStubsOfAFixture(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c := newClient(t, u)
	u.Stub("https://own.test/*", 201)
	const text = "stubs:\n- {url: 'https://own.test/*', answers: [{status: 500}]}\n- {url: 'https://app.test/*', answers: [{status: 202}]}\nmessages:\n- {destination: 'https://app.test/a'}\n- {destination: 'https://own.test/b'}\n"
	for range 2 {
		c.do("POST", "/_understudy/fixtures", text).ok()
	}
	u.Settle()
	for _, d := range u.Deliveries() {
		want := map[string]int{"https://app.test/a": 202, "https://own.test/b": 201}[d.URL]
		if d.Response.Status != want {
			t.Errorf("%s: status: got %d, want %d", d.URL, d.Response.Status, want)
		}
	}
	expect.Equal(t, "stubs after loading twice", len(c.do("GET", "/_understudy/stubs", "").ok().list()), 3)
	c.do("POST", "/_understudy/fixtures?name=f.yaml", "version: 1\nstubs:\n- {url: '/(/'}\n").refused(400, "f.yaml:3: stubs[0]")
}
