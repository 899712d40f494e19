package check

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/spec/header"
)

// restart looks at the answer to the restart of a run.
func restart(l *looking) {
	if !l.ok() {
		return
	}
	if v, ok := l.has("RST-001", "/workflowRunId", "string"); ok && v == "" {
		l.breaks("RST-001", "/workflowRunId", "the id is empty", "the id of the new run", `""`)
	}
	l.has("RST-001", "/workflowCreatedAt", "integer")
	l.millis("RST-001", "/workflowCreatedAt")
	if chosen, got := l.Header.Get(header.WorkflowRunID), ""; chosen != "" {
		if got, _ = Text(l.Body, "/workflowRunId"); got != chosen {
			l.breaks("RST-005", "/workflowRunId", "the new run has another id", "the id that was chosen", got)
		}
	}
}

// transportStatuses may come from something before the target, or say that the
// caller is not let in, whose body the document leaves open.
var transportStatuses = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
	http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// resume looks at the error of the resumption of a flow-control key.
func resume(l *looking) {
	if l.Status >= 400 && !slices.Contains(transportStatuses, l.Status) {
		l.has("FLC-002", "/error", "string")
	}
}

// deletion looks at the answer to the deletion of a search index.
func deletion(l *looking) {
	if l.answers200("SRC-001") {
		l.json("SRC-001")
		l.has("SRC-001", "", "string")
	}
}

// information looks at what a vector index says about itself.
func information(l *looking) {
	if !l.answers200("VEC-001") {
		return
	}
	if _, ok := l.has("VEC-001", "/result", "object"); !ok {
		return
	}
	l.fields("VEC-002", "/result", []field{
		{"vectorCount", "number", true}, {"pendingVectorCount", "number", true}, {"indexSize", "number", true},
		{"dimension", "number", true}, {"similarityFunction", "string", true}, {"namespaces", "object", true},
	})
	l.oneOf("VEC-005", "/result/indexType", "DENSE", "SPARSE", "HYBRID")
	if dense, _ := At(l.Body, "/result/denseIndex"); dense != nil {
		l.fields("VEC-006", "/result/denseIndex", []field{{"dimension", "number", true}, {"embeddingModel", "string", true}})
		l.oneOf("VEC-006", "/result/denseIndex/similarityFunction", "COSINE", "EUCLIDEAN", "DOT_PRODUCT")
	}
	if sparse, _ := At(l.Body, "/result/sparseIndex"); sparse != nil {
		l.has("VEC-006", "/result/sparseIndex/embeddingModel", "string")
	}
	v, _ := At(l.Body, "/result/namespaces")
	namespaces, _ := v.(map[string]any)
	if _, listed := namespaces[""]; namespaces != nil && !listed {
		l.breaks("VEC-003", "/result/namespaces", "the default namespace is not listed", `the key ""`, Shown(slices.Sorted(maps.Keys(namespaces))))
	}
	for _, name := range slices.Sorted(maps.Keys(namespaces)) {
		for _, count := range []string{"vectorCount", "pendingVectorCount"} {
			if n, there := At(namespaces[name], "/"+count); !there || !Fits(n, "number") {
				l.breaks("VEC-007", "/result/namespaces/*/"+count, "a namespace has no such number", "a number", KindOf(n))
				return
			}
		}
	}
}

// oneOf checks a text that is one of a list.
func (l *looking) oneOf(id, pointer string, list ...string) {
	v, ok := l.has(id, pointer, "string")
	if text, _ := v.(string); ok && !slices.Contains(list, text) {
		l.breaks(id, pointer, "the value is none of the list", strings.Join(list, ", "), text)
	}
}

// spread is how points are spread over a period.
type spread struct {
	points   int
	distance time.Duration
	spacing  string // the requirement on the distance
}

