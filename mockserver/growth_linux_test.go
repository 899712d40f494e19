package mockserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// listed is a text with n elements, separated by commas.
func listed(n int, element string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.ReplaceAll(element, "#", fmt.Sprint(i))
	}
	return strings.Join(list, ",")
}

// growing is an operation with a list. # is the number of an element.
type growing struct {
	setup, method, path     string // setup: what is there before, one of the texts below
	before, element, behind string // the body
	token                   string // whose token it needs, in the name of the variable
}

// What is there before an operation, as requests with n elements.
const (
	nothing   = ""
	waiting   = "waiting messages"
	ended     = "DLQ entries"
	runs      = "workflow runs"
	crowded   = "a URL group"
	remember  = "vectors"
	scheduled = "schedules"
	keys      = "keys"
)

var setups = map[string]growing{
	waiting:   {nothing, "POST", "/v2/batch", "[", `{"destination":"https://e.test/#","headers":{"Svc-Delay":"1h","Svc-Label":"l#","Svc-Flow-Control-Key":"k#","Svc-Flow-Control-Value":"rate=1"}}`, "]", ""},
	ended:     {nothing, "POST", "/_understudy/fixtures", `{"dlq":[`, `{"destination":"https://e.test/#","response":{"status":500}}`, "]}", ""},
	runs:      {nothing, "POST", "/v2/batch/trigger", "[", `{"destination":"https://e.test/#","headers":{"Svc-Delay":"1h","Svc-Workflow-RunId":"r#"}}`, "]", ""},
	crowded:   {nothing, "POST", "/v2/topics/g/endpoints", `{"endpoints":[`, `{"name":"n#","url":"https://e.test/#"}`, "]}", ""},
	remember:  {nothing, "POST", "/upsert", "[", `{"id":"v#","vector":[1,#],"metadata":{"n":#}}`, "]", "VECTOR_"},
	scheduled: {nothing, "POST", "/_understudy/fixtures", `{"schedules":[`, `{"destination":"https://e.test/#","cron":"0 0 1 1 *"}`, "]}", ""},
	keys:      {nothing, "POST", "/kv/pipeline", "[", `["SET","k#","v"]`, "]", "KV_"},
}

// growthTable has the operations of both documents that take or return lists.
var growthTable = map[string]growing{
	"add endpoints":               setups[crowded],
	"replace endpoints by name":   {crowded, "POST", "/v2/topics/g/endpoints", `{"endpoints":[`, `{"name":"n#","url":"https://other.test/#"}`, "]}", ""},
	"remove endpoints":            {crowded, "DELETE", "/v2/topics/g/endpoints", `{"endpoints":[`, `{"url":"https://e.test/#"}`, "]}", ""},
	"remove unknown endpoints":    {crowded, "DELETE", "/v2/topics/g/endpoints", `{"endpoints":[`, `{"name":"x#"}`, "]}", ""},
	"publish to a group":          {crowded, "POST", "/v2/publish/g?svc-delay=1h", "x", "", "", ""},
	"publish a batch":             setups[waiting],
	"trigger runs":                setups[runs],
	"cancel messages by id":       {waiting, "DELETE", "/v2/messages", `{"messageIds":[`, `"x#"`, "]}", ""},
	"cancel messages by URL":      {waiting, "DELETE", "/v2/messages", `{"url":[`, `"https://x.test/#"`, "]}", ""},
	"cancel messages by label":    {waiting, "DELETE", "/v2/messages", `{"label":[`, `"x#"`, "]}", ""},
	"delete DLQ entries by id":    {ended, "DELETE", "/v2/dlq", `{"dlqIds":[`, `"x#"`, "]}", ""},
	"cancel messages by host":     {waiting, "DELETE", "/v2/messages", `{"host":[`, `"x#.test"`, "]}", ""},
	"cancel messages by path":     {waiting, "DELETE", "/v2/messages", `{"path":[`, `"/x#"`, "]}", ""},
	"retry DLQ entries":           {ended, "POST", "/v2/dlq/retry", `{"dlqIds":[`, `"x#"`, "]}", ""},
	"restart runs":                {ended, "POST", "/v2/workflows/dlq/restart", `{"workflowRunId":[`, `"x#"`, "]}", ""},
	"cancel runs by id":           {runs, "DELETE", "/v2/workflows/runs", `{"workflowRunIds":[`, `"r#"`, "]}", ""},
	"cancel runs by prefix":       {runs, "DELETE", "/v2/workflows/runs", `{"workflowUrl":[`, `"https://x.test/#"`, "]}", ""},
	"upsert vectors":              setups[remember],
	"upsert known vectors":        {remember, "POST", "/upsert", "[", `{"id":"v#","vector":[#,1]}`, "]", "VECTOR_"},
	"fetch vectors":               {remember, "POST", "/fetch", `{"ids":[`, `"v#"`, "]}", "VECTOR_"},
	"delete vectors":              {remember, "POST", "/delete", `{"ids":[`, `"v#"`, "]}", "VECTOR_"},
	"a pipeline of keys":          setups[keys],
	"set keys":                    {nothing, "POST", "/kv", `["MSET",`, `"k#","v"`, "]", "KV_"},
	"delete keys":                 {keys, "POST", "/kv", `["DEL",`, `"k#"`, "]", "KV_"},
	"add to a set":                {nothing, "POST", "/kv", `["SADD","s",`, `"k#"`, "]", "KV_"},
	"add to a sorted set":         {nothing, "POST", "/kv", `["ZADD","z",`, `"#","k#"`, "]", "KV_"},
	"append to a list":            {nothing, "POST", "/kv", `["RPUSH","l",`, `"k#"`, "]", "KV_"},
	"set stubs":                   {nothing, "PUT", "/_understudy/stubs", "[", `{"url":"https://e.test/#","answers":[{"status":200}]}`, "]", ""},
	"a stub with answers":         {nothing, "POST", "/_understudy/stubs", `{"url":"https://e.test/","answers":[`, `{"status":200,"body":"#"}`, "]}", ""},
	"set faults":                  {nothing, "PUT", "/_understudy/faults", "[", `{"on":"api","operation":"listQueues","status":500,"body":"#"}`, "]", ""},
	"set rewrites":                {nothing, "PUT", "/_understudy/rewrites", "{", `"https://h#.test":"https://e.test"`, "}", ""},
	"load schedules":              setups[scheduled],
	"list schedules":              {scheduled, "GET", "/v2/schedules", "", "", "", ""},
	"load DLQ entries":            setups[ended],
	"list flow-control keys":      {waiting, "GET", "/v2/flowControl", "", "", "", ""},
	"load groups":                 {nothing, "POST", "/_understudy/fixtures", `{"groups":[`, `{"name":"g#","endpoints":[{"url":"https://e.test/#"}]}`, "]}", ""},
	"load a group with endpoints": {nothing, "POST", "/_understudy/fixtures", `{"groups":[{"name":"g","endpoints":[`, `{"url":"https://e.test/#"}`, "]}]}", ""},
}

