package mockserver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// yearAhead is a data folder of a server whose clock was a year ahead, with two messages that
// wait: for 1 s and for an hour.
func yearAhead(t *testing.T) (dir, later string) {
	t.Helper()
	dir = t.TempDir()
	u := mockserver.RunT(t, mockserver.Config{Store: folder(t, dir), Start: time.Now().Add(365 * 24 * time.Hour)})
	c := newClient(t, u)
	u.Stub("https://app.test/*", 200)
	u.Publish("https://app.test/soon", nil, "Svc-Delay: 1s", "Svc-Deduplication-Id: once")
	later = u.Publish("https://app.test/later", nil, "Svc-Delay: 1h")
	u.Publish("https://app.test/done", nil)
	c.do("POST", "/v2/schedules/https://app.test/cron", "", "Svc-Cron: 0 0 1 1 *", "Svc-Schedule-Id: yearly").ok()
	u.Settle()
	return crashed(t, dir), later
}

func TestAFolderOfAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	dir, later := yearAhead(t)
	u := mockserver.RunT(t, mockserver.Config{Store: folder(t, dir), Clock: "real"})
	c := newClient(t, u)
	warnings := strings.Join(u.Warnings(), "\n")
	expect.Contains(t, "warnings", warnings, `account "svcUser": its clock is 8759h`)
	expect.Contains(t, "warnings", warnings, "understudy ctl clock --correct --account svcUser")
	logged := len(c.do("GET", "/v2/logs?state=CREATED", "").ok().get("logs").([]any))

	now := c.do("PUT", "/_understudy/clock", `{"correct":true}`).ok().number("now")
	if wall := time.Now().UnixMilli(); now > wall {
		t.Errorf("time of the clock: got %d, want at most %d", now, wall)
	}
	expect.Equal(t, "warnings after the correction", len(u.Warnings()), 0)
	expect.Equal(t, "messages in the log", len(c.do("GET", "/v2/logs?state=CREATED", "").ok().get("logs").([]any)), logged)
	if wait := time.UnixMilli(c.do("GET", "/v2/messages/"+later, "").ok().number("notBefore")).Sub(time.UnixMilli(now)); wait > time.Hour {
		t.Errorf("remaining wait: got %s, want at most 1h", wait)
	}
	expect.True(t, "a deduplication id is still known", c.do("POST", "/v2/publish/https://app.test/soon", "", "Svc-Deduplication-Id: once").ok().get("deduplicated") == true)
	c.do("POST", "/_understudy/await", `{"on":"deliveries","url":"https://app.test/soon","timeout":"20s"}`, "Content-Type: application/json").ok()

	v := mockserver.RunT(t, mockserver.Config{Store: folder(t, crashed(t, dir)), Clock: "real"})
	expect.Equal(t, "warnings after a crash and another start", len(v.Warnings()), 0)
}

func TestCorrectionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"correct":true}`:                              `clock "manual": does not follow the clock of this machine; only a real clock can be corrected`,
		`{"correct":true,"mode":"auto"}`:                `body /correct: goes only with mode real and without now`,
		fmt.Sprintf(`{"correct":true,"now":%d}`, 1<<42): `body /correct: goes only with mode real and without now`,
		`{"correct":false}`:                             "nothing to set",
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t, mockserver.Config{Start: beginning})
			c := newClient(t, u)
			c.do("PUT", "/_understudy/clock", body).refused(400, want)
			c.showsClock(t, beginning)
		})
	}
}
