package mockserver_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
)

// beginning is where the clocks of these tests begin.
var beginning = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

const lastMillisecond = 253_402_300_799_999 // of the year 9999

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
		"advance by a negative time": {"POST", "clock/advance", `{"by":"-1h"}`, "by"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, mockserver.Config{Start: beginning})
			client := newClient(t, u)
			client.do(c.method, "/_understudy/"+c.path, c.body).refused(400, c.want)
			if a := client.do("GET", "/_understudy/clock", "").ok(); a.number("now") != beginning.UnixMilli() || a.text("mode") != "manual" {
				t.Errorf("a refused request changed the clock: %s", a.raw)
			}
		})
	}
	t.Run("the last millisecond of 9999 can be reached", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Start: beginning})
		c := newClient(t, u)
		if a := c.do("PUT", "/_understudy/clock", fmt.Sprintf(`{"now":%d}`, lastMillisecond)).ok(); a.number("now") != lastMillisecond {
			t.Errorf("%s", a.raw)
		}
		c.do("POST", "/_understudy/clock/advance", `{"by":"1ms"}`).refused(400, "9999")
		c.do("GET", "/_understudy/snapshot", "").ok()
	})
	t.Run("a server does not begin there", func(t *testing.T) {
		t.Parallel()
		if _, err := mockserver.New(mockserver.Config{Clock: "manual", Start: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a schedule that fires for centuries ends at the time limit", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t, mockserver.Config{Start: beginning})
		c := newClient(t, u)
		c.do("POST", "/v2/schedules/https://e.test/", "x", "Svc-Cron: * * * * *", "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: parallelism=1").ok()
		c.do("POST", "/v2/flowControl/k/pause", "").ok() // nothing is ever in flight
		c.do("POST", "/_understudy/clock/advance", fmt.Sprintf(`{"to":%d,"timeout":"100ms"}`, lastMillisecond)).refused(504, "stopped at")
		if a := c.do("GET", "/_understudy/clock", "").ok(); a.number("now") >= lastMillisecond || a.number("now") <= beginning.UnixMilli() {
			t.Errorf("%s", a.raw)
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
	t.Run("a manual clock stands where the configuration says", func(t *testing.T) {
		t.Parallel()
		u, c := setup(t, "manual")
		u.Publish("https://e.test/", nil, "Svc-Delay: 30d")
		c.do("PUT", "/_understudy/clock", fmt.Sprintf(`{"now":%d}`, lastMillisecond)).ok()
		c.do("POST", "/_understudy/reset", "").ok()
		if a := c.do("GET", "/_understudy/clock", "").ok(); a.number("now") != beginning.UnixMilli() || a.text("mode") != "manual" {
			t.Errorf("%s", a.raw)
		}
	})
	t.Run("what is published then is delivered at its time", func(t *testing.T) {
		t.Parallel()
		u, c := setup(t, "manual")
		u.Advance(1000 * time.Hour)
		c.do("POST", "/_understudy/reset", "").ok()
		u.Stub("*", 200)
		u.Publish("https://e.test/", nil, "Svc-Delay: 1h")
		u.Advance(time.Hour)
		if list := u.Deliveries(); len(list) != 1 || list[0].At != beginning.Add(time.Hour).UnixMilli() {
			t.Errorf("%v", list)
		}
	})
	t.Run("the mode is that of the configuration", func(t *testing.T) {
		t.Parallel()
		_, c := setup(t, "real")
		c.do("PUT", "/_understudy/clock", fmt.Sprintf(`{"mode":"manual","now":%d}`, lastMillisecond)).ok()
		c.do("POST", "/_understudy/reset", "").ok()
		if a := c.do("GET", "/_understudy/clock", "").ok(); a.text("mode") != "real" || a.number("now") > time.Now().Add(time.Hour).UnixMilli() {
			t.Errorf("%s", a.raw)
		}
	})
	t.Run("only that of the account", func(t *testing.T) {
		t.Parallel()
		u, c := setup(t, "manual")
		c.do("PUT", "/_understudy/accounts/other", "").ok()
		u.Advance(time.Hour)
		c.do("POST", "/_understudy/reset?account=other", "").ok()
		if a := c.do("GET", "/_understudy/clock", "").ok(); a.number("now") != beginning.Add(time.Hour).UnixMilli() {
			t.Errorf("%s", a.raw)
		}
	})
}