// call makes the request with n elements in this goroutine, and returns the CPU time of its thread.
func (g growing) call(t *testing.T, u *mockserver.TestServer, n int) time.Duration {
	t.Helper()
	r := httptest.NewRequest(g.method, "http://localhost"+g.path, strings.NewReader(g.before+listed(n, g.element)+g.behind))
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set("Authorization", "Bearer "+environment(u)["UNDERSTUDY_"+g.token+"TOKEN"])
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime(t)
	u.ServeHTTP(w, r)
	spent := threadTime(t) - before
	if w.Code >= 300 && w.Code != http.StatusNotFound {
		t.Fatalf("%s %s with %d elements: status: got %d, want success or 404: %.300s", g.method, g.path, n, w.Code, w.Body)
	}
	return spent
}

// threadTime is the CPU time that this thread has used. Some kernels count it in whole ticks.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	const thisThread = 1
	var used syscall.Rusage
	expect.NoError(t, syscall.Getrusage(thisThread, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// cost is the CPU time of all elements in calls that have n elements each.
func (g growing) cost(t *testing.T, u *mockserver.TestServer, all, n int) (sum time.Duration) {
	t.Helper()
	for range all / n {
		growing{method: "POST", path: "/_understudy/reset"}.call(t, u, 0)
		if g.setup != nothing {
			setups[g.setup].call(t, u, n)
		}
		sum += g.call(t, u, n)
	}
	return sum
}

func TestTheCostOfAnElementDoesNotGrowWithItsList(t *testing.T) {
	effort.Unraced(t, "measures CPU time")
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{MaxBody: 64 << 20, Clock: "manual", SkipResponseCheck: true})
	// With half of the elements, a quadratic cost is still far above the uncertainty of the times.
	elements := effort.Amount(t, "ELEMENTS", 5_000, 10_000)
	for name, g := range growthTable {
		t.Run(name, func(t *testing.T) {
			const few, ticks = 100, 30 * time.Millisecond // the uncertainty of both times
			small, large := g.cost(t, u, elements, few), g.cost(t, u, elements, elements)
			for range 3 {
				if large > 2*small+ticks { // something else may have made it slow
					small, large = max(small, g.cost(t, u, elements, few)), min(large, g.cost(t, u, elements, elements))
				}
			}
			if large > 2*small+ticks {
				t.Errorf("CPU time of %d elements: got %s in one call, %s in calls of %d; want at most twice as much", elements, large, small, few)
			}
		})
	}
}
