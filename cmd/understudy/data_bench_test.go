package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/spec/route"
)

// Limits on the ratio between a server with --data and a server in memory. Both run as
// processes and are measured alternately.

const (
	benchRounds      = 9    // for each server
	benchRequests    = 4000 // per round
	benchConnections = 16
)

// publishes sends to the accounts in rotation.
func publishes(b *testing.B, url, destination string, connections, accounts int) *load {
	b.Helper()
	const body = 128
	texts := make([]string, accounts)
	for i := range texts {
		texts[i] = fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer account-%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			route.PublishMessage.Path(destination), strings.TrimPrefix(url, "http://"), i, body, strings.Repeat("x", body))
	}
	return newLoad(b, url, connections, func(to []byte, i int) []byte { return append(to, texts[i%accounts]...) })
}

// benchServers are a server in memory and one with a data folder.
func benchServers(b *testing.B) (memory, data *programs.Served) {
	b.Helper()
	return serversOf(b, build(b))
}

func serversOf(b *testing.B, binary string) (memory, data *programs.Served) {
	b.Helper()
	flags := []string{"--log-level", "error", "--accounts", "any"}
	return programs.Serve(b, binary, flags...), programs.Serve(b, binary, append(flags, "--data", b.TempDir())...)
}

// inTurns measures a server in memory and one with a data folder alternately, and reports the
// ratio of their median times, which must be at least 0.6. The ratio of the CPU times is
// reliable also on a busy machine.
func inTurns(b *testing.B, unit string, servers [2]*programs.Served, measure [2]func() time.Duration) {
	b.Helper()
	var took [2][]time.Duration
	var work [2]time.Duration
	for i, s := range servers {
		measure[i]() // warm-up: buffers grow, connections open
		work[i] = -workOf(b, s.PID)
	}
	for range benchRounds {
		for i := range servers {
			took[i] = append(took[i], measure[i]())
		}
	}
	for i, s := range servers {
		slices.Sort(took[i])
		median, name := took[i][benchRounds/2], [2]string{"memory", "data"}[i]
		work[i] += workOf(b, s.PID)
		b.ReportMetric(benchRequests/median.Seconds(), name+"-"+unit)
		b.ReportMetric(float64(work[i].Microseconds())/benchRounds/benchRequests, name+"-cpu-us")
	}
	b.ReportMetric(float64(took[0][benchRounds/2])/float64(took[1][benchRounds/2]), "ratio")
	b.ReportMetric(float64(work[0])/float64(work[1]), "cpu-ratio")
}

// BenchmarkDataAccepted publishes over 16 connections until the messages are accepted, which
// with --data means durable.
func BenchmarkDataAccepted(b *testing.B) {
	memory, data := benchServers(b)
	commits := histogramOf(b, data.URL)
	var took []time.Duration
	measure := func(s *programs.Served, note bool) func() time.Duration {
		all := publishes(b, s.URL, "https://e.test/hook?svc-delay=1h", benchConnections, 1)
		return func() time.Duration {
			total, each := all.send(b, benchRequests, 0)
			if note {
				took = append(took, each...)
			}
			return total
		}
	}
	for b.Loop() {
		inTurns(b, "publishes/s", [...]*programs.Served{memory, data}, [...]func() time.Duration{measure(memory, false), measure(data, true)})
	}
	commits = histogramOf(b, data.URL).without(commits)
	slices.Sort(took)
	b.ReportMetric(commits.quantile(0.5), "commit-p50-us")
	b.ReportMetric(commits.quantile(0.99), "commit-p99-us")
	b.ReportMetric(quantile(took, 0.5), "request-p50-us")
	b.ReportMetric(quantile(took, 0.99), "request-p99-us")
	b.ReportMetric(0, "ns/op") // it would count both servers
}

