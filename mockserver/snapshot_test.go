package mockserver_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// delivered is what was delivered, in one line: path, status, clock.
func delivered(list []mockserver.Delivery) string {
	var out []string
	for _, d := range list {
		out = append(out, fmt.Sprint(strings.TrimPrefix(d.URL, "https://app.test/"), " ", d.Response.Status, " at ", d.At))
	}
	return strings.Join(out, ", ")
}

func TestASnapshotGoesOnInAnotherServer(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Seed: 7})
	c := newClient(t, u)
	u.Stub("https://app.test/*", 500, 500, 500, 200)
	u.Publish("https://app.test/a", []byte("one"), "Svc-Delay: 10s", "Svc-Retries: 5")
	u.Publish("https://app.test/b", []byte{0xff, 0}, "Svc-Retries: 5")
	u.Advance(9 * time.Second)
	text := c.do("GET", "/_understudy/snapshot", "").ok().raw
	before := len(u.Deliveries())
	u.Advance(24 * time.Hour)
	want := delivered(u.Deliveries()[before:])
	expect.Equal(expect.Now(t), "before", before, 1)
	expect.Equal(expect.Now(t), "number of failed deliveries", strings.Count(want, " 500 "), 2)
	expect.Equal(expect.Now(t), "number of successful deliveries", strings.Count(want, " 200 "), 2)
	for _, clock := range []string{"manual", "real", "auto"} {
		v := mockserver.RunT(t, mockserver.Config{Clock: clock})
		other := newClient(t, v)
		v.Publish(v.URL()+"/_understudy/sink/status/200", []byte("gone by then"))
		v.Settle()
		loaded := other.do("PUT", "/_understudy/snapshot", string(text)).ok()
		expect.Equal(t, "clock after loading into "+clock, loaded.text("accounts", 0, "clock"), "manual")
		expect.True(t, "a time after loading into "+clock, loaded.number("accounts", 0, "now") != 0)
		if again := other.do("GET", "/_understudy/snapshot", "").ok(); !bytes.Equal(state(again.raw), state(text)) {
			t.Errorf("%s: loaded and saved again:\n%s\nwas:\n%s", clock, again.raw, text)
		}
		v.Advance(24 * time.Hour)
		if got := delivered(v.Deliveries()); got != want {
			t.Errorf("%s: after the snapshot %s, want %s", clock, got, want)
		}
	}
}

// TestFaultsGoOnInAnotherServer: what is left of their times, and no more.
func TestFaultsGoOnInAnotherServer(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	c.do("PUT", "/_understudy/faults", `[{"on":"api","operation":"listDLQ","preset":"rate-limit-burst","times":3},{"on":"delivery","url":"https://app.test/*","delay":"3s"}]`).ok()
	c.do("GET", "/v2/dlq", "").refused(429)
	text := c.do("GET", "/_understudy/snapshot", "").ok().raw
	other := newClient(t, mockserver.RunT(t))
	other.do("PUT", "/_understudy/snapshot", string(text)).ok()
	for range 2 {
		other.do("GET", "/v2/dlq", "").refused(429, "burst")
	}
	other.do("GET", "/v2/dlq", "").ok()
	expect.Contains(t, "the faults", string(other.do("GET", "/_understudy/faults", "").ok().raw), `"delay":"3s"`)
	broken := strings.Replace(editable(text), `"on":"delivery"`, `"on":"nothing"`, 1)
	other.do("PUT", "/_understudy/snapshot", broken).refused(400, "nothing", "delivery")
}

// state is a snapshot without the time of its making.
func state(text []byte) []byte {
	_, rest, _ := bytes.Cut([]byte(editable(text)), []byte(`"accounts":`))
	return rest
}

// editable is a snapshot without its checksum: one to change and load.
func editable(text []byte) string {
	before, _, _ := strings.Cut(string(text), `,"checksum":"`)
	return before + "}\n"
}

func TestSnapshotsOfOneAccount(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Accounts: []mockserver.Account{{ID: "a", Token: "token-a"}, {ID: "b", Token: "token-b"}}})
	c := newClient(t, u)
	u.Publish("https://app.test/a", nil, "Svc-Delay: 1h")
	a := c.do("GET", "/_understudy/snapshot?account=a", "").ok()
	expect.Equal(expect.Now(t), "number of accounts", len(a.list("accounts")), 1)
	expect.Equal(expect.Now(t), "id of the account", a.text("accounts", 0, "id"), "a")
	expect.Equal(t, "number of accounts of 2", len(c.do("GET", "/_understudy/snapshot", "").ok().list("accounts")), 2)
	waiting := func(token string) int {
		return len(c.do("GET", "/v2/logs", "", "Authorization: Bearer "+token).ok().list("logs"))
	}
	c.do("PUT", "/_understudy/snapshot?account=b", string(a.raw)).ok()
	expect.Equal(t, "events of a after b took its state", waiting("token-a"), 1)
	expect.Equal(t, "events of b after it took the state of a", waiting("token-b"), 1)
	c.do("POST", "/_understudy/reset", "").ok()
	expect.Equal(t, "events of a after its reset", waiting("token-a"), 0)
	expect.Equal(t, "events of b after the reset of a", waiting("token-b"), 1)
	both := c.do("GET", "/_understudy/snapshot", "").ok()
	fresh := mockserver.RunT(t)
	newClient(t, fresh).do("PUT", "/_understudy/snapshot", string(both.raw)).ok() // which makes the accounts
	if got := newClient(t, fresh).do("GET", "/v2/logs", "", "Authorization: Bearer token-b").ok().list("logs"); len(got) != 1 {
		t.Errorf("%d events of the account that was made", len(got))
	}
	newClient(t, fresh).do("PUT", "/_understudy/snapshot?account=nobody", string(both.raw)).refused(404)
}

func TestADamagedSnapshotIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Accounts: []mockserver.Account{{ID: "a", Token: "token-a"}, {ID: "b", Token: "token-b"}}})
	c := newClient(t, u)
	u.Stub("https://app.test/*", 500)
	u.Publish("https://app.test/a", nil, "Svc-Delay: 1h")
	text := editable(c.do("GET", "/_understudy/snapshot", "").ok().raw)
	u.Publish("https://app.test/b", nil, "Svc-Delay: 1h")
	now := state(c.do("GET", "/_understudy/snapshot", "").ok().raw)
	last := func(old, now string) string {
		i := strings.LastIndex(text, old)
		return text[:i] + now + text[i+len(old):]
	}
	for name, row := range map[string]struct{ text, want string }{
		"no JSON":                      {"snapshot", `snapshot is damaged: unexpected 's' at byte 1: must be "{"`},
		"a text for a list":            {`{"version":2,"accounts":"x"}`, `snapshot is damaged: accounts: unexpected '"' at byte 25: must be "["`},
		"nothing":                      {"", ""},
		"cut off":                      {text[:len(text)/2], "damaged"},
		"no version":                   {"{}", "no version"},
		"a later version":              {strings.Replace(text, `"version":2`, `"version":3`, 1), "snapshot of version 3: this program reads version 2"},
		"a later version of the state": {last(`"version":2`, `"version":4`), "snapshot of version 4: this program reads version 2"},
		"an unknown name":              {strings.Replace(text, `"accounts"`, `"colour":1,"accounts"`, 1), "colour"},
		"the second account damaged":   {last(`"generator"`, `"generation"`), "generation"},
		"an account without state":     {`{"version":2,"accounts":[{"id":"a","token":"t"}]}`, "state"},
		"an account twice":             {strings.Replace(text, `"id":"b"`, `"id":"a"`, 1), "once"},
		"a token of another":           {strings.Replace(text, `"token-b"`, `"token-a"`, 1), "token"},
		"a stub that cannot be":        {strings.Replace(text, `"url":"https://app.test/*"`, `"url":"/(/"`, 1), "stubs/0/url: invalid value"},
		"a clock that is none":         {last(`"clock":"manual"`, `"clock":"sun"`), "sun"},
	} {
		a := c.do("PUT", "/_understudy/snapshot", row.text)
		a.refused(400, row.want)
		if strings.Contains(a.text("error"), "unexpected byte") {
			t.Errorf("%s: the words of the decoder: %s", name, a.raw)
		}
		if strings.Contains(a.text("error"), "\n") {
			t.Errorf("%s: more than one line: %s", name, a.raw)
		}
	}
	if after := state(c.do("GET", "/_understudy/snapshot", "").ok().raw); !bytes.Equal(now, after) {
		t.Errorf("the state has changed from\n%s\nto\n%s", now, after)
	}
}

// What is in flight at a clean stop is delivered after the restart, under the
// same number, and what was waiting as well.
func TestAStopInTheMiddleOfADelivery(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 8)
	stuck := newSink(t, func(_ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
	})
	first, err := mockserver.Run(mockserver.Config{})
	expect.NoError(t, err)
	r := httptest.NewRequest(http.MethodPost, "/v2/publish/"+stuck.URL+"/hook", strings.NewReader("body"))
	r.Header.Set("Authorization", "Bearer "+first.Token())
	w := httptest.NewRecorder()
	first.ServeHTTP(w, r)
	<-begun
	expect.NoError(t, first.Close())
	text, err := first.Snapshot()
	expect.NoError(t, err)
	second := mockserver.RunT(t, mockserver.Config{Snapshot: bytes.NewReader(text), Clock: "manual", Stubs: []mockserver.Stub{{URL: "*"}}})
	// The stubs are those of the snapshot: none. So it goes to the sink again.
	<-begun
	if c := newClient(t, second).do("GET", "/_understudy/clock", "").ok(); c.text("mode") != "manual" {
		t.Errorf("clock: %s", c.raw)
	}
	logs := newClient(t, second).do("GET", "/v2/logs", "").ok()
	expect.Equal(t, "log", fmt.Sprintln(logs.get("logs", 0, "state"), logs.get("logs", 1, "state"), len(logs.list("logs"))), "ACTIVE CREATED 2\n")
	if _, err := mockserver.Run(mockserver.Config{Snapshot: bytes.NewReader(text[:len(text)-9])}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged snapshot: %v", err)
	}
}
