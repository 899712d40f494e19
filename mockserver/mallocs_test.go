package mockserver_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// mallocsFile has the number of allocations of each hot operation, one in a line. After a change
// that is worth more of them, or that saves some, update it and commit it:
//
//	go test -run TestAHotOperationAllocatesAsBefore ./mockserver -update
const mallocsFile = "testdata/mallocs.txt"

// hotTimes is how often an operation is counted. A part of the work, such as the growth of lists,
// is not done each time.
const hotTimes = 1000

// hotStepsPerRun is how many steps the endpoint of a workflow reports before it ends a run.
const hotStepsPerRun = 10

const (
	publishPath = "/v2/publish/https://e.test/hook"
	hotOptions  = "Svc-Label: label-#\nSvc-Retries: #\nSvc-Forward-Order: #\n" // different for each message
	hotPaused   = "Svc-Delay: 1h\nSvc-Flow-Control-Key: paused\nSvc-Flow-Control-Value: parallelism=1\n"
	hotBegin    = "Svc-Workflow-Init: true\nSvc-Workflow-RunId: #\nSvc-Workflow-Url: https://w.test/\nSvc-Workflow-Sdk-Version: 1\nSvc-Feature-Set: InitialBody\n"
	hotStep     = `[{"destination":"https://w.test/","body":"{\"stepId\":1,\"stepName\":\"s\",\"stepType\":\"Run\",\"out\":\"1\",\"concurrent\":1}",` +
		`"headers":{"Svc-Workflow-Init":"false","Svc-Workflow-RunId":"#","Svc-Workflow-Url":"https://w.test/","Svc-Workflow-Sdk-Version":"1"}}]`
)

// hotOperations are what servers do most. # is the number of a request.
var hotOperations = []struct {
	name               string
	path, header, body string
	advances           bool // what is counted is not the requests, but an hour that passes after them
	each               int  // how many of what the name says are in a request
}{
	{name: "publish, repeated", path: publishPath + "?svc-delay=1h", body: "x"},
	{name: "publish, varied", path: publishPath + "/#?svc-delay=1h", header: hotOptions, body: "x"},
	{name: "enqueue", path: "/v2/enqueue/q/https://e.test/hook?svc-delay=1h", body: "x"},
	{name: "message of a batch", path: "/v2/batch", body: "[" + strings.TrimSuffix(strings.Repeat(`{"destination":"https://e.test/#","headers":{"Svc-Delay":"1h"},"body":"x"},`, 10), ",") + "]", each: 10},
	{name: "delivery, repeated", path: publishPath, body: "x"},
	{name: "delivery, varied", path: publishPath + "/#", header: hotOptions, body: "x"},
	{name: "workflow step", path: "/v2/publish/https://w.test/", header: hotBegin, body: "x", each: hotStepsPerRun},
	{name: "read of a message", path: "GET /v2/messages/HELD"},
	{name: "list of 100 events", path: "GET /v2/logs?count=100"},
	{name: "timer that starts nothing", path: publishPath, header: hotPaused, body: "x", advances: true},
	{name: "attempt to a stub", path: "/v2/publish/https://stub.test/", header: "Svc-Delay: 1h\n", body: "x", advances: true},
}

func TestAHotOperationAllocatesAsBefore(t *testing.T) {
	effort.Unraced(t, "the race detector allocates")
	known, err := os.ReadFile(mallocsFile)
	expect.NoError(t, err)
	var counted strings.Builder
	for _, hot := range hotOperations {
		var before float64
		_, line, _ := strings.Cut("\n"+string(known), "\n"+hot.name+": ")
		_, _ = fmt.Sscan(line, &before) // 0 for a new one
		u := newHotServer(t)
		requests := u.requests(t, hot.path, hot.header, hot.body)
		now := u.mallocs(requests, hot.advances) / hotTimes / float64(max(hot.each, 1))
		fmt.Fprintf(&counted, "%s: %.1f\n", hot.name, now)
		if updates := flag.Lookup("update").Value.String() == "true"; now > before*1.1+0.1 && !updates {
			t.Errorf("allocations, %s: got %.1f, want %.1f and at most a tenth more; see mallocsFile", hot.name, now, before)
		}
	}
	if flag.Lookup("update").Value.String() == "true" {
		expect.NoError(t, os.WriteFile(mallocsFile, []byte(counted.String()), 0o644))
	}
}

// hotServer is a server without connections: requests are passed to its handler, and the endpoints
// of deliveries are in its transport.
type hotServer struct {
	*mockserver.TestServer
	steps atomic.Int64
}

func newHotServer(t *testing.T) *hotServer {
	u := &hotServer{}
	u.TestServer = mockserver.RunT(t, mockserver.Config{Transport: func(http.RoundTripper) http.RoundTripper { return u }})
	u.Stub("https://stub.test/*", 200)
	newClient(t, u.TestServer).do("POST", "/v2/flowControl/paused/pause", "").ok()
	return u
}

// RoundTrip answers a delivery. The endpoint of a workflow reports a step first.
func (u *hotServer) RoundTrip(r *http.Request) (*http.Response, error) {
	header := http.Header{}
	if r.URL.Host == "w.test" {
		header.Set("Svc-Workflow-Sdk-Version", "1")
		id := r.Header.Get("Svc-Workflow-Runid")
		step := httptest.NewRequest("POST", "/v2/batch", strings.NewReader(strings.ReplaceAll(hotStep, "#", id)))
		if u.steps.Add(1)%(hotStepsPerRun+1) == 0 {
			step = httptest.NewRequest("DELETE", "/v2/workflows/runs/"+id+"?cancel=false", strings.NewReader("1"))
		}
		u.serve(step)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: http.NoBody}, nil
}

// unread is a response that nobody reads.
type unread struct{ header http.Header }

func (w unread) Header() http.Header         { return w.header }
func (w unread) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader panics for an error, because its work is not that of the operation.
func (w unread) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		panic(http.StatusText(status))
	}
}

func (u *hotServer) serve(r *http.Request) {
	r.Header.Set("Authorization", "Bearer "+u.Token())
	r.Header.Set("Content-Type", "application/json")
	u.ServeHTTP(unread{http.Header{}}, r)
}

// requests returns the requests of an operation, before they are counted.
func (u *hotServer) requests(t *testing.T, path, header, body string) []*http.Request {
	t.Helper()
	method := "POST"
	if read, ok := strings.CutPrefix(path, "GET "); ok {
		method, path = "GET", strings.Replace(read, "HELD", u.Publish("https://e.test/", nil, "Svc-Delay: 1h"), 1)
		for range 100 {
			u.Publish("https://e.test/", nil, "Svc-Delay: 1h")
		}
	}
	list := make([]*http.Request, 1+hotTimes)
	for i := range list {
		numbered := func(text string) string { return strings.ReplaceAll(text, "#", fmt.Sprint(i)) }
		list[i] = httptest.NewRequest(method, "http://localhost"+numbered(path), strings.NewReader(numbered(body)))
		list[i].RemoteAddr = "127.0.0.1:1"
		for line := range strings.Lines(numbered(header)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			list[i].Header.Set(name, value)
		}
	}
	return list
}

// mallocs counts the allocations of the process until all that the requests cause has ended, or
// those of an hour that passes after that. The first request is not counted: it prepares parts of
// the document.
func (u *hotServer) mallocs(requests []*http.Request, advances bool) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	u.serve(requests[0])
	u.Settle()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, r := range requests[1:] {
		u.serve(r)
	}
	if advances {
		runtime.ReadMemStats(&before)
		u.Advance(time.Hour)
	}
	u.Settle()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs)
}