// periods are the points that each period has, and the distance between them. Only
// those of the first and of the last does the document name; the others follow.
var periods = map[string]spread{
	"1h":  {60, time.Minute, "STA-005"},
	"3h":  {60, 3 * time.Minute, "STA-006"},
	"12h": {60, 12 * time.Minute, "STA-006"},
	"1d":  {60, 24 * time.Minute, "STA-006"},
	"3d":  {60, 72 * time.Minute, "STA-006"},
	"7d":  {60, 168 * time.Minute, "STA-006"},
	"30d": {240, 3 * time.Hour, "STA-004"},
}

// statistics looks at the usage statistics.
func statistics(l *looking) {
	if !l.answers200("STA-001") {
		return
	}
	l.json("STA-001")
	l.fields("STA-001", "", []field{
		{"days", "array of string", true}, {"dlq_message_count", "integer", true}, {"total_monthly_billing", "number", true},
	})
	for _, name := range []string{"daily_requests", "daily_billings", "daily_bandwidths"} {
		l.points(l.array("/" + name))
	}
	for i := range l.array("/daily_requests").items {
		l.fields("STA-010", fmt.Sprintf("/daily_requests/%d", i), []field{{"workflow_message", "integer", true}, {"workflow_run", "integer", true}})
	}
	for _, name := range []string{"daily_used", "daily_used_workflow", "daily_bandwidth_used"} {
		l.period(l.array("/"+name), true)
	}
	for _, name := range []string{"daily_svc_messages", "daily_workflow_messages"} {
		for i := range l.array("/" + name).items {
			one := fmt.Sprintf("/%s/%d", name, i)
			l.has("STA-001", one+"/id", "string")
			l.period(l.array(one+"/data_points"), false)
		}
	}
}

// series is an array of points, and where it is.
type series struct {
	where string
	items []any
}

// array is the array at a pointer.
func (l *looking) array(pointer string) series {
	v, _ := l.has("STA-001", pointer, "array")
	items, _ := v.([]any)
	return series{pointer, items}
}

// points looks at each point of a series, and gives their times, sorted: their
// order is not shown.
func (l *looking) points(s series) []time.Time {
	var times []time.Time
	for i, p := range s.items {
		where := fmt.Sprintf("%s/%d", s.where, i)
		l.has("STA-008", where+"/y", "number")
		if _, ok := l.has("STA-008", where+"/x", "string"); !ok {
			continue
		}
		t, _, ok := StatsTime(p)
		if !ok {
			l.breaks("STA-007", where+"/x", "the time has another form", StatsTimeExample, Shown(p))
			continue
		}
		times = append(times, t)
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// period looks at a series of the period that was asked for. A metric that nothing
// was counted for may have no points.
func (l *looking) period(s series, always bool) {
	times := l.points(s)
	asked := l.Query.Get("period")
	p, known := periods[cmp.Or(asked, "1h")]
	if !known || s.items == nil || len(s.items) == 0 && !always {
		return
	}
	wrong := len(s.items) != p.points
	if number := "STA-003"; wrong && p.distance != time.Minute { // of the last hour the distance says more
		if asked == "30d" {
			number = "STA-004"
		}
		l.breaks(number, s.where, wrongNumber, strconv.Itoa(p.points), strconv.Itoa(len(s.items)))
		return
	}
	for i := 1; i < len(times) && len(times) == len(s.items); i++ {
		if d := times[i].Sub(times[i-1]); (d - p.distance).Abs() > time.Second {
			l.breaks(p.about(asked, d), s.where, wrongDistance, p.distance.String(), d.String())
			return
		}
	}
	if wrong {
		l.breaks("STA-003", s.where, wrongNumber, strconv.Itoa(p.points), strconv.Itoa(len(s.items)))
	}
}

// about is the requirement that a distance breaks. Without a period in the request,
// the distance of another one says that the default is another.
func (p spread) about(asked string, distance time.Duration) string {
	if asked == "" {
		for _, other := range periods {
			if other.distance == distance {
				return "STA-002"
			}
		}
	}
	return p.spacing
}
