package mockserver_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/mockserver"
)

// soak is random traffic against one stand-in, in rounds. After each round
// everything must have come to an end.
type soak struct {
	u       *mockserver.TestServer
	clients []*client // of the workers, then our own

	mu       sync.Mutex
	accepted map[string]bool // message ids of the round
	calls    int
}

// soakTime is how long it takes: SOAK, such as 10m, or ten seconds.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("SOAK")
	if text == "" {
		return 10 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("SOAK: %v; must be a duration such as 10m", err)
	}
	return d
}

const soakWorkers = 6

// TestSoak: nothing is lost, memory stays flat, no goroutine is left (TestMain
// looks for those), and no answer breaks the document (RunT looks for those).
func TestSoak(t *testing.T) {
	t.Parallel()
	effort.Long(t, "sends random traffic for ten seconds")
	span := soakTime(t)
	end := time.Now().Add(span)
	u := mockserver.RunT(t, mockserver.Config{Parallel: 16, Stubs: []mockserver.Stub{
		{URL: "https://ok.test/*", Answers: []mockserver.Answer{{Status: "200", Body: "fine"}}},
		{URL: "https://slow.test/*", Answers: []mockserver.Answer{{Status: "200", Delay: "40s"}}},
		{URL: "https://down.test/*", Answers: []mockserver.Answer{{Status: "503", Headers: map[string]string{"Retry-After": "5"}}, {Status: "500"}, {Drop: true}}},
		{URL: "https://shaky.test/*", Answers: []mockserver.Answer{{Status: "500"}, {Drop: true}, {Status: "200"}, {Status: "429"}, {Status: "200", Delay: "2s"}}},
		{URL: "https://wf.test/*", Answers: []mockserver.Answer{{Status: "200", Headers: map[string]string{"Svc-Workflow-Sdk-Version": "1"}}}},
	}})
	s := &soak{u: u}
	for range soakWorkers + 1 {
		s.clients = append(s.clients, newClient(t, u))
	}
	c := s.clients[soakWorkers]
	c.do("POST", "/v2/topics/soak/endpoints", `{"endpoints": [{"url": "https://ok.test/g"}, {"url": "https://shaky.test/g"}]}`).ok()
	var first uint64
	goroutines := 0
	rounds := 0
	for ; rounds < 2 || time.Now().Before(end); rounds++ {
		s.round(t, min(5*time.Second, time.Until(end)/2))
		if rounds%4 != 0 { // in between, let things pile up
			continue
		}
		c.do("DELETE", "/v2/dlq", "")
		c.do("POST", "/_understudy/reset", "").ok()
		c.do("POST", "/v2/topics/soak/endpoints", `{"endpoints": [{"url": "https://ok.test/g"}, {"url": "https://shaky.test/g"}]}`).ok()
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		if first == 0 {
			first, goroutines = m.HeapAlloc, runtime.NumGoroutine()
		}
		t.Logf("round %d: %d calls, %d KiB of heap, %d goroutines", rounds, s.calls, m.HeapAlloc>>10, runtime.NumGoroutine())
		// Beside the short form other tests run, and have heaps of their own.
		if m.HeapAlloc > first+16<<20 && span >= 20*time.Second {
			t.Errorf("%d MiB of heap after a reset, %d MiB at first", m.HeapAlloc>>20, first>>20)
		}
		if now := runtime.NumGoroutine(); now > goroutines+100 && span >= 20*time.Second {
			t.Errorf("%d goroutines, %d at first", now, goroutines)
		}
	}
	t.Logf("%d rounds, %d calls", rounds, s.calls)
}

// round is traffic for a while, then time for all of it to end, then the count.
func (s *soak) round(t *testing.T, span time.Duration) {
	s.accepted = map[string]bool{}
	end := time.Now().Add(span)
	var wg sync.WaitGroup
	for worker := range soakWorkers {
		wg.Go(func() {
			c := s.clients[worker]
			r := rand.New(rand.NewPCG(uint64(worker), uint64(end.UnixNano())))
			for calls := 0; calls < 20 || time.Now().Before(end); calls++ {
				s.act(c, r)
			}
		})
	}
	wg.Wait()
	c := s.clients[soakWorkers]
	for _, key := range soakKeys {
		c.do("POST", "/v2/flowControl/"+key+"/resume", "")
	}
	for _, queue := range soakQueues {
		c.do("POST", "/v2/queues/"+queue+"/resume", "")
	}
	s.u.Advance(30 * 24 * time.Hour)
	s.check(t, c)
}

var (
	soakKeys   = []string{"k1", "k2", "k3"}
	soakQueues = []string{"q1", "q2"}
	soakHosts  = []string{"https://ok.test/", "https://slow.test/", "https://down.test/", "https://shaky.test/", "http://127.0.0.1:1/"}
)

