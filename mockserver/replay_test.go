package mockserver_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/engine/store/sqlite"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/saved"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// reported is a server with a data folder that has done something, and its journal as
// a file.
func reported(t *testing.T) (u *mockserver.TestServer, file string) {
	t.Helper()
	u = mockserver.RunT(t, mockserver.Config{Store: folder(t, t.TempDir())})
	c := newClient(t, u)
	u.Stub("https://app.test/*", 200)
	u.Publish("https://app.test/a?token=s3cret-of-the-url", []byte("the body"), "Svc-Delay: 10s", "Svc-Forward-Authorization: Bearer s3cret-of-the-header")
	c.do("POST", "/v2/queues", `{"queueName":"q","parallelism":2}`).ok()
	c.do("POST", "/v2/keys/rotate", "").ok()
	u.Advance(time.Minute)
	u.Publish("https://app.test/b", nil, "Svc-Delay: 1h")
	file = filepath.Join(t.TempDir(), "journal.jsonl")
	expect.NoError(t, os.WriteFile(file, c.do("GET", "/_understudy/journal/export", "").ok().raw, 0o600))
	return u, file
}

// replayed serves a file.
func replayed(t *testing.T, file string, until tenant.Until) *mockserver.TestServer {
	t.Helper()
	from, err := saved.OpenFile(file)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = from.Close() })
	ids, _ := from.Accounts(t.Context())
	return mockserver.RunT(t, mockserver.Config{Store: from, Replay: &until, Accounts: []mockserver.Account{{ID: ids[0]}}})
}

func TestAReplayThatIsServed(t *testing.T) {
	t.Parallel()
	u, file := reported(t)
	t.Run("the state is that of the server", func(t *testing.T) {
		t.Parallel()
		r := replayed(t, file, tenant.Until{})
		for _, path := range []string{"/_understudy/messages", "/_understudy/log", "/_understudy/dlq", "/v2/queues", "/_understudy/schedules"} {
			got, want := string(newClient(t, r).do("GET", path, "").ok().raw), string(newClient(t, u).do("GET", path, "").ok().raw)
			expect.Equal(t, path, withoutCursor(got), withoutCursor(want))
		}
	})
	t.Run("an earlier state has what there was", func(t *testing.T) {
		t.Parallel()
		r := replayed(t, file, tenant.Until{LSN: 2})
		body := string(newClient(t, r).do("GET", "/_understudy/messages", "").ok().raw)
		expect.Contains(t, "messages", body, "https://app.test/a")
		expect.Lacks(t, "messages", body, "https://app.test/b")
		expect.Contains(t, "page", string(newClient(t, r).do("GET", "/_understudy/ui/messages", "").ok().raw), "https://app.test/a")
	})
	t.Run("nothing can be changed", func(t *testing.T) {
		t.Parallel()
		r := replayed(t, file, tenant.Until{})
		c := newClient(t, r)
		before, err := r.Snapshot()
		expect.NoError(t, err)
		for _, call := range [][3]string{
			{"POST", "/v2/publish/https://app.test/x", "x"}, {"DELETE", "/v2/queues/q", ""}, {"POST", "/v2/keys/rotate", ""}, {"POST", "/_understudy/reset", ""},
			{"POST", "/_understudy/clock/advance", `{"by":"1h"}`}, {"PUT", "/_understudy/clock", `{"mode":"real"}`}, {"PUT", "/_understudy/stubs", `[]`}, {"PUT", "/_understudy/accounts/new", ""},
			{"POST", "/_understudy/as/svcUser/v2/publish/https://app.test/x", "x"}, {"GET", "/kv/get/x", ""}, {"GET", "/kv/set/x/y", ""}, {"POST", "/_understudy/settle", "{}"},
		} {
			answer := c.do(call[0], call[1], call[2])
			expect.Equal(t, call[1], answer.status, http.StatusForbidden)
			expect.Contains(t, call[1], string(answer.raw), "replays a journal")
			expect.Lacks(t, call[1], strings.TrimSpace(string(answer.raw)), "\n")
		}
		after, err := r.Snapshot()
		expect.NoError(t, err)
		state := func(text []byte) string {
			_, rest, _ := strings.Cut(string(text), `"accounts"`)
			rest, _, _ = strings.Cut(rest, `"checksum"`)
			return rest
		}
		expect.Equal(t, "state", state(after), state(before))
		expect.Equal(t, "deliveries", len(r.Deliveries()), 0)
	})
	t.Run("no secret is in the file", func(t *testing.T) {
		t.Parallel()
		text, err := os.ReadFile(file)
		expect.NoError(t, err)
		for _, secret := range []string{"s3cret-of", u.Token()} {
			expect.Lacks(t, "file", string(text), secret)
		}
		for _, v := range u.Env() {
			if strings.Contains(v.Name, "KEY") || strings.Contains(v.Name, "TOKEN") || strings.Contains(v.Name, "PASSWORD") {
				expect.Lacks(t, "file", string(text), v.Value)
			}
		}
	})
}

// withoutCursor is a list without its marks of pages, which a secret of the server is in.
func withoutCursor(body string) string {
	body = strings.ReplaceAll(body, `Bearer ***`, "***")
	head, _, _ := strings.Cut(body, `"cursor"`)
	return head
}

