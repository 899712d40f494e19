package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec/route"
)

// The approximate time of a round of one server, and the time before all rounds.
const (
	roundLength = 300 * time.Millisecond
	warmUp      = time.Second
)

// subject is a server process that is measured.
type subject struct {
	name, url string
	pid       int
	send      func(n int) time.Duration // sends n messages and returns the time
	load      *load                     // for latencies; nil: not measured
	each      int                       // messages of one request, 0 for 1

	messages   int           // per round
	rates      []float64     // of the rounds, per second
	work       time.Duration // CPU time of all rounds
	mallocs    float64       // of all rounds
	p50s, p99s []float64     // latencies of the rounds, in microseconds
}

// rate is the median of the rounds, per second.
func (s *subject) rate() float64 { return halfway(s.rates) }

// contest is a kind of traffic and the servers that receive it. The first server is the
// floor, the second the stand-in.
type contest struct {
	title    string
	subjects []*subject
}

// measure alternates between the servers, so that other work of the machine affects all of
// them.
func (c *contest) measure(b *testing.B) {
	rounds := 9
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil && n > 0 {
		rounds = n
	}
	for _, s := range c.subjects {
		first := max(320, s.each) // equal for each connection, or one request
		var took time.Duration
		for enough := time.Now().Add(warmUp); time.Now().Before(enough); { // warm-up: buffers grow, code is compiled
			took = s.send(first)
		}
		s.messages = max(first, int(float64(first)/took.Seconds()*roundLength.Seconds())/first*first)
	}
	for range rounds {
		for _, s := range c.subjects {
			work, mallocs := workOf(b, s.pid), mallocsOf(b, s.url)
			s.rates = append(s.rates, float64(s.messages)/s.send(s.messages).Seconds())
			s.mallocs += mallocsOf(b, s.url) - mallocs
			s.work += workOf(b, s.pid) - work
		}
	}
	for range rounds {
		for _, s := range c.subjects {
			if s.load == nil {
				continue
			}
			rate := min(s.rate(), c.subjects[1].rate()) / 2 / float64(max(1, s.each)) // half of the stand-in's rate, or of its own rate if that is lower
			_, latency := s.load.send(b, int(rate*roundLength.Seconds()), rate)
			s.p50s, s.p99s = append(s.p50s, quantile(latency, 0.5)), append(s.p99s, quantile(latency, 0.99))
		}
	}
}

// rows are the rows of the table.
func (c *contest) rows(b *testing.B) (rows []string) {
	for _, s := range c.subjects {
		sum := float64(s.messages * len(s.rates))
		row := fmt.Sprintf("| %s | %s | %.0f | %.2f | %.1f |", c.title, s.name, s.rate(), s.rate()/c.subjects[0].rate(), float64(s.work.Microseconds())/sum)
		for _, cell := range []struct {
			value float64
			form  string
		}{
			{s.mallocs / sum, " %.1f |"},
			{float64(memoryOf(s.pid, "VmHWM")) / (1 << 20), " %.0f |"},
			{halfway(s.p50s), " %.0f |"},
			{halfway(s.p99s), " %.0f |"},
			{halfway(s.p99s) / halfway(c.subjects[0].p99s), " %.1f |"},
		} {
			if !(cell.value > 0) { // not measured
				row += " |"
				continue
			}
			row += fmt.Sprintf(cell.form, cell.value)
		}
		rows = append(rows, row)
		name := strings.NewReplacer(" ", "-", ",", "").Replace(c.title + "-" + s.name)
		b.ReportMetric(s.rate()/c.subjects[0].rate(), name+"-ratio")
	}
	return rows
}

// publishText is the head of a publish request. Its arguments are the path and more header
// lines.
const publishText = "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer one\r\nContent-Type: application/json\r\n%sContent-Length: 128\r\n\r\n"

// repeated repeats the same publish.
func repeated(destination string) requests {
	text := fmt.Sprintf(publishText, route.PublishMessage.Path(destination), "") + strings.Repeat("x", 128)
	return func(to []byte, _ int) []byte { return append(to, text...) }
}

// varied is a publish with a unique destination, label, number of retries and forwarded
// header.
func varied(destination string) requests {
	text := fmt.Sprintf(publishText, route.PublishMessage.Path(strings.Replace(destination, "/hook", "/hook/N", 1)),
		"Svc-Label: label-N\r\nSvc-Retries: N\r\nSvc-Forward-Order: N\r\n") + strings.Repeat("x", 128)
	parts := strings.Split(text, "N")
	return func(to []byte, i int) []byte {
		for k, part := range parts {
			if k > 0 {
				to = strconv.AppendInt(to, int64(i), 10)
			}
			to = append(to, part...)
		}
		return to
	}
}

