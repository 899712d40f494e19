package ui_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/understudy-mock/understudy/mockserver"
)

// crowd is how many messages an account has that is measured.
const crowd = 100_000

// crowded is an account with a crowd of messages, in real time, and somewhere to
// deliver to.
func crowded(b *testing.B) (u *mockserver.TestServer, destination string) {
	b.Helper()
	u = mockserver.RunT(b, mockserver.Config{Clock: "real", SkipResponseCheck: true})
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.Cleanup(sink.Close)
	u.Stub("https://app.test/*", 200)
	burst(b, u, "https://app.test/hook", crowd)
	return u, sink.URL
}

// burst publishes so many messages, waits until all are delivered, and returns
// how many that were in a second.
func burst(b *testing.B, u *mockserver.TestServer, destination string, n int) float64 {
	b.Helper()
	const most = 1000
	batch := make([]map[string]string, most)
	for i := range batch {
		batch[i] = map[string]string{"destination": destination, "body": "x"}
	}
	body, err := json.Marshal(batch)
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	for range n / most {
		request(b, u, http.MethodPost, "/v2/batch", string(body))
		u.Settle()
	}
	return float64(n) / time.Since(start).Seconds()
}

// BenchmarkFirstPaint: ms until something of a view is seen, of an account with
// 100,000 messages; wanted are less than 200.
func BenchmarkFirstPaint(b *testing.B) {
	u, _ := crowded(b)
	tab := look(b, u, "")
	for _, path := range []string{"", "ui/messages", "ui/messages?state=FAILED"} {
		b.Run("view="+path, func(b *testing.B) {
			var times []float64
			for b.Loop() {
				tab.visit(path)
				tab.holds("paint", `performance.getEntriesByName("first-contentful-paint").length > 0`)
				times = append(times, ask[float64](tab, `performance.getEntriesByName("first-contentful-paint")[0].startTime`))
			}
			slices.Sort(times)
			b.ReportMetric(times[len(times)/2], "ms-to-paint")
		})
	}
}

// BenchmarkWatched: how much of the rate of deliveries is left while two pages
// are open, of Now and of the messages; wanted is more than 0.95.
func BenchmarkWatched(b *testing.B) {
	u, destination := crowded(b)
	pages := []*tab{look(b, u, ""), look(b, u, "ui/messages")}
	visit := func(paths ...string) {
		for i, path := range paths {
			if path == "blank" {
				pages[i].do("leave", chromedp.Navigate("about:blank"))
				continue
			}
			pages[i].visit(path)
		}
	}
	const n = 150_000
	var alone, watched []float64
	for b.Loop() {
		visit("blank", "blank")
		alone = append(alone, burst(b, u, destination, n))
		visit("", "ui/messages")
		watched = append(watched, burst(b, u, destination, n))
	}
	slices.Sort(alone)
	slices.Sort(watched)
	b.ReportMetric(watched[len(watched)/2]/alone[len(alone)/2], "of-the-rate")
	b.ReportMetric(alone[len(alone)/2], "alone/s")
}
