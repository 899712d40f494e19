package mockserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// beginning is where the clocks of these tests begin.
var beginning = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

const lastMillisecond = 253_402_300_799_999 // of the year 9999

// showsClock demands that the control API shows a manual clock at a time.
func (c *client) showsClock(t *testing.T, at time.Time) {
	t.Helper()
	a := c.do("GET", "/_understudy/clock", "").ok()
	expect.Equal(t, "time of the clock", a.number("now"), at.UnixMilli())
	expect.Equal(t, "mode of the clock", a.text("mode"), "manual")
}

func TestClockBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ method, path, body, want string }{
		"put clock beyond 9999":      {"PUT", "clock", fmt.Sprintf(`{"now":%d}`, lastMillisecond+1), "now"},
		"put clock far beyond 9999":  {"PUT", "clock", `{"now":9223372036854775807}`, "now"},
		"put clock before 1970":      {"PUT", "clock", `{"now":-1}`, "now"},
		"put clock with a mode":      {"PUT", "clock", `{"mode":"auto","now":9223372036854775807}`, "now"},
		"advance to beyond 9999":     {"POST", "clock/advance", fmt.Sprintf(`{"to":%d}`, lastMillisecond+1), "to"},
		"advance to before 1970":     {"POST", "clock/advance", `{"to":-62135596800000}`, "to"},
		"advance by what overflows":  {"POST", "clock/advance", `{"by":"100000000d"}`, "by"},
		"advance by three centuries": {"POST", "clock/advance", `{"by":"3000000h"}`, "by"},
		"advance by a negative time": {"POST", "clock/advance", `{"by":"-1h"}`, `body /by: invalid value "-1h": must be a duration of 0 or more, with units, such as 90s, 24h or 7d, at most 365d`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, mockserver.Config{Start: beginning})
			client := newClient(t, u)
			client.do(c.method, "/_understudy/"+c.path, c.body).refused(400, c.want)
			client.showsClock(t, beginning)
		})
	}
	t.Run("the last millisecond of 9999 can be reached", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Start: beginning})
		c := newClient(t, u)
		expect.Equal(t, "time of the clock", c.do("PUT", "/_understudy/clock", fmt.Sprintf(`{"now":%d}`, lastMillisecond)).ok().number("now"), lastMillisecond)
		c.do("POST", "/_understudy/clock/advance", `{"by":"1ms"}`).refused(400, "9999")
		c.do("GET", "/_understudy/snapshot", "").ok()
	})
	t.Run("a server does not begin there", func(t *testing.T) {
		t.Parallel()
		if _, err := mockserver.New(mockserver.Config{Clock: "manual", Start: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
			t.Error("a start in the year 10000: got no error, want one")
		}
	})
	t.Run("a schedule that fires for centuries ends at the time limit", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Start: beginning})
		c := newClient(t, u)
		c.do("POST", "/v2/schedules/https://e.test/", "x", "Svc-Cron: * * * * *", "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: parallelism=1").ok()
		c.do("POST", "/v2/flowControl/k/pause", "").ok() // nothing is ever in flight
		c.do("POST", "/_understudy/clock/advance", fmt.Sprintf(`{"to":%d,"timeout":"100ms"}`, lastMillisecond)).refused(504, "timeout: 100ms of real time passed: the clock has reached ")
		now := c.do("GET", "/_understudy/clock", "").ok().number("now")
		if now >= lastMillisecond {
			t.Errorf("time of the clock: got %d, want it before the end, %d", now, lastMillisecond)
		}
		if now <= beginning.UnixMilli() {
			t.Errorf("time of the clock: got %d, want it after the beginning, %d", now, beginning.UnixMilli())
		}
		c.do("POST", "/_understudy/reset", "").ok()
	})
}