// act makes one random call. An answer that blames the server ends the test.
func (s *soak) act(c *client, r *rand.Rand) {
	s.mu.Lock()
	s.calls++
	n := s.calls
	s.mu.Unlock()
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	var a answer
	switch r.IntN(20) {
	case 0:
		a = c.do("POST", "/v2/flowControl/"+pick(soakKeys)+"/"+pick([]string{"pause", "resume"}), "")
	case 1:
		a = c.do("POST", "/v2/queues/"+pick(soakQueues)+"/"+pick([]string{"pause", "resume"}), "")
	case 2:
		a = c.do("POST", "/_understudy/clock/advance", fmt.Sprintf(`{"by": "%ds", "timeout": "100ms"}`, r.IntN(60)))
		if a.status == 504 || a.status == 503 || a.status == 408 {
			return // others kept it busy
		}
	case 3:
		a = c.do("DELETE", "/v2/messages/"+s.any(), "")
	case 4:
		s.retry(c)
		return
	case 5:
		a = c.do("GET", "/v2/logs?count=50", "")
	case 6:
		a = c.do("POST", "/v2/trigger/https://wf.test/run", "start")
	case 7:
		a = c.do("GET", pick([]string{"/v2/workflows/logs", "/v2/flowControl", "/v2/queues", "/v2/dlq", "/_understudy/deliveries?limit=5", "/_understudy/snapshot"}), "")
	case 8:
		a = c.do("POST", "/v2/publish/soak", "to the group")
	default:
		headers := []string{fmt.Sprint("Svc-Retries: ", r.IntN(4)), fmt.Sprint("Svc-Delay: ", r.IntN(30), "s")}
		if r.IntN(3) == 0 {
			headers = append(headers, "Svc-Flow-Control-Key: "+pick(soakKeys), fmt.Sprintf("Svc-Flow-Control-Value: parallelism=%d,rate=%d,period=10s", 1+r.IntN(3), 1+r.IntN(9)))
		}
		if r.IntN(4) == 0 {
			headers = append(headers, "Svc-Queue-Name: "+pick(soakQueues))
		}
		if r.IntN(3) == 0 {
			headers = append(headers, "Svc-Callback: "+pick(soakHosts)+"cb", "Svc-Failure-Callback: "+pick(soakHosts)+"fcb")
		}
		target := pick(append(soakHosts, s.u.URL()+"/_understudy/sink/status/200", s.u.URL()+"/_understudy/sink/flaky/1"))
		a = c.do("POST", "/v2/publish/"+target, strings.Repeat("x", r.IntN(2000)), headers...)
		if a.status == 200 {
			s.accept(a.text("messageId"))
		}
	}
	if a.status >= 500 {
		c.t.Errorf("call %d: status %d: %s", n, a.status, a.raw)
	}
}

func (s *soak) accept(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted[id] = true
}

// any is a message of the round.
func (s *soak) any() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.accepted {
		return id
	}
	return "none"
}

func (s *soak) retry(c *client) {
	a := c.do("GET", "/v2/dlq?count=1", "")
	if list, _ := a.get("messages").([]any); a.status == 200 && len(list) > 0 {
		if again := c.do("POST", "/v2/dlq/retry/"+a.text("messages", 0, "dlqId"), ""); again.status >= 500 {
			c.t.Errorf("retry: status %d: %s", again.status, again.raw)
		}
	}
}

// check: every message that was accepted has come to one end, and nothing waits.
func (s *soak) check(t *testing.T, c *client) {
	t.Helper()
	ends := map[string]int{}
	left := len(s.accepted)
	for cursor := ""; left > 0; {
		a := c.do("GET", "/v2/logs?count=1000&state=DELIVERED,FAILED,CANCELED&cursor="+cursor, "").ok()
		for _, entry := range a.list("logs") {
			id, _ := entry.(map[string]any)["messageId"].(string)
			if ends[id]++; ends[id] == 1 && s.accepted[id] {
				left--
			}
		}
		if cursor, _ = a.get("cursor").(string); cursor == "" {
			break
		}
	}
	lost := 0
	for id := range s.accepted {
		if ends[id] != 1 {
			if lost++; lost < 4 {
				t.Errorf("message %s has come to %d ends", id, ends[id])
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d messages are lost", lost, len(s.accepted))
	}
	for i, key := range c.do("GET", "/v2/flowControl", "").ok().list() {
		if k, _ := key.(map[string]any); k["waitListSize"] != 0.0 || k["parallelismCount"] != 0.0 {
			t.Errorf("key %d: %v", i, k)
		}
	}
	for i, queue := range c.do("GET", "/v2/queues", "").ok().list() {
		if q, _ := queue.(map[string]any); q["lag"] != 0.0 {
			t.Errorf("queue %d: %v", i, q)
		}
	}
}
