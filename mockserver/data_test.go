package mockserver_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/engine/store/sqlite"
	"github.com/understudy-mock/understudy/engine/store/storetest"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// folder opens a data folder.
func folder(t *testing.T, dir string) store.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	expect.NoError(t, err)
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// crashed is a data folder as the death of the process at this instant leaves it.
func crashed(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	expect.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

func TestDataSurvivesACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	u := mockserver.RunT(t, mockserver.Config{Store: folder(t, dir)})
	c := newClient(t, u)
	c.do("PUT", "/_understudy/clock", `{"mode":"manual"}`).ok()
	c.do("PUT", "/_understudy/rewrites", `{"https://old.test":"https://app.test"}`).ok()
	c.do("PUT", "/_understudy/accounts/other", "").ok()
	u.Stub("https://app.test/*", 200)
	u.Publish("https://app.test/a", []byte("one"), "Svc-Delay: 10s", "Svc-Retries: 5")
	u.Publish("https://app.test/b", []byte{0xff, 0}, "Svc-Delay: 20s")
	copied := crashed(t, dir)
	before := len(u.Deliveries())
	u.Advance(24 * time.Hour)
	want := delivered(u.Deliveries()[before:])
	if n := strings.Count(want, " 200 "); n != 2 {
		t.Fatalf("%d deliveries succeed, want 2: %s", n, want)
	}

	v := mockserver.RunT(t, mockserver.Config{Store: folder(t, copied)})
	d := newClient(t, v)
	expect.Equal(t, "the clock", d.do("GET", "/_understudy/clock", "").ok().text("mode"), "manual")
	if got := d.do("GET", "/_understudy/rewrites", "").ok().raw; !strings.Contains(string(got), "https://old.test") {
		t.Errorf("rewrites %s", got)
	}
	if got := d.do("GET", "/_understudy/accounts", "").ok().raw; !strings.Contains(string(got), `"other"`) {
		t.Errorf("accounts %s", got)
	}
	v.Advance(24 * time.Hour)
	expect.Equal(t, "after the crash", delivered(v.Deliveries()), want)
}

// A start without a clock continues with the one that each account had, however it was given.
func TestDataKeepsTheClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ was, given, want string }{
		{"manual", "", "manual"}, {"auto", "", "auto"}, {"", "", "real"}, {"real", "", "real"},
		{"manual", "real", "real"}, {"manual", "auto", "auto"}, {"", "manual", "manual"},
	} {
		t.Run(fmt.Sprintf("--clock %q and then %q", c.was, c.given), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			clockOf := func(cfg mockserver.Config) answer {
				s, err := mockserver.Run(cfg)
				expect.NoError(t, err)
				t.Cleanup(func() { _ = s.Close() }) // the store reports its errors
				return newClient(t, &mockserver.TestServer{Server: s}).do("GET", "/_understudy/clock", "").ok()
			}
			log := &bytes.Buffer{}
			before := clockOf(mockserver.Config{Store: folder(t, dir), Clock: c.was}).number("now")
			got := clockOf(mockserver.Config{Store: folder(t, crashed(t, dir)), Clock: c.given, Log: slog.New(slog.NewTextHandler(log, nil))})
			expect.Equal(t, "the clock", got.text("mode"), c.want)
			if got.number("now") < before {
				t.Errorf("the clock shows %v, before the time of the first start", got.number("now"))
			}
			if says := strings.Contains(log.String(), "--clock"); says != (c.given == "" && c.want != "real") {
				t.Errorf("the log is %q", log)
			}
		})
	}
}

