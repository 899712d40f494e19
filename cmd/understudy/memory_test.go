package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

func TestHeapGrowth(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]uint64{ // in MiB: live heap, and heap at the next collection
		1: 129, 10: 138, 50: 178, 64: 192, 100: 300, 213: 639, 214: 640, 500: 640, 600: 672, 4096: 4587,
	} {
		next := live + live*uint64(heapGrowth(live<<20, largeGrowth))/100
		if max(next, want)-min(next, want) > want/100 { // GOGC is an integer percentage
			t.Errorf("a heap of %d MiB is collected at %d MiB, want %d", live, next, want)
		}
	}
	expect.Equal(t, "growth of a heap of 600 MiB while a journal is read", heapGrowth(600<<20, readGrowth), readGrowth)
	if growth := heapGrowth(0, largeGrowth); growth <= 0 || uint64(growth) > heapRoom {
		t.Errorf("growth of an empty heap: got %d percent", growth)
	}
}

func TestAServerThatDoesNothingIsNotCollected(t *testing.T) {
	t.Parallel()
	const live, process, ceiling = 8 << 20, 40 << 20, 1 << 30
	for name, c := range map[string]struct {
		allocated uint64
		ceiling   int64
		percent   int
		limit     int64
	}{
		"it allocates nothing":             {0, ceiling, -1, process + heapRoom},
		"it allocates for a health probe":  {100 << 10, ceiling, -1, process + heapRoom},
		"its ceiling is near":              {0, 50 << 20, -1, 50 << 20},
		"it does something":                {idleBytes, ceiling, heapGrowth(live, largeGrowth), ceiling},
		"it does something near a ceiling": {idleBytes, 50 << 20, heapGrowth(live, largeGrowth), 50 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			percent, limit := nextCollection(live, largeGrowth, c.allocated, process, c.ceiling)
			if percent != c.percent || limit != c.limit {
				t.Errorf("GOGC and limit: got %d and %d, want %d and %d", percent, limit, c.percent, c.limit)
			}
		})
	}
}

// memoryLoads fill a server: each sends total bytes of one kind of observation.
var memoryLoads = map[string]func(l *loader, total int){
	"bodies": func(l *loader, total int) {
		const size = 1<<20 - 1
		l.send(total/size, func(i int, r *http.Request) { setBody(r, bytes.Repeat([]byte{byte(i)}, size)) })
	},
	"headers": func(l *loader, total int) {
		const count, size = 8, 50 << 10
		l.send(total/count/size, func(i int, r *http.Request) {
			for k := range count {
				r.Header.Set(fmt.Sprint("Svc-Forward-X-", k), strings.Repeat("h", size)+strconv.Itoa(i))
			}
		})
	},
	"answers": func(l *loader, total int) {
		l.answer = bytes.Repeat([]byte("a"), 1<<20)
		l.send(total>>20, func(int, *http.Request) {})
	},
	"key-value store": func(l *loader, total int) {
		const size = 1 << 20
		for i := range total / size {
			r, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, l.url+"/kv/set/key"+strconv.Itoa(i), bytes.NewReader(bytes.Repeat([]byte("v"), size)))
			expect.NoError(l.t, err)
			r.Header.Set("Authorization", "Bearer "+l.kvToken)
			response, err := http.DefaultClient.Do(r)
			expect.NoError(l.t, err)
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if full := bytes.Contains(text, []byte("quota exceeded")); full == (response.StatusCode == http.StatusOK) {
				l.t.Fatalf("status %d: %.300s", response.StatusCode, text)
			}
		}
	},
	"log": func(l *loader, total int) {
		const messages, each = 1000, 3500 // bytes of a message in all stores, as health counts them
		item := fmt.Sprintf(`{"destination":%q},`, l.destination)
		batch := []byte("[" + strings.TrimSuffix(strings.Repeat(item, messages), ",") + "]")
		l.send(total/messages/each, func(_ int, r *http.Request) {
			r.URL.Path = "/v2/batch"
			r.Header.Set("Content-Type", "application/json")
			setBody(r, batch)
			l.settle() // undelivered messages are not observations yet
		})
	},
}

func setBody(r *http.Request, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// loader publishes to a server, with its own destination.
type loader struct {
	t                                *testing.T
	url, token, kvToken, destination string
	answer                           []byte
}

// settle waits until no delivery is pending.
func (l *loader) settle() {
	response, err := http.Post(l.url+"/_understudy/settle", "application/json", strings.NewReader(`{"timeout":"60s"}`))
	if err != nil {
		l.t.Error(err)
		return
	}
	_ = response.Body.Close()
}

// send publishes n messages over four connections.
func (l *loader) send(n int, prepare func(i int, r *http.Request)) {
	next := make(chan int)
	var sending sync.WaitGroup
	for range 4 {
		sending.Go(func() {
			for i := range next {
				r, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, l.url+"/v2/publish/"+l.destination, http.NoBody)
				if err != nil {
					l.t.Error(err)
					continue
				}
				r.Header.Set("Authorization", "Bearer "+l.token)
				prepare(i, r)
				response, err := http.DefaultClient.Do(r)
				if err != nil {
					l.t.Error(err)
					continue
				}
				text, _ := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if response.StatusCode != http.StatusOK {
					l.t.Errorf("status %d: %.300s", response.StatusCode, text)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	sending.Wait()
}

// A server may observe many times as much as it may keep: the process stays below one and a
// half times the bound.
func TestMemoryStaysBelowItsBound(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil || effort.Raced {
		t.Skip("needs the resident memory of a process, and no race detector")
	}
	const bound = 128 << 20
	times := effort.Amount(t, "TIMES", 2, 2)
	binary := build(t)
	for name, load := range memoryLoads {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "headers" || name == "log" {
				effort.Long(t, "sends a hundred thousand small messages")
			}
			server := serve(t, binary, "--memory", strconv.Itoa(bound), "--log-level", "error")
			l := &loader{t: t, url: server.URL, token: server.Variable("UNDERSTUDY_TOKEN"), kvToken: server.Variable("UNDERSTUDY_KV_TOKEN"), answer: []byte("ok")}
			destination := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = w.Write(l.answer)
			}))
			defer destination.Close()
			l.destination = destination.URL
			load(l, times*bound)
			if peak := peak(t, server); peak > bound/2*3 {
				t.Errorf("the process took %d MiB at its peak, want at most %d", peak>>20, bound/2*3>>20)
			} else {
				t.Logf("the process took %d MiB at its peak, the bound is %d", peak>>20, bound>>20)
			}
		})
	}
}

// peak is the largest resident memory of the process, in bytes.
func peak(t *testing.T, s *programs.Served) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID))
	expect.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	expect.NoError(t, expect.ErrorOf(fmt.Sscan(rest, &kib)))
	return kib << 10
}
