package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// grown is a server with a growing number of messages.
type grown struct {
	b          *testing.B
	url, token string
	pid        int
	held       int
	ids        []string // some of the held messages
}

func newGrown(b *testing.B, flags ...string) *grown {
	s := programs.Serve(b, build(b), append([]string{"--log-level", "error", "--dialect", "svc", "--clock", "manual", "--account", "grown:grown-token"}, flags...)...)
	return &grown{b: b, url: s.URL, token: "grown-token", pid: s.PID}
}

// call sends a request and returns the body of its answer.
func (g *grown) call(method, path, body string, header ...string) []byte {
	g.b.Helper()
	r, err := http.NewRequestWithContext(g.b.Context(), method, g.url+path, strings.NewReader(body))
	if err != nil {
		g.b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+g.token)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		g.b.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusMultipleChoices {
		g.b.Fatalf("%s %s: %s %.300s (%v)", method, path, response.Status, answer, err)
	}
	return answer
}

// publish sends messages in batches, with headers for each message, and keeps the ids of the
// last batch.
func (g *grown) publish(n int, destination, headers string) {
	const each = 1000
	for first := 0; first < n; first += each {
		var batch strings.Builder
		for i := range min(each, n-first) {
			comma := ","
			if i == 0 {
				comma = "["
			}
			fmt.Fprintf(&batch, `%s{"destination":"%s/%d","headers":{%s},"body":"%s"}`, comma, destination, g.held, headers, strings.Repeat("x", 128))
			g.held++
		}
		var receipts []struct{ MessageID string }
		if err := json.Unmarshal(g.call(http.MethodPost, "/v2/batch", batch.String()+"]"), &receipts); err != nil {
			g.b.Fatal(err)
		}
		g.ids = g.ids[:0]
		for _, r := range receipts {
			g.ids = append(g.ids, r.MessageID)
		}
	}
}

// growthOperations must not take longer when a server holds more messages. The median of
// several requests counts.
var growthOperations = []struct {
	name string
	do   func(g *grown, i int)
}{
	{"publish", func(g *grown, i int) {
		g.call(http.MethodPost, "/v2/publish/https://e.test/one"+strconv.Itoa(i), `{}`, "Svc-Delay", "30d")
	}},
	{"list", func(g *grown, _ int) { g.call(http.MethodGet, "/v2/logs?count=100", "") }},
	{"page", func(g *grown, _ int) {
		cursor := url.QueryEscape(jsonText(g.b, g.call(http.MethodGet, "/v2/logs?count=1", ""), "cursor"))
		g.call(http.MethodGet, "/v2/logs?count=100&cursor="+cursor, "")
	}},
	{"resume", func(g *grown, _ int) {
		g.call(http.MethodPost, "/v2/queues/held/pause", "")
		g.call(http.MethodPost, "/v2/queues/held/resume", "")
	}},
	{"cancel", func(g *grown, i int) { g.call(http.MethodDelete, "/v2/messages/"+g.ids[i], "") }},
	{"advance", func(g *grown, _ int) { g.call(http.MethodPost, "/_understudy/clock/advance", `{"by":"1s"}`) }},
}

// BenchmarkGrowth measures the operations with a growing number of held messages. DOCS=FILE
// writes the table and the plot there.
func BenchmarkGrowth(b *testing.B) {
	const times = 21
	sizes := []int{1_000, 10_000, 100_000, 1_000_000}
	if most, err := strconv.Atoi(os.Getenv("N")); err == nil {
		sizes = slices.DeleteFunc(sizes, func(n int) bool { return n > most })
	}
	medians := map[string][]float64{} // µs, by operation
	var memory []float64
	for b.Loop() {
		g := newGrown(b, "--max-backlog", "2000000")
		g.call(http.MethodPost, "/v2/queues", `{"queueName":"held","parallelism":1}`)
		for _, size := range sizes {
			g.publish(size-g.held, "https://e.test/hook", `"Svc-Delay":"30d"`)
			for _, o := range growthOperations {
				var took []time.Duration
				for i := range times {
					begin := time.Now()
					o.do(g, i)
					took = append(took, time.Since(begin))
				}
				medians[o.name] = append(medians[o.name], float64(halfway(took).Microseconds()))
			}
			memory = append(memory, float64(memoryOf(g.pid, "VmRSS"))/(1<<20))
		}
	}
	last := len(sizes) - 1
	for name, values := range medians {
		b.ReportMetric(values[last]/values[0], name+"-growth")
	}
	b.ReportMetric(memory[last], "MiB")
	totals := growthTotals(b)
	text := growthTable(sizes, medians, memory) + totals
	fmt.Fprintln(os.Stderr, text)
	if file := os.Getenv("DOCS"); file != "" {
		writeBetween(b, file, "growth", text)
		plot := strings.TrimSuffix(file, "performance.md") + "reference/growth.svg"
		if err := os.WriteFile(plot, []byte(growthPlot(sizes, medians)), 0o644); err != nil { // a picture of the documentation
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// growthTotals measures the total time of some work.
func growthTotals(b *testing.B) string {
	const runs, messages = 10_000, 10_000
	text := "\n| work | seconds | CPU seconds of the server |\n|---|--:|--:|\n"
	measure := func(name, work string, g *grown, do func()) {
		before, begin := workOf(b, g.pid), time.Now()
		do()
		took, cpu := time.Since(begin).Seconds(), (workOf(b, g.pid) - before).Seconds()
		b.ReportMetric(took, name+"-s")
		b.ReportMetric(cpu, name+"-cpu-s")
		text += fmt.Sprintf("| %s | %.1f | %.1f |\n", work, took, cpu)
	}
	g := newGrown(b)
	w := newWorkflow(b, g.url)
	w.token = g.token
	w.listenBare()
	measure("runs", fmt.Sprintf("%d runs of %d steps under a manual clock", runs, stepsPerRun), g, func() { w.run(runs * stepsPerRun) })
	g = newGrown(b, "--stub", "*=500")
	g.publish(messages, "https://e.test/hook", `"Svc-Retries":"34"`)
	measure("days", fmt.Sprintf("30 virtual days of retries for %d messages, 34 for each", messages), g, func() {
		g.call(http.MethodPost, "/_understudy/clock/advance", `{"by":"30d","timeout":"300s"}`)
	})
	return text
}

// growthTable is the result as Markdown.
func growthTable(sizes []int, medians map[string][]float64, memory []float64) string {
	head, line := "| messages held |", "|--:|"
	for _, o := range growthOperations {
		head, line = head+" "+o.name+" µs |", line+"--:|"
	}
	text := fmt.Sprintf("Measured with %s on %s/%s, %d processors: medians over HTTP, one request at a time.\n\n%s resident MiB |\n%s--:|\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), head, line)
	for k, size := range sizes {
		text += fmt.Sprintf("| %d |", size)
		for _, o := range growthOperations {
			text += fmt.Sprintf(" %.0f |", medians[o.name][k])
		}
		text += fmt.Sprintf(" %.0f |\n", memory[k])
	}
	return text
}