// batched is a batch of n publishes.
func batched(n int) requests {
	body := "[" + strings.TrimSuffix(strings.Repeat(`{"destination":"https://e.test/hook","headers":{"Svc-Delay":"1h"},"body":"`+strings.Repeat("x", 128)+`"},`, n), ",") + "]"
	text := fmt.Sprintf("POST /v2/batch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer one\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return func(to []byte, _ int) []byte { return append(to, text...) }
}

// mixed is the traffic of an application. Of ten requests, seven are publishes, one has flow
// control, deduplication and a callback, one is a batch of ten, and one reads the log.
func mixed() requests {
	const destination = "https://e.test/hook?svc-delay=1h"
	usual, batch := varied(destination), batched(10)
	return func(to []byte, i int) []byte {
		switch i % 10 {
		case 7:
			return fmt.Appendf(to, publishText+"%s", route.PublishMessage.Path(destination),
				fmt.Sprintf("Svc-Flow-Control-Key: k%d\r\nSvc-Flow-Control-Value: parallelism=3\r\nSvc-Deduplication-Id: %d\r\nSvc-Callback: https://e.test/done\r\n", i%100, i), strings.Repeat("x", 128))
		case 8:
			return batch(to, i)
		case 9:
			return append(to, "GET /v2/logs?count=20 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer one\r\n\r\n"...)
		}
		return usual(to, i)
	}
}

// accepted sends requests over n connections until they are answered.
func accepted(b *testing.B, s *subject, n int, send requests) *subject {
	s.load = newLoad(b, s.url, n, send)
	s.send = func(n int) time.Duration {
		took, _ := s.load.send(b, n/max(1, s.each), 0)
		return took
	}
	return s
}

// allAccepted are the bare handler and the stand-ins; each request has a number of messages.
func allAccepted(b *testing.B, connections, each int, send requests) []*subject {
	all := append([]*subject{floorServer(b, "bare handler", "")}, standIns(b)...)
	for _, s := range all {
		s.each = each
		accepted(b, s, connections, send)
	}
	return all
}

// sink is a destination that counts what arrives.
type sink struct {
	url     string
	arrived sync.WaitGroup
}

// newSink starts a destination that answers after some time.
func newSink(b *testing.B, latency time.Duration) *sink {
	s := &sink{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the body is ignored
		if latency > 0 {
			<-time.After(latency)
		}
		s.arrived.Done()
	}))
	b.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// delivered sends publishes until all have arrived.
func delivered(b *testing.B, to *sink, s *subject, send requests) *subject {
	all := newLoad(b, s.url, benchConnections, send)
	s.send = func(n int) time.Duration {
		to.arrived.Add(n)
		begin := time.Now()
		all.send(b, n/max(1, s.each), 0)
		to.arrived.Wait()
		return time.Since(begin)
	}
	return s
}

// steps executes runs of ten steps until all have ended; each step counts as a message.
func steps(b *testing.B, s *subject) *subject {
	w := newWorkflow(b, s.url)
	w.listen()
	s.send = w.run
	return s
}

// floorServer starts the bare server. With sink "" it only answers.
func floorServer(b *testing.B, name, sink string) *subject {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "floor")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", binary, "./testdata/floor").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return peerProcess(b, name, "A bare server is running at ", binary, "--sink", sink)
}

// peerProcess starts a program that prints its URL, and ends it with the benchmark.
func peerProcess(b *testing.B, name, before, program string, args ...string) *subject {
	b.Helper()
	c := exec.Command(program, args...) //nolint:noctx // it is killed below
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	expect.NoError(b, err)
	b.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), before); ok {
			url, _, _ = strings.Cut(url, " ")
			go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the process
			return &subject{name: name, url: url, pid: c.Process.Pid}
		}
	}
	b.Fatalf("%s ended before it said where it is", name)
	return nil
}

// standIns start a server in memory and one with a data folder; with BEFORE, also those of
// another build.
func standIns(b *testing.B) (all []*subject) {
	builds := map[string]string{"understudy": build(b)}
	if before := os.Getenv("BEFORE"); before != "" {
		builds["understudy before"] = before
	}
	for _, name := range slices.Sorted(maps.Keys(builds)) {
		memory, data := serversOf(b, builds[name])
		all = append(all, &subject{name: name, url: memory.URL, pid: memory.PID}, &subject{name: name + " --data", url: data.URL, pid: data.PID})
	}
	return all
}

