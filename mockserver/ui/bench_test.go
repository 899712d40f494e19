//go:build browser

package ui_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/understudy-mock/understudy/mockserver"
)

// crowd is the number of messages of the measured account.
const crowd = 100_000

// crowded is a server in real time whose account has crowd messages, and the URL of a
// destination.
func crowded(b *testing.B) (u *mockserver.TestServer, destination string) {
	b.Helper()
	u = mockserver.RunT(b, mockserver.Config{Clock: "real", SkipResponseCheck: true})
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.Cleanup(sink.Close)
	u.Stub("https://app.test/*", 200)
	burst(b, u, "https://app.test/hook", crowd)
	return u, sink.URL
}

// burst publishes n messages, waits until all are delivered, and returns the number of
// deliveries per second.
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

// paintMeasures are measurements of the browser: ms until the HTML of a view has arrived and
// until the first paint, and the amount of work for it.
const paintMeasures = `(() => {
	const load = performance.getEntriesByType("navigation")[0];
	return {
		"ms-to-html": load.responseEnd,
		"ms-to-paint": performance.getEntriesByName("first-contentful-paint")[0].startTime,
		"bytes": load.encodedBodySize,
		"requests": performance.getEntriesByType("resource").filter((r) => r.transferSize > 0).length,
		"elements": document.querySelectorAll("*").length,
	};
})()`

// BenchmarkFirstPaint measures the ms until the first paint of views of an account with
// 100,000 messages. The target is at most 100 ms. The other numbers are its parts.
func BenchmarkFirstPaint(b *testing.B) {
	u, _ := crowded(b)
	tab := look(b, u, "")
	for _, path := range []string{"", "ui/messages", "ui/messages?state=FAILED", "ui/messages?sort=url", "ui/search?q=hook"} {
		b.Run("view="+path, func(b *testing.B) {
			measured := map[string][]float64{}
			for b.Loop() {
				tab.visit(path)
				tab.holds("paint", `performance.getEntriesByName("first-contentful-paint").length > 0`)
				for name, value := range ask[map[string]float64](tab, paintMeasures) {
					measured[name] = append(measured[name], value)
				}
				for name, value := range tab.costs() {
					measured[name] = append(measured[name], value)
				}
			}
			for name, values := range measured {
				slices.Sort(values)
				b.ReportMetric(values[len(values)/2], name)
			}
		})
	}
}

// costs are the times that the browser spent on the page since it was opened, in ms of CPU.
func (b *tab) costs() map[string]float64 {
	b.t.Helper()
	costs := map[string]float64{}
	b.do("measure", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, performance.Enable, performance.EnableParams{}); err != nil {
			return err
		}
		found, err := cdp.Call(ctx, target, performance.GetMetrics, cdp.Empty{})
		if err != nil {
			return err
		}
		for _, m := range found.Metrics {
			switch m.Name {
			case "ScriptDuration", "LayoutDuration", "RecalcStyleDuration":
				costs["ms-of-"+strings.TrimSuffix(m.Name, "Duration")] = 1000 * m.Value
			}
		}
		return nil
	}))
	return costs
}

// BenchmarkWatched measures the rate of deliveries while two pages are open, Now and the
// messages, relative to the rate without them. The target is more than 0.95.
func BenchmarkWatched(b *testing.B) {
	u, destination := crowded(b)
	pages := []*tab{look(b, u, ""), look(b, u, "ui/messages")}
	pages[0].rests, pages[1].rests = true, true
	visit := func(paths ...string) {
		for i, path := range paths {
			if path == "blank" {
				pages[i].do("leave", chromedp.Navigate("about:blank"))
				continue
			}
			pages[i].visit(path)
		}
	}
	const n = 100_000
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