func TestTheJournalOfAnAccountAtWork(t *testing.T) {
	t.Parallel()
	type answer struct {
		First, Last struct{ LSN uint64 }
		Record      struct {
			LSN  uint64
			Kind string
		}
		State struct{ Messages map[string]int }
	}
	ask := func(t *testing.T, c *client, query string) (a answer) {
		t.Helper()
		expect.NoError(t, json.Unmarshal(c.do("GET", "/_understudy/journal"+query, "").ok().raw, &a))
		return a
	}
	t.Run("the state after each record is that which the account had", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Store: folder(t, t.TempDir())})
		c := newClient(t, u)
		want := map[uint64]string{}
		for i := range 150 {
			u.Publish(fmt.Sprintf("https://app.test/%d", i), nil, "Svc-Delay: 1h")
			a := ask(t, c, fmt.Sprintf("?lsn=%d", i+2)) // the first is the header
			want[a.Last.LSN] = fmt.Sprint(a.State.Messages)
			expect.Equal(t, "created", a.State.Messages["CREATED"], i+1)
		}
		for _, lsn := range []uint64{1, 2, 3, 49, 50, 51, 99, 100, 101, 102, 103, 150, 151, 2, 150} {
			a := ask(t, c, fmt.Sprintf("?lsn=%d", lsn))
			expect.Equal(t, "record", a.Record.LSN, lsn)
			expect.Equal(t, "created", a.State.Messages["CREATED"], int(lsn)-1)
		}
	})
	t.Run("a journal that begins with a snapshot goes back to that", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		compacted(t, dir)
		u := mockserver.RunT(t, mockserver.Config{Store: folder(t, dir)})
		c := newClient(t, u)
		a := ask(t, c, "")
		if a.First.LSN < 2 {
			t.Fatalf("the journal begins with record %d: it was not compacted", a.First.LSN)
		}
		first := ask(t, c, fmt.Sprintf("?lsn=%d", a.First.LSN))
		expect.Equal(t, "kind", first.Record.Kind, "")
		refused := c.do("GET", fmt.Sprintf("/_understudy/journal?lsn=%d", a.First.LSN-1), "")
		expect.Equal(t, "status", refused.status, http.StatusBadRequest)
		expect.Contains(t, "refusal", string(refused.raw), "the journal was compacted, and earlier states are gone")
	})
	t.Run("without --data there is none", func(t *testing.T) {
		t.Parallel()
		refused := newClient(t, mockserver.RunT(t)).do("GET", "/_understudy/journal", "")
		expect.Equal(t, "status", refused.status, http.StatusUnprocessableEntity)
		expect.Contains(t, "refusal", string(refused.raw), "serve --data DIR")
	})
}

// compacted leaves a folder whose journal is a snapshot.
func compacted(t *testing.T, dir string) {
	t.Helper()
	st := open(t, dir)
	u, err := mockserver.Run(mockserver.Config{Store: st, Clock: "manual"})
	expect.NoError(t, err)
	newClient(t, &mockserver.TestServer{Server: u}).do("POST", "/v2/publish/https://app.test/x", "", "Svc-Delay: 1h").ok()
	expect.NoError(t, errors.Join(u.Close(), st.Close()))
	st = open(t, dir)
	ids, _ := st.Accounts(t.Context())
	log, err := st.Open(t.Context(), ids[0])
	expect.NoError(t, err)
	a, _, err := tenant.ReadHistory(t.Context(), engine.Config{ID: ids[0], Wire: wire.Format{}}, log, tenant.Until{})
	expect.NoError(t, err)
	expect.NoError(t, errors.Join(log.Save(t.Context(), a.SaveTo), a.Close(), log.Close(), st.Close()))
}

func open(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	expect.NoError(t, err)
	return st
}

var _ store.Store = (*saved.File)(nil)

// TestAnExportedJournalHasNoHeadersOfHooks: third parties authenticate their calls of hooks,
// which the journal keeps as the data of an event.
func TestAnExportedJournalHasNoHeadersOfHooks(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t, mockserver.Config{Store: folder(t, t.TempDir())}))
	run := c.do("POST", "/v2/trigger/https://app.test/", "{}", "Svc-Delay: 1h").ok().text("workflowRunId")
	c.do("POST", "/v2/workflows/hooks/svcUser/"+run+"/paid?key=PLANTED&token%20=PLANTED", "a visible body", "Cookie: a=PLANTED", "X-Api-Key: PLANTED", "X-Order: seven").ok()
	user := `{"body":"x","header":{"X-Api-Key":["mine"]},"host":"h","method":"POST","proto":"http","url":"/","name":"Alice"}` // not of a hook
	c.do("POST", "/v2/notify/paid", user).ok()
	for query, wanted := range map[string][]string{"": {"seven", base64.StdEncoding.EncodeToString([]byte("a visible body")), "Alice"}, "?bodies=false": {"seven"}} {
		text := string(c.do("GET", "/_understudy/journal/export"+query, "").ok().raw)
		expect.Contains(t, "export"+query, text, run)
		expect.Lacks(t, "export"+query, text, "PLANTED")
		for _, part := range wanted {
			expect.Contains(t, "export"+query, text, part)
		}
		if query != "" {
			expect.Lacks(t, "export"+query, text, "Alice")
		}
	}
}