// BenchmarkHTTP compares servers with the floor. They are processes that are measured
// alternately; the results are medians of ROUNDS=9. DOCS=FILE writes the table there.
func BenchmarkHTTP(b *testing.B) {
	var rows []string
	for b.Loop() {
		rows = nil
		for _, c := range []struct {
			title string
			make  func(b *testing.B) []*subject
		}{
			{"accepted, repeated", func(b *testing.B) []*subject {
				return append(allAccepted(b, benchConnections, 1, repeated("https://e.test/hook?svc-delay=1h")), peers(b)...)
			}},
			{"accepted, varied", func(b *testing.B) []*subject {
				return allAccepted(b, benchConnections, 1, varied("https://e.test/hook?svc-delay=1h"))
			}},
			{"accepted, 1 connection", func(b *testing.B) []*subject {
				return allAccepted(b, 1, 1, varied("https://e.test/hook?svc-delay=1h"))
			}},
			{"accepted, 256 connections", func(b *testing.B) []*subject {
				return allAccepted(b, 256, 1, varied("https://e.test/hook?svc-delay=1h"))
			}},
			{"accepted, batches of 1000", func(b *testing.B) []*subject { return allAccepted(b, benchConnections, 1000, batched(1000)) }},
			{"requests of an application", func(b *testing.B) []*subject { return allAccepted(b, benchConnections, 1, mixed()) }},
			{"delivered, repeated", func(b *testing.B) []*subject { return allDelivered(b, 0, repeated) }},
			{"delivered, varied", func(b *testing.B) []*subject { return allDelivered(b, 0, varied) }},
			{"delivered, 20 ms away", func(b *testing.B) []*subject { return allDelivered(b, 20*time.Millisecond, varied) }},
			{"delivered, group of 1000", fannedOut},
			{"workflow steps", func(b *testing.B) []*subject {
				to := newSink(b, 0)
				all := []*subject{delivered(b, to, floorServer(b, "bare relay", to.url), repeated(to.url+"/hook"))}
				for _, s := range standIns(b) {
					all = append(all, steps(b, s))
				}
				return all
			}},
		} {
			b.Run(strings.ReplaceAll(c.title, ", ", "-"), func(b *testing.B) {
				for b.Loop() {
					run := contest{c.title, c.make(b)}
					run.measure(b)
					rows = append(rows, run.rows(b)...)
				}
				b.ReportMetric(0, "ns/op") // it would count all servers
			})
		}
	}
	table := benchTable(rows)
	fmt.Fprintln(os.Stderr, table)
	if file := os.Getenv("DOCS"); file != "" {
		writeBetween(b, file, "bench-http", table)
	}
}

func allDelivered(b *testing.B, latency time.Duration, send func(destination string) requests) []*subject {
	to := newSink(b, latency)
	all := append([]*subject{floorServer(b, "bare relay", to.url)}, standIns(b)...)
	for _, s := range all {
		delivered(b, to, s, send(to.url+"/hook"))
	}
	return all
}

// fannedOut publishes to a URL group of 1,000 endpoints. The bare relay receives a publish for
// each endpoint.
func fannedOut(b *testing.B) []*subject {
	const size = 1000
	to := newSink(b, 0)
	all := append([]*subject{delivered(b, to, floorServer(b, "bare relay", to.url), repeated(to.url+"/hook"))}, standIns(b)...)
	for _, s := range all[1:] {
		g, list := &grown{b: b, url: s.url, token: "one"}, ""
		for i := range size {
			list += fmt.Sprintf(`,{"url":"%s/hook/%d"}`, to.url, i)
		}
		g.call(http.MethodPost, route.AddURLGroupEndpoints.Path("all"), `{"endpoints":[`+list[1:]+`]}`)
		s.each = size
		delivered(b, to, s, repeated("all"))
	}
	return all
}

// benchTable is the result as Markdown.
func benchTable(rows []string) string {
	return fmt.Sprintf("Measured with %s on %s/%s, %d processors.\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU()) +
		"| traffic | server | per second | ratio | CPU µs per message | allocations per message | peak MiB | p50 µs | p99 µs | p99 ratio |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n" +
		strings.Join(rows, "\n") + "\n"
}

// writeBetween replaces the text between the marks of a name in a page.
func writeBetween(b *testing.B, file, name, text string) {
	b.Helper()
	page, err := os.ReadFile(file)
	expect.NoError(b, err)
	begin, end := []byte("<!-- "+name+" -->\n"), []byte("<!-- /"+name+" -->")
	head, rest, ok := bytes.Cut(page, begin)
	_, tail, ended := bytes.Cut(rest, end)
	if !ok || !ended {
		b.Fatalf("%s has no %s", file, begin)
	}
	if err := os.WriteFile(file, bytes.Join([][]byte{head, begin, []byte(text), end, tail}, nil), 0o644); err != nil { // a page of the documentation
		b.Fatal(err)
	}
}