// A journal that has grown is replaced by a snapshot, and nothing is lost with it.
func TestDataIsCompacted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st := folder(t, dir)
	u := mockserver.RunT(t, mockserver.Config{Store: st})
	const messages, size = 20, 1<<20 - 1
	for range messages {
		u.Publish("https://app.test/a", bytes.Repeat([]byte("x"), size), "Svc-Delay: 1h")
	}
	for small := false; !small; {
		select {
		case <-t.Context().Done():
			t.Fatal("no snapshot was saved")
		case <-time.After(10 * time.Millisecond):
		}
		small = st.Stats().Snapshots > 0
		for _, b := range st.Stats().Behind {
			small = small && b.Bytes <= 16<<20
		}
	}
	v := mockserver.RunT(t, mockserver.Config{Store: folder(t, crashed(t, dir))})
	o := newClient(t, v).do("GET", "/_understudy/health", "").ok()
	expect.Equal(t, "number of messages", o.number("memory", "backlog", "messages"), messages)
}

// All records are part of a snapshot after a clean stop, so that a version with other rules or
// libraries can continue.
func TestACleanStopPreparesAnUpgrade(t *testing.T) {
	t.Parallel()
	const message, schedule = "messages:\n  - {destination: https://app.test/a, headers: {Svc-Delay: 1h}}\n", "schedules:\n  - {id: nightly, cron: 0 * * * *, destination: https://app.test/b}\n"
	for name, fixture := range map[string]string{"with a schedule": message + schedule, "without one": message} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			t.Run("first start", func(t *testing.T) {
				mockserver.RunT(t, mockserver.Config{Store: folder(t, dir), Fixtures: []mockserver.Fixture{{Name: "f.yaml", Text: []byte(fixture)}}})
			})
			st := folder(t, dir)
			ids, err := st.Accounts(t.Context())
			if err != nil || len(ids) != 1 {
				t.Fatalf("accounts %v, %v", ids, err)
			}
			l, err := st.Open(t.Context(), ids[0])
			expect.NoError(t, err)
			in, err := l.Snapshot(t.Context())
			if err != nil || in == nil {
				t.Errorf("snapshot: got %v, %v, want one", in, err)
			}
			records := 0
			for _, err := range l.Records(t.Context()) {
				expect.NoError(t, err)
				records++
			}
			expect.Equal(t, "records behind it", records, 0)
		})
	}
}