func TestResetBringsTimeBack(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T, mode string) (*mockserver.TestServer, *client) {
		u := mockserver.RunT(t, mockserver.Config{Start: beginning, Clock: mode})
		u.Stub("*", 200)
		return u, newClient(t, u)
	}
	t.Run("a manual clock shows the configured time", func(t *testing.T) {
		t.Parallel()
		u, c := setup(t, "manual")
		u.Publish("https://e.test/", nil, "Svc-Delay: 30d")
		c.do("PUT", "/_understudy/clock", fmt.Sprintf(`{"now":%d}`, lastMillisecond)).ok()
		c.do("POST", "/_understudy/reset", "").ok()
		c.showsClock(t, beginning)
	})
	t.Run("what is published then is delivered at its time", func(t *testing.T) {
		t.Parallel()
		u, c := setup(t, "manual")
		u.Advance(1000 * time.Hour)
		c.do("POST", "/_understudy/reset", "").ok()
		u.Stub("*", 200)
		u.Publish("https://e.test/", nil, "Svc-Delay: 1h")
		u.Advance(time.Hour)
		list := u.Deliveries()
		if expect.Equal(t, "number of deliveries", len(list), 1) {
			expect.Equal(t, "time of the delivery", list[0].At, beginning.Add(time.Hour).UnixMilli())
		}
	})
	t.Run("the mode is that of the configuration", func(t *testing.T) {
		t.Parallel()
		_, c := setup(t, "real")
		c.do("PUT", "/_understudy/clock", fmt.Sprintf(`{"mode":"manual","now":%d}`, lastMillisecond)).ok()
		c.do("POST", "/_understudy/reset", "").ok()
		a := c.do("GET", "/_understudy/clock", "").ok()
		expect.Equal(t, "mode of the clock", a.text("mode"), "real")
		if latest := time.Now().Add(time.Hour).UnixMilli(); a.number("now") > latest {
			t.Errorf("time of the clock: got %d, want at most %d", a.number("now"), latest)
		}
	})
	t.Run("only that of the account", func(t *testing.T) {
		t.Parallel()
		u, c := setup(t, "manual")
		c.do("PUT", "/_understudy/accounts/other", "").ok()
		u.Advance(time.Hour)
		c.do("POST", "/_understudy/reset?account=other", "").ok()
		c.showsClock(t, beginning.Add(time.Hour))
	})
}

// TestDurationsHaveUnits refuses a number without a unit wherever the control API takes a
// duration: a reader cannot know that it means seconds.
func TestDurationsHaveUnits(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	for name, r := range map[string]struct{ method, path, body string }{
		"an advance":                  {"POST", "clock/advance", `{"by":"24"}`},
		"the time limit of one":       {"POST", "clock/advance", `{"by":"24h","timeout":"24"}`},
		"the time limit of a settle":  {"POST", "settle", `{"timeout":"24"}`},
		"the time limit of a wait":    {"POST", "await", `{"on":"events","timeout":"24"}`},
		"the move of a clock in one":  {"POST", "await", `{"on":"events","advance":"24"}`},
		"the delay of a stub":         {"PUT", "stubs", `[{"url":"https://app.test/*","answers":[{"delay":"24"}]}]`},
		"the delay of a fault":        {"PUT", "faults", `[{"on":"delivery","delay":"24"}]`},
		"a time of a fixture":         {"POST", "fixtures", `{"version":1,"dlq":[{"at":"-24","destination":"https://app.test/"}]}`},
		"the delay of a fixture stub": {"POST", "fixtures", `{"version":1,"stubs":[{"url":"https://app.test/*","answers":[{"delay":"24"}]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.do(r.method, "/_understudy/"+r.path, r.body).refused(400, "24")
		})
	}
	now := c.do("GET", "/_understudy/clock", "").ok().number("now")
	c.do("POST", "/_understudy/clock/advance", `{"by":"0"}`).ok()
	expect.Equal(t, "time after an advance by 0", c.do("GET", "/_understudy/clock", "").ok().number("now"), now)
}

// TestStubStatuses refuses statuses that are no final answer.
func TestStubStatuses(t *testing.T) {
	t.Parallel()
	c := newClient(t, mockserver.RunT(t))
	for status, fine := range map[string]bool{"99": false, "100": false, "199": false, "200": true, "489": true, "599": true, "600": false, "999": false, `"999"`: false, `"$1"`: true} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			answer := c.do("POST", "/_understudy/stubs", `{"url":"https://app.test/*","answers":[{"status":`+status+`}]}`)
			if fine {
				answer.ok()
			} else {
				answer.refused(400, "an integer from 200 to 599")
			}
		})
	}
}

// TestLimitsAreNamed settles and moves the clock while a destination does not answer: the error
// names the time limit and what it was spent on.
func TestLimitsAreNamed(t *testing.T) {
	t.Parallel()
	begun, answer := make(chan bool, 1), make(chan bool)
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun <- true
		<-answer
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(answer) })
	c := newClient(t, mockserver.RunT(t))
	c.do("POST", "/v2/publish/"+slow.URL, "").ok()
	<-begun
	c.do("POST", "/_understudy/settle", `{"timeout":"50ms"}`).refused(504, "timeout: 50ms of real time passed: settle: attempts still in flight: 1, ready: 0")
	c.do("POST", "/_understudy/clock/advance", `{"by":"1h","timeout":"50ms"}`).refused(504, "timers: 0, attempts: 0, in flight: 1")
	c.do("POST", "/_understudy/await", `{"on":"events","state":"FAILED","advance":"1h","timeout":"50ms"}`).refused(504, "await: 0 of 1 events matched in time")
}
