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

// restart checks the response to the restart of a run.
func restart(l *looking) {
	if !l.ok() {
		return
	}
	if v, ok := l.has("RST-001", "/workflowRunId", "string"); ok && v == "" {
		l.breaks("RST-001", "/workflowRunId", "the id is empty", "the id of the new run", `""`)
	}
	l.has("RST-001", "/workflowCreatedAt", "integer")
	l.millis("RST-001", "/workflowCreatedAt")
	if chosen := l.Header.Get(header.WorkflowRunID); chosen != "" {
		if got, _ := Text(l.Body, "/workflowRunId"); got != chosen {
			l.breaks("RST-005", "/workflowRunId", "the new run has another id", "the id that was chosen", got)
		}
	}
}

// transportStatuses are statuses of proxies, or of failed authentication. The
// document leaves their bodies open.
var transportStatuses = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
	http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// resume checks the error of resuming a flow-control key.
func resume(l *looking) {
	if l.Status >= 400 && !slices.Contains(transportStatuses, l.Status) {
		l.has("FLC-002", "/error", "string")
	}
}

// deletion checks the response to the deletion of a search index.
func deletion(l *looking) {
	if l.answers200("SRC-001") {
		l.json("SRC-001")
		l.has("SRC-001", "", "string")
	}
}

// information checks the description of a vector index.
func information(l *looking) {
	if !l.answers200("VEC-001") {
		return
	}
	if _, ok := l.has("VEC-001", "/result", "object"); !ok {
		return
	}
	l.fields("VEC-002", "/result", []Field{
		{"vectorCount", "number", true}, {"pendingVectorCount", "number", true}, {"indexSize", "number", true},
		{"dimension", "number", true}, {"similarityFunction", "string", true}, {"namespaces", "object", true},
	})
	l.oneOf("VEC-005", "/result/indexType", "DENSE", "SPARSE", "HYBRID")
	if dense, _ := At(l.Body, "/result/denseIndex"); dense != nil {
		l.fields("VEC-006", "/result/denseIndex", []Field{{"dimension", "number", true}, {"embeddingModel", "string", true}})
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
				l.breaks("VEC-007", "/result/namespaces/*/"+count, "a namespace lacks the count", "a number", KindOf(n))
				return
			}
		}
	}
}

// oneOf checks that a text is in a list.
func (l *looking) oneOf(id, pointer string, list ...string) {
	v, ok := l.has(id, pointer, "string")
	if text, _ := v.(string); ok && !slices.Contains(list, text) {
		l.breaks(id, pointer, "the value is not in the list", strings.Join(list, ", "), text)
	}
}

// spread is the number of points in a period and the distance between them.
type spread struct {
	points   int
	Distance time.Duration // between two points
	spacing  string        // the requirement about the distance
}

// Periods has the points of each period. The document specifies only the first and
// the last; the others follow from these.
var Periods = map[string]spread{
	"1h":  {60, time.Minute, "STA-005"},
	"3h":  {60, 3 * time.Minute, "STA-006"},
	"12h": {60, 12 * time.Minute, "STA-006"},
	"1d":  {60, 24 * time.Minute, "STA-006"},
	"3d":  {60, 72 * time.Minute, "STA-006"},
	"7d":  {60, 168 * time.Minute, "STA-006"},
	"30d": {240, 3 * time.Hour, "STA-004"},
}

// The arrays of the statistics: one point for each day of the month, points of the period, and
// lists of series of the period by id.
var (
	DayArrays    = []string{"daily_requests", "daily_billings", "daily_bandwidths"}
	PeriodArrays = []string{"daily_used", "daily_used_workflow", "daily_bandwidth_used"}
	SeriesArrays = []string{"daily_svc_messages", "daily_workflow_messages"}
)

// statistics checks the usage statistics.
func statistics(l *looking) {
	if !l.answers200("STA-001") {
		return
	}
	l.json("STA-001")
	l.fields("STA-001", "", []Field{
		{"days", "array of string", true}, {"dlq_message_count", "integer", true}, {"total_monthly_billing", "number", true},
	})
	for _, name := range DayArrays {
		l.points(l.array("/" + name))
	}
	for i := range l.array("/daily_requests").items {
		l.fields("STA-010", fmt.Sprintf("/daily_requests/%d", i), []Field{{"workflow_message", "integer", true}, {"workflow_run", "integer", true}})
	}
	for _, name := range PeriodArrays {
		l.period(l.array("/"+name), true)
	}
	for _, name := range SeriesArrays {
		for i := range l.array("/" + name).items {
			one := fmt.Sprintf("/%s/%d", name, i)
			l.has("STA-001", one+"/id", "string")
			l.period(l.array(one+"/data_points"), false)
		}
	}
}

// series is an array of points and its JSON pointer.
type series struct {
	where string
	items []any
}

// array checks and returns the array at a pointer.
func (l *looking) array(pointer string) series {
	v, _ := l.has("STA-001", pointer, "array")
	items, _ := v.([]any)
	return series{pointer, items}
}

// points checks each point of a series and returns their times. It sorts them,
// because the document does not specify an order.
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

// period checks a series of the requested period. Unless always is set, the series
// may be empty: that of a metric without data.
func (l *looking) period(s series, always bool) {
	times := l.points(s)
	asked := l.Query.Get("period")
	p, known := Periods[cmp.Or(asked, "1h")]
	if !known || s.items == nil || len(s.items) == 0 && !always {
		return
	}
	wrong := len(s.items) != p.points
	if number := "STA-003"; wrong && p.Distance != time.Minute { // for 1h check the distance first: it distinguishes more
		if asked == "30d" {
			number = "STA-004"
		}
		l.breaks(number, s.where, wrongNumber, strconv.Itoa(p.points), strconv.Itoa(len(s.items)))
		return
	}
	for i := 1; i < len(times) && len(times) == len(s.items); i++ {
		if d := times[i].Sub(times[i-1]); (d - p.Distance).Abs() > time.Second {
			l.breaks(p.about(asked, d), s.where, wrongDistance, p.Distance.String(), d.String())
			return
		}
	}
	if wrong {
		l.breaks("STA-003", s.where, wrongNumber, strconv.Itoa(p.points), strconv.Itoa(len(s.items)))
	}
}

// about is the requirement that a wrong distance breaks. If the request had no period
// and the distance is that of another period, the default period is wrong.
func (p spread) about(asked string, distance time.Duration) string {
	if asked == "" {
		for _, other := range Periods {
			if other.Distance == distance {
				return "STA-002"
			}
		}
	}
	return p.spacing
}