// A snapshot that is damaged is refused with the line of the store, which says what can be done,
// also where its text has become something else than a snapshot.
func TestDataWithADamagedSnapshot(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	writeGolden(t, made)
	for name, c := range map[string]struct{ from, to string }{
		"a value has changed":       {"https://app.test/yearly", "https://app.test/monthl"},
		"the document is cut":       {`"schedules"`, `"schedules}`},
		"a member has another name": {`"schedules"`, `"scheduler"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := crashed(t, made)
			file := filepath.Join(dir, "understudy.db")
			text, err := os.ReadFile(file)
			expect.NoError(t, err)
			broken := bytes.ReplaceAll(text, []byte(c.from), []byte(c.to))
			if bytes.Equal(broken, text) {
				t.Fatalf("the folder has no %s", c.from)
			}
			expect.NoError(t, os.WriteFile(file, broken, 0o600))
			for what, until := range map[string]*tenant.Until{"serve": nil, "replay": {}} {
				st := folder(t, dir)
				ids, err := st.Accounts(t.Context())
				expect.NoError(t, err)
				_, err = mockserver.Run(mockserver.Config{Store: st, Replay: until, Accounts: []mockserver.Account{{ID: ids[0], Token: "t"}}})
				if err == nil || !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "its snapshot: damaged: restore a copy of the folder") {
					t.Errorf("%s: got %v, want the line of the store", what, err)
				}
				if err := st.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A fixture is for a folder that is new.
func TestDataHasFixturesOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fixture := mockserver.Fixture{Name: "f.yaml", Text: []byte("messages:\n  - destination: https://app.test/a\n    headers: {Svc-Delay: 1h}\n")}
	for _, start := range []string{"first", "second"} {
		t.Run(start+" start", func(t *testing.T) {
			u := mockserver.RunT(t, mockserver.Config{Store: folder(t, dir), Fixtures: []mockserver.Fixture{fixture}})
			expect.Equal(t, "number of messages", newClient(t, u).do("GET", "/_understudy/health", "").ok().number("memory", "backlog", "messages"), 1)
		})
	}
}

var errBroken = errors.New("the disk is full")

// A store that fails: what is not durable is not accepted, reads continue, and
// the server recovers with its store.
func TestDataThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	st := &storetest.Faulty{Store: folder(t, t.TempDir())}
	u := mockserver.RunT(t, mockserver.Config{Store: st})
	c := newClient(t, u)
	u.Stub("https://app.test/*", 200)
	st.Fail(errBroken)
	refused := c.do("POST", "/v2/publish/https://app.test/a", "one")
	expect.Equal(t, "status", refused.status, http.StatusServiceUnavailable)
	if refused.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if text := refused.text("error"); !strings.Contains(text, errBroken.Error()) {
		t.Errorf("error %q does not say %q", text, errBroken)
	}
	expect.Equal(t, "a read has status", c.do("GET", "/v2/logs", "").status, http.StatusOK)
	if n := len(c.do("GET", "/_understudy/deliveries", "").ok().list("entries")); n != 0 {
		t.Errorf("%d deliveries of what was not accepted, want 0", n)
	}
	st.Fail(nil)
	c.do("POST", "/v2/publish/https://app.test/b", "two").ok()
}

// The folder of each form of the database, which testdata has, can be read by this version.
func TestDataOfEveryFormOpens(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	writeGolden(t, made)
	if os.Getenv("UPDATE") != "" {
		for _, name := range []string{"understudy.db", "mark"} {
			text, err := os.ReadFile(filepath.Join(made, name))
			if err == nil {
				err = os.MkdirAll("testdata/data-1", 0o750)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join("testdata/data-1", name), text, 0o600)
			}
			expect.NoError(t, err)
		}
	}
	forms, err := filepath.Glob("testdata/data-*")
	if err != nil || len(forms) == 0 {
		t.Fatalf("folders %v, %v", forms, err)
	}
	for _, dir := range append(forms, made) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			st := folder(t, crashed(t, dir))
			u := mockserver.RunT(t, mockserver.Config{Store: st})
			c := newClient(t, u)
			expect.Equal(t, "number of schedules", len(c.do("GET", "/v2/schedules", "").ok().list()), 1)
			expect.Equal(t, "number of messages in the DLQ", len(c.do("GET", "/v2/dlq", "").ok().list("messages")), 1)
			u.Advance(2 * time.Hour)
			if got := delivered(u.Deliveries()); strings.Count(got, " 200 ") != 1 {
				t.Errorf("delivered %s, want one message", got)
			}
		})
	}
}

// writeGolden makes a folder with something of most nouns. The clean stop replaces its records by
// a snapshot, since there is a schedule.
func writeGolden(t *testing.T, dir string) {
	t.Helper()
	t.Run("written", func(t *testing.T) {
		st := folder(t, dir)
		u := mockserver.RunT(t, mockserver.Config{Store: st, Seed: 1})
		c := newClient(t, u)
		u.Stub("https://app.test/*", 200)
		u.Stub("https://app.test/dead", 500)
		u.Publish("https://app.test/dead", nil, "Svc-Retries: 0")
		u.Settle()
		u.Publish("https://app.test/a", []byte("body"), "Svc-Delay: 1h")
		c.do("POST", "/v2/schedules/https://app.test/yearly", "x", "Svc-Cron: 0 0 1 1 *").ok()
		c.do("POST", "/v2/queues", `{"queueName":"line","parallelism":2}`).ok()
	})
}

// What moves the clock, resets an account, replaces its state or opens accounts outlives a
// crash as well.
func TestDataOfEveryKindOfAccount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	u := mockserver.RunT(t, mockserver.Config{Store: folder(t, dir), AnyAccount: true})
	c := newClient(t, u)
	u.Publish("https://app.test/gone", nil, "Svc-Delay: 1h")
	c.do("POST", "/_understudy/reset", "").ok()
	u.Publish("https://app.test/kept", nil, "Svc-Delay: 1h")
	saved := c.do("GET", "/_understudy/snapshot", "").ok().raw
	u.Publish("https://app.test/later", nil, "Svc-Delay: 1h")
	c.do("PUT", "/_understudy/snapshot", string(saved)).ok()
	u.Advance(10 * time.Minute)
	c.do("POST", "/v2/publish/https://app.test/other", "x", "Svc-Delay: 1h", "Authorization: Bearer somebody").ok()
	now := c.do("GET", "/_understudy/clock", "").ok().number("now")

	v := mockserver.RunT(t, mockserver.Config{Store: folder(t, crashed(t, dir)), AnyAccount: true})
	d := newClient(t, v)
	expect.Equal(t, "the clock", d.do("GET", "/_understudy/clock", "").ok().number("now"), now)
	if n := len(d.do("GET", "/_understudy/accounts", "").ok().list("accounts")); n < 2 {
		t.Errorf("%d accounts, want the one that a token has opened as well", n)
	}
	own, other := string(d.do("GET", "/v2/logs", "").ok().raw), string(d.do("GET", "/v2/logs", "", "Authorization: Bearer somebody").ok().raw)
	for text, want := range map[string]bool{"gone": false, "kept": true, "later": false, "other": false} {
		if strings.Contains(own, "app.test/"+text) != want {
			t.Errorf("the log has %s: %v, want %v", text, !want, want)
		}
	}
	expect.Contains(t, "the log of the other account", other, "app.test/other")
}

// TestReadyMeansCanWrite: a load balancer must not send requests to a server that
// would refuse them.
func TestReadyMeansCanWrite(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "understudy.db", "understudy.db-wal", "mark", "lock"} {
		t.Run("without "+filepath.Join("the folder", name), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			c := newClient(t, mockserver.RunT(t, mockserver.Config{Store: folder(t, dir)}))
			publish := func() answer {
				return c.do("POST", "/v2/publish/https://app.test/", "x", "Svc-Delay: 1h")
			}
			publish().ok()
			c.do("GET", "/_understudy/readyz", "").ok()
			gone := filepath.Join(dir, name)
			expect.NoError(t, os.Rename(gone, dir+".away"))
			const reason = "was deleted or replaced"
			c.do("GET", "/_understudy/readyz", "").refused(503, reason, dir)
			publish().refused(503, reason)
			c.do("PUT", "/_understudy/accounts/new", "").refused(503, reason)
			c.do("GET", "/_understudy/livez", "").ok()
			c.do("GET", "/v2/dlq", "").ok()
			if name != "" { // another file in its place
				expect.NoError(t, os.WriteFile(gone, nil, 0o600))
				c.do("GET", "/_understudy/readyz", "").refused(503, reason)
			}
			expect.NoError(t, os.Rename(dir+".away", gone))
			for c.do("GET", "/_understudy/readyz", "").status != http.StatusOK { // until the records are repeated
				if err := clock.Pause(t.Context(), 10*time.Millisecond); err != nil {
					t.Fatal("not ready although the files are back")
				}
			}
			publish().ok()
		})
	}
	t.Run("on a disk that does not take anything", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		c := newClient(t, mockserver.RunT(t, mockserver.Config{Store: folder(t, dir)}))
		if err := os.Mkdir(filepath.Join(dir, "probe"), 0o700); err != nil { // in the place of the file that tries the disk
			t.Fatal(err)
		}
		for c.do("GET", "/_understudy/readyz", "").status == http.StatusOK { // as long as an earlier write proves that the disk is fine
			if err := clock.Pause(t.Context(), 10*time.Millisecond); err != nil {
				t.Fatal("ready although the disk cannot be written")
			}
		}
		c.do("GET", "/_understudy/readyz", "").refused(503, dir, "cannot write")
	})
}