// BenchmarkDataDelivered measures from the first publish until all messages have arrived.
func BenchmarkDataDelivered(b *testing.B) {
	var arrived sync.WaitGroup
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived.Done()
	}))
	defer sink.Close()
	memory, data := benchServers(b)
	measure := func(s *programs.Served) func() time.Duration {
		all := publishes(b, s.URL, sink.URL+"/hook", benchConnections, 1)
		return func() time.Duration {
			arrived.Add(benchRequests)
			begin := time.Now()
			all.send(b, benchRequests, 0)
			arrived.Wait()
			return time.Since(begin)
		}
	}
	for b.Loop() {
		inTurns(b, "deliveries/s", [...]*programs.Served{memory, data}, [...]func() time.Duration{measure(memory), measure(data)})
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkDataAccounts alternates between 256 connections to one account and one connection
// to each of 256 accounts. With many accounts, the 99th percentile of a commit may be at most
// four times as long.
func BenchmarkDataAccounts(b *testing.B) {
	const accounts = 256
	_, data := benchServers(b)
	const destination = "https://e.test/hook?svc-delay=1h"
	one, many := publishes(b, data.URL, destination, accounts, 1), publishes(b, data.URL, destination, accounts, accounts)
	type figures struct {
		commits histogram
		took    []time.Duration
	}
	measure := func(all *load, into *figures) {
		before := histogramOf(b, data.URL)
		_, each := all.send(b, accounts*20, 0)
		into.took = append(into.took, each...)
		into.commits = into.commits.with(histogramOf(b, data.URL).without(before))
	}
	var first, second figures
	measure(one, &figures{}) // creates the accounts
	measure(many, &figures{})
	for b.Loop() {
		for range benchRounds {
			measure(one, &first)
			measure(many, &second)
		}
	}
	for name, f := range map[string]*figures{"one": &first, "many": &second} {
		slices.Sort(f.took)
		b.ReportMetric(f.commits.quantile(0.5), name+"-commit-p50-us")
		b.ReportMetric(f.commits.quantile(0.99), name+"-commit-p99-us")
		b.ReportMetric(quantile(f.took, 0.99), name+"-request-p99-us")
	}
	b.ReportMetric(second.commits.quantile(0.99)/first.commits.quantile(0.99), "commit-p99-ratio")
	b.ReportMetric(quantile(second.took, 0.99)/quantile(first.took, 0.99), "request-p99-ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkDataStart measures from the start of a process to its ready file, with held
// messages. The earlier process was killed, so that the new one also replays a journal.
func BenchmarkDataStart(b *testing.B) {
	for _, held := range []int{0, 100_000, 1_000_000} {
		b.Run(strconv.Itoa(held), func(b *testing.B) {
			dir := b.TempDir()
			b.StopTimer()
			ready := filepath.Join(b.TempDir(), "ready")
			start := func() (process *exec.Cmd, took time.Duration) {
				_ = os.Remove(ready) // there may be none
				process = exec.Command(build(b), "serve", "--addr", "127.0.0.1:0", "--ready-file", ready, "--log-level", "error", "--data", dir)
				process.Stderr = os.Stderr
				begin := time.Now()
				expect.NoError(b, process.Start())
				for limit := begin.Add(5 * time.Minute); ; {
					if _, err := os.Stat(ready); err == nil {
						return process, time.Since(begin)
					}
					if time.Now().After(limit) {
						b.Fatal("not ready")
					}
				}
			}
			kill := func(process *exec.Cmd) {
				_ = process.Process.Kill()
				_ = process.Wait() // it was killed
			}
			process, _ := start()
			hold(b, ready, held)
			kill(process)
			b.StartTimer()
			var took []time.Duration
			var memory int64
			for b.Loop() {
				process, t := start()
				took, memory = append(took, t), memoryOf(process.Process.Pid, "VmRSS")
				kill(process)
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2].Seconds(), "ready-s")
			b.ReportMetric(float64(memory)/(1<<20), "MiB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// hold publishes messages that are never due.
func hold(b *testing.B, ready string, n int) {
	b.Helper()
	text, err := os.ReadFile(ready)
	expect.NoError(b, err)
	const each = 1000
	batch := []byte("[" + strings.TrimSuffix(strings.Repeat(`{"destination":"https://e.test/hook","headers":{"Svc-Delay":"30d"},"body":"`+strings.Repeat("x", 128)+`"},`, each), ",") + "]")
	for range n / each {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, jsonText(b, text, "url")+"/v2/batch", bytes.NewReader(batch))
		expect.NoError(b, err)
		r.Header.Set("Authorization", "Bearer "+jsonText(b, text, "token"))
		r.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(r)
		expect.NoError(b, err)
		answer, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			b.Fatalf("%s: %.300s", response.Status, answer)
		}
	}
}

// jsonText is the value of a string member of an object.
func jsonText(b *testing.B, text []byte, name string) string {
	b.Helper()
	_, rest, _ := bytes.Cut(text, []byte(`"`+name+`":"`))
	value, _, ok := bytes.Cut(rest, []byte(`"`))
	if !ok {
		b.Fatalf("%s is not in %s", name, text)
	}
	return string(value)
}

// histogram has the durations of a server's commits. bounds are in seconds; counts are
// cumulative.
type histogram struct {
	bounds []float64
	counts []float64
}

// histogramOf reads the histogram from the metrics.
func histogramOf(b *testing.B, url string) (h histogram) {
	b.Helper()
	response, err := http.Get(url + "/_understudy/metrics") //nolint:noctx // of a benchmark
	expect.NoError(b, err)
	defer func() { _ = response.Body.Close() }()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), `understudy_store_commit_seconds_bucket{le="`)
		if !ok {
			continue
		}
		bound, count, _ := strings.Cut(rest, `"} `)
		at, _ := strconv.ParseFloat(bound, 64) // also parses +Inf
		n, err := strconv.ParseFloat(count, 64)
		expect.NoError(b, err)
		h.bounds, h.counts = append(h.bounds, at), append(h.counts, n)
	}
	return h
}

func (h histogram) without(before histogram) histogram { return h.combined(before, -1) }
func (h histogram) with(more histogram) histogram      { return h.combined(more, 1) }

func (h histogram) combined(other histogram, factor float64) histogram {
	if h.bounds == nil {
		h = histogram{other.bounds, make([]float64, len(other.counts))}
	}
	sum := histogram{h.bounds, slices.Clone(h.counts)}
	for i := range other.counts {
		sum.counts[i] += factor * other.counts[i]
	}
	return sum
}

// quantile is a quantile of the commits in microseconds, interpolated between two bounds.
func (h histogram) quantile(q float64) float64 {
	if len(h.counts) == 0 {
		return 0
	}
	wanted := q * h.counts[len(h.counts)-1]
	lower, before := 0.0, 0.0
	for i, n := range h.counts {
		if n >= wanted {
			upper := h.bounds[i]
			if i == len(h.counts)-1 {
				upper = lower // above the last bound
			}
			return 1e6 * (lower + (upper-lower)*(wanted-before)/max(n-before, 1))
		}
		lower, before = h.bounds[i], n
	}
	return 0
}
