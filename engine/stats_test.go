package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/usage"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// happening is what the script of a month did, and when.
type happening struct {
	at time.Time
	usage.Counts
}

// TestAScriptedMonthGivesExactlyItsPoints sends traffic over the end of February
// in a leap year, at odd times that meet midnights and ends of months, and holds
// every point of every period and of the days to a sum over the script.
func TestAScriptedMonthGivesExactlyItsPoints(t *testing.T) {
	t.Parallel()
	start := time.Date(2028, time.February, 9, 23, 58, 30, 0, time.UTC)
	w := setup(t, func(c *engine.Config) { c.Clock, c.PricePerMessage = clock.NewManual(start), 0.5 })
	w.answer = func(at engine.Attempt) engine.Outcome {
		if strings.Contains(at.Message.URL, "fails") {
			return engine.Outcome{Status: 500, BytesUp: 10, BytesIn: 5}
		}
		return engine.Outcome{Status: 200, BytesUp: 100, BytesIn: 20}
	}
	var script []happening
	dead := 0
	// What is at a border is sent at the last second before it, and at it.
	borders := []time.Time{
		time.Date(2028, 2, 10, 0, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC),
		time.Date(2028, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 3, 10, 12, 0, 0, 0, time.UTC),
	}
	var times []time.Time
	for _, b := range borders {
		times = append(times, b.Add(-time.Second), b)
	}
	for at := start.Add(time.Minute); at.Before(start.AddDate(0, 0, 33)); at = at.Add(5*time.Hour + 13*time.Minute + 7*time.Second) {
		times = append(times, at)
	}
	sortTimes(times)
	for i, at := range times {
		w.advance(at.Sub(w.Now()))
		w.send(engine.PublishRequest{URL: "https://app.test/works"})
		script = append(script, happening{at, usage.Counts{Requests: 1, Created: 1, Delivered: 1, Bytes: 120}})
		if i%3 == 0 {
			w.send(engine.PublishRequest{URL: "https://app.test/fails", Options: engine.Options{Retries: new(0)}})
			script = append(script, happening{at, usage.Counts{Requests: 1, Created: 1, Failed: 1, Bytes: 15}})
			dead++
		}
		w.settle()
		if i%17 == 0 || i == len(times)-1 || at.Hour() == 0 && at.Minute() == 0 {
			compareUsage(t, w, script, dead)
		}
	}
}

func sortTimes(times []time.Time) {
	for i := range times {
		for j := i; j > 0 && times[j].Before(times[j-1]); j-- {
			times[j], times[j-1] = times[j-1], times[j]
		}
	}
}

// compareUsage sums the script up for every point.
func compareUsage(t *testing.T, w *world, script []happening, dead int) {
	t.Helper()
	now := w.Now().UTC()
	for _, p := range usage.Periods {
		u, err := w.Usage(p.Name)
		w.must(err)
		if len(u.Points) != p.Points || u.DLQ != dead {
			t.Fatalf("%s: %d points and %d dead at %s; want %d and %d", p.Name, len(u.Points), u.DLQ, now, p.Points, dead)
		}
		last := u.Points[p.Points-1].At
		if last.After(now) || !last.Add(p.Every).After(now) {
			t.Fatalf("%s: the last point is of %s, now is %s", p.Name, last, now)
		}
		for i, point := range u.Points {
			if want := last.Add(-time.Duration(p.Points-1-i) * p.Every); !point.At.Equal(want) {
				t.Fatalf("%s: point %d is of %s; want %s", p.Name, i, point.At, want)
			}
			check(t, p.Name, point, script, point.At.Add(p.Every))
		}
		first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
		if want := first.AddDate(0, 1, -1).Day(); len(u.Days) != want {
			t.Fatalf("%d days in %s; want %d", len(u.Days), now.Month(), want)
		}
		for i, day := range u.Days {
			if !day.At.Equal(first.AddDate(0, 0, i)) {
				t.Fatalf("day %d is %s", i, day.At)
			}
			check(t, "days", day, script, day.At.AddDate(0, 0, 1))
			if want := float64(day.Created) * 0.5; u.Bill(&u.Days[i]) != want {
				t.Fatalf("%s costs %v; want %v", day.At, u.Bill(&u.Days[i]), want)
			}
		}
	}
}

func check(t *testing.T, what string, point usage.Point, script []happening, until time.Time) {
	t.Helper()
	var want usage.Counts
	for _, h := range script {
		if !h.at.Before(point.At) && h.at.Before(until) {
			want.Requests += h.Requests
			want.Created += h.Created
			want.Delivered += h.Delivered
			want.Failed += h.Failed
			want.Bytes += h.Bytes
		}
	}
	if point.Counts != want {
		t.Fatalf("%s from %s to %s: %+v; want %+v", what, point.At, until, point.Counts, want)
	}
}

// BenchmarkUsage30d: the longest period with a million messages behind it, some
// of them in every minute of the month. At most 5 ms.
func BenchmarkUsage30d(b *testing.B) {
	a := engine.New(engine.Config{ID: "t", Clock: clock.NewManual(epoch), Wire: wire.Format{}})
	b.Cleanup(func() { _ = a.Close() })
	const minutes = 31 * 24 * 60
	var past engine.Fixture
	for i := range minutes {
		past.Usage = append(past.Usage, usage.Point{At: epoch.Add(-time.Duration(minutes-i) * time.Minute), Counts: usage.Counts{Requests: 23, Created: 23, Delivered: 22, Failed: 1, Bytes: 4000}})
	}
	expect.NoError(b, a.AddFixture(past))
	b.ResetTimer()
	for b.Loop() {
		expect.NoError(b, expect.ErrorOf(a.Usage("30d")))
	}
}
