package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// The benchmarks of processes share clients that use little CPU, and functions that measure
// the CPU time, memory and allocations of a process.

// lane is a connection that sends one request after another. It does not allocate, because it
// shares the processors with the server.
type lane struct {
	address string
	conn    net.Conn
	in      *bufio.Reader
	request []byte
	took    []time.Duration
}

// newLane connects to a server.
func newLane(b *testing.B, url string) *lane {
	b.Helper()
	l := &lane{address: strings.TrimPrefix(url, "http://")}
	expect.NoError(b, l.connect())
	b.Cleanup(func() { _ = l.conn.Close() })
	return l
}

// connect opens a new connection: some servers close a connection that was idle while other
// servers were measured.
func (l *lane) connect() (err error) {
	if l.conn != nil {
		_ = l.conn.Close() // it may be closed already
	}
	l.conn, err = net.Dial("tcp", l.address)
	l.in = bufio.NewReader(l.conn)
	return err
}

// exchange sends a request and reads its answer. Its status must be a success.
func (l *lane) exchange(request []byte) error {
	if _, err := l.conn.Write(request); err != nil {
		return err
	}
	length := 0
	for first := true; ; first = false {
		line, err := l.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case first && !bytes.HasPrefix(line, []byte("HTTP/1.1 2")):
			rest, _ := l.in.Peek(l.in.Buffered())
			return fmt.Errorf("answer: %s%s", line, rest)
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			length = -1
		case len(line) == len("\r\n"):
			return l.discard(length)
		}
	}
}

// discard reads the body of an answer: n bytes, or chunks if n is negative.
func (l *lane) discard(n int) error {
	if n >= 0 {
		_, err := l.in.Discard(n)
		return err
	}
	for {
		line, err := l.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		if _, err := l.in.Discard(int(size) + len("\r\n")); err != nil || size == 0 {
			return err
		}
	}
}

// requests appends request number i.
type requests func(to []byte, i int) []byte

// load sends requests to a server over a fixed number of connections.
type load struct {
	lanes []*lane
	make  requests
	next  atomic.Int64 // number of the next request
}

// newLoad opens n connections.
func newLoad(b *testing.B, url string, n int, make requests) *load {
	b.Helper()
	all := &load{make: make}
	for range n {
		all.lanes = append(all.lanes, newLane(b, url))
	}
	return all
}

// send sends n requests over all connections: as fast as the answers arrive, or at a rate per
// second. It returns the total time and the time of each request. At a rate, the time of a
// request counts from its scheduled start, even if an earlier answer was late.
func (all *load) send(b *testing.B, n int, rate float64) (total time.Duration, each []time.Duration) {
	b.Helper()
	for _, l := range all.lanes {
		expect.NoError(b, l.connect())
	}
	begin := time.Now()
	var sending sync.WaitGroup
	for k, l := range all.lanes {
		sending.Go(func() {
			l.took = l.took[:0]
			for i := k; i < n; i += len(all.lanes) {
				start := time.Now()
				if rate > 0 {
					start = turn(begin.Add(time.Duration(float64(i) / rate * float64(time.Second))))
				}
				l.request = all.make(l.request[:0], int(all.next.Add(1)))
				if err := l.exchange(l.request); err != nil {
					b.Error(err)
					return
				}
				l.took = append(l.took, time.Since(start))
			}
		})
	}
	sending.Wait()
	total = time.Since(begin)
	for _, l := range all.lanes {
		each = append(each, l.took...)
	}
	slices.Sort(each)
	return total, each
}

// turn waits until the scheduled time of a request and returns its start. A late timer of
// this process does not count, a busy connection does.
func turn(due time.Time) time.Time {
	wait := time.Until(due)
	if wait <= 0 {
		return due
	}
	<-time.After(wait)
	return time.Now()
}

// quantile returns a quantile of sorted values, in microseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))].Microseconds())
}

// halfway returns the median, zero without values. The values need not be sorted.
func halfway[T cmp.Ordered](values []T) (median T) {
	if len(values) == 0 {
		return median
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// workOf is the CPU time that a process has used.
func workOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0 // the system does not report it
	}
	const user, tick = 11, 10 * time.Millisecond // index after the name; ticks are 10 ms on all systems
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var sum time.Duration
	for _, field := range fields[user : user+2] {
		n, err := strconv.ParseInt(field, 10, 64)
		expect.NoError(b, err)
		sum += time.Duration(n) * tick
	}
	return sum
}

// memoryOf is a line of the memory of a process, in bytes: VmRSS is the current and VmHWM the
// largest resident memory. It is 0 when the system does not report it.
func memoryOf(pid int, line string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), line+":")
	var kib int64
	_, _ = fmt.Sscan(rest, &kib)
	return kib << 10
}

// mallocsOf is the number of allocations of a server, 0 when it does not report it.
func mallocsOf(b *testing.B, url string) float64 {
	b.Helper()
	response, err := http.Get(url + "/_understudy/metrics") //nolint:noctx // of a benchmark
	expect.NoError(b, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	expect.NoError(b, err)
	_, rest, _ := strings.Cut(string(text), "\ngo_memstats_mallocs_total ")
	if value, ok := strings.CutPrefix(string(text), "go_memstats_mallocs_total "); ok {
		rest = value
	}
	var n float64
	_, _ = fmt.Sscan(rest, &n)
	return n
}
