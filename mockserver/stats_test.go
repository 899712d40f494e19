package mockserver_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// manager is a client of the management API, its Authorization header, and the
// id of its account.
func manager(t *testing.T, u *mockserver.TestServer) (c *client, auth, id string) {
	t.Helper()
	vars := environment(u)
	c = newClient(t, u)
	c.url = vars["UNDERSTUDY_MANAGEMENT_URL"]
	return c, basic(vars["UNDERSTUDY_MANAGEMENT_USERNAME"], vars["UNDERSTUDY_MANAGEMENT_PASSWORD"]), vars["UNDERSTUDY_USER_ID"]
}

func basic(user, password string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// environment is what a server gives to its clients.
func environment(u *mockserver.TestServer) map[string]string {
	vars := map[string]string{}
	for _, v := range u.Env() {
		vars[v.Name] = v.Value
	}
	return vars
}

// statsForm is the form of timestamps in the interface document.
const statsForm = "2006-01-02 15:04:05.000000000 +0000 UTC"

func when(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(statsForm, text)
	expect.NoError(t, err)
	return at
}

func TestStatisticsPeriods(t *testing.T) {
	t.Parallel()
	now := time.Date(2028, time.February, 29, 23, 59, 30, 0, time.UTC) // a leap day, before midnight
	u := mockserver.RunT(t, mockserver.Config{Start: now})
	c, auth, id := manager(t, u)
	for _, p := range []struct {
		query string
		every time.Duration
		n     int
	}{
		{"", time.Minute, 60},
		{"?period=1h", time.Minute, 60},
		{"?period=3h", 3 * time.Minute, 60},
		{"?period=12h", 12 * time.Minute, 60},
		{"?period=1d", 24 * time.Minute, 60},
		{"?period=3d", 72 * time.Minute, 60},
		{"?period=7d", 168 * time.Minute, 60},
		{"?period=30d", 3 * time.Hour, 240},
	} {
		a := c.do("GET", "/v2/qstash/stats/"+id+p.query, "", auth).ok()
		series := [][]any{{"daily_used"}, {"daily_used_workflow"}, {"daily_bandwidth_used"}}
		for _, field := range []string{"daily_svc_messages", "daily_workflow_messages"} {
			for i := range a.list(field) {
				series = append(series, []any{field, i, "data_points"})
			}
		}
		if len(series) < 5 {
			t.Errorf("%s: %s", p.query, a.raw)
		}
		for _, at := range series {
			points := a.list(at...)
			if len(points) != p.n {
				t.Errorf("%s %v: %d points, want %d", p.query, at, len(points), p.n)
				continue
			}
			for i := 1; i < len(points); i++ {
				x, y := when(t, a.text(append(at, i-1, "x")...)), when(t, a.text(append(at, i, "x")...))
				if y.Sub(x) != p.every {
					t.Fatalf("%s %v: %s after %s, want %s", p.query, at, y, x, p.every)
				}
			}
			if last := when(t, a.text(append(at, p.n-1, "x")...)); last.After(now) || now.Sub(last) >= p.every {
				t.Errorf("%s %v: the last point is %s at %s", p.query, at, last, now)
			}
		}
		days := a.list("days")
		if expect.Equal(t, fmt.Sprintf("%s: number of days", p.query), len(days), 29) {
			expect.Equal(t, fmt.Sprintf("%s: days[0]", p.query), days[0], "Tuesday")
			expect.Equal(t, fmt.Sprintf("%s: days[28]", p.query), days[28], "Tuesday")
		}
		for _, field := range []string{"daily_requests", "daily_billings", "daily_bandwidths"} {
			if n := len(a.list(field)); n != len(days) {
				t.Errorf("%s %s: %d entries for %d days", p.query, field, n, len(days))
			}
			for i := range a.list(field) {
				if at := when(t, a.text(field, i, "x")); at.Day() != i+1 || at.Weekday().String() != days[i] {
					t.Errorf("%s %s %d: %s", p.query, field, i, at)
				}
			}
		}
	}
	u.Advance(time.Minute) // a new month
	if a := c.do("GET", "/v2/qstash/stats/"+id, "", auth).ok(); len(a.list("days")) != 31 || when(t, a.text("daily_requests", 0, "x")).Month() != time.March {
		t.Errorf("days in March: %v", a.list("days"))
	}
}

func TestStatisticsCountWhatHappened(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.April, 10, 12, 0, 0, 0, time.UTC), PricePerMessage: 0.5})
	u.Stub("https://fine.test/*")
	u.Stub("https://down.test/*", 503)
	u.Publish("https://fine.test/a", []byte("hello"))
	u.Settle()
	u.Advance(5 * time.Minute)
	u.Publish("https://down.test/a", []byte("hello"), "Svc-Retries: 1")
	u.Advance(5 * time.Minute)
	c, auth, id := manager(t, u)
	a := c.do("GET", "/v2/qstash/stats/"+id, "", auth).ok()

	sums := map[string]float64{}
	for i := range a.list("daily_svc_messages") {
		for j := range a.list("daily_svc_messages", i, "data_points") {
			y, _ := a.get("daily_svc_messages", i, "data_points", j, "y").(float64)
			sums[a.text("daily_svc_messages", i, "id")] += y
		}
	}
	expect.Equal(t, "messages", fmt.Sprint(sums), "map[canceled:0 created:2 delivered:1 failed:1 retried:1]")
	// 60 points end at 12:10: the 50th is 12:00, the 55th 12:05.
	expect.Equal(t, "a.number(\"daily_used\", 49, \"y\")", a.number("daily_used", 49, "y"), 1)
	expect.Equal(t, "a.number(\"daily_used\", 54, \"y\")", a.number("daily_used", 54, "y"), 2)
	expect.Equal(t, "a.number(\"daily_used\", 59, \"y\")", a.number("daily_used", 59, "y"), 0)
	expect.Equal(t, "a.number(\"daily_requests\", 9, \"y\")", a.number("daily_requests", 9, "y"), 3)
	expect.Equal(t, "a.number(\"daily_requests\", 8, \"y\")", a.number("daily_requests", 8, "y"), 0)
	expect.Equal(t, "a.number(\"daily_requests\", 29, \"y\")", a.number("daily_requests", 29, "y"), 0)
	if a.number("daily_bandwidths", 9, "y") < 15 || a.number("daily_bandwidths", 9, "y") != a.number("daily_bandwidth_used", 49, "y")+a.number("daily_bandwidth_used", 54, "y") {
		t.Errorf("bandwidth: %v", a.list("daily_bandwidths"))
	}
	expect.Equal(t, "a.get(\"daily_billings\", 9, \"y\")", a.get("daily_billings", 9, "y"), 1.0)
	expect.Equal(t, "a.get(\"total_monthly_billing\")", a.get("total_monthly_billing"), 1.0)
	expect.Equal(t, "a.number(\"dlq_message_count\")", a.number("dlq_message_count"), 1)
}

func TestStatisticsRefuse(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	c, auth, id := manager(t, u)
	path := "/v2/qstash/stats/" + id
	c.do("GET", path+"?period=2h", "", auth).refused(400, "period", "2h", "1h", "30d")
	c.do("GET", path+"?period=", "", auth).refused(400, "period")
	c.do("GET", "/v2/qstash/stats/nobody", "", auth).refused(404, "nobody")
	user := environment(u)["UNDERSTUDY_MANAGEMENT_USERNAME"]
	for name, wrong := range map[string]string{
		"no credentials":   "Authorization:",
		"wrong password":   basic(user, "wrong"),
		"wrong user":       basic("nobody", environment(u)["UNDERSTUDY_MANAGEMENT_PASSWORD"]),
		"no colon":         "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user)),
		"no base64":        "Authorization: Basic ***",
		"the bearer token": "Authorization: Bearer " + u.Token(),
		"another scheme":   strings.Replace(auth, "Basic", "Digest", 1),
	} {
		a := c.do("GET", path, "", wrong)
		if a.refused(401, "Authorization"); a.header.Get("WWW-Authenticate") != "Basic" {
			t.Errorf("%s: WWW-Authenticate %q", name, a.header.Get("WWW-Authenticate"))
		}
	}
}
