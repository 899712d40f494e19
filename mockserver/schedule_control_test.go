package mockserver_test

import (
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestSchedulesRunNow(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	u.Stub("https://app.test/*", 200)
	c := newClient(t, u)
	c.do("POST", "/v2/schedules/https://app.test/tick", "tick", "Svc-Cron: CRON_TZ=Europe/Berlin 30 9 * * 1-5", "Svc-Schedule-Id: work").ok()
	row := func() answer {
		a := c.do("GET", "/_understudy/schedules", "").ok()
		a.json = a.get("schedules", 0)
		return a
	}
	before := row()
	expect.Equal(t, "words", before.text("words"), "at 09:30, Monday through Friday")
	expect.Equal(t, "zone", before.text("timeZone"), "Europe/Berlin")
	expect.Equal(t, "next time", before.number("nextTimes", 0), time.Date(2026, time.March, 3, 8, 30, 0, 0, time.UTC).UnixMilli())
	a := c.do("POST", "/_understudy/schedules/work/run", "").ok()
	u.Settle()
	expect.Equal(t, "messages", len(a.list("messageIds")), 1)
	expect.Equal(t, "state of the message", c.do("GET", "/_understudy/messages/"+a.text("messageIds", 0), "").ok().text("row", "state"), "DELIVERED")
	expect.Equal(t, "last time", row().number("lastScheduleTime"), time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC).UnixMilli())
	expect.Equal(t, "next time after it", row().number("nextTimes", 0), before.number("nextTimes", 0))
	t.Run("also while it is paused", func(t *testing.T) {
		c.do("POST", "/v2/schedules/work/pause", "").ok()
		expect.Equal(t, "messages", len(c.do("POST", "/_understudy/schedules/work/run", "").ok().list("messageIds")), 1)
		expect.Equal(t, "next times", len(row().list("nextTimes")), 0)
	})
	c.do("POST", "/_understudy/schedules/none/run", "").refused(404, "none")
}
