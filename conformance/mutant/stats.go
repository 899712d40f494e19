package mutant

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// stat changes the statistics.
func stat(change func(r *http.Request, v map[string]any)) func(func()) Parts {
	return reply(statistics, change)
}

// points changes every point of the statistics.
func points(change func(p map[string]any)) func(func()) Parts {
	return stat(func(_ *http.Request, v map[string]any) { walk(v, change) })
}

func walk(v any, change func(p map[string]any)) {
	switch x := v.(type) {
	case map[string]any:
		if _, ok := x["x"]; ok {
			change(x)
		}
		for _, inner := range x {
			walk(inner, change)
		}
	case []any:
		for _, inner := range x {
			walk(inner, change)
		}
	}
}

var perPeriod = []string{"daily_used", "daily_used_workflow", "daily_bandwidth_used"}

// cut keeps the last n points of the series of a period.
func cut(v map[string]any, n int) {
	for _, name := range perPeriod {
		if list, ok := v[name].([]any); ok && len(list) > n {
			v[name] = list[len(list)-n:]
		}
	}
}

const statsTime = "2006-01-02 15:04:05.000000000 -0700 UTC"

// stats breaks the usage statistics. Sorted by id.
var stats = []Mutant{
	{"M83", "STA-004", "30d gives 60 points", nil, stat(func(r *http.Request, v map[string]any) {
		if r.URL.Query().Get("period") == "30d" {
			cut(v, 60)
		}
	})},
	{"M85", "STA-007", "times are in RFC 3339", []string{"STA-002", "STA-004", "STA-005", "STA-009"}, points(func(p map[string]any) {
		if t, err := time.Parse("2006-01-02 15:04:05.999999999 -0700 UTC", p["x"].(string)); err == nil {
			p["x"] = t.Format(time.RFC3339)
		}
	})},
	{"M87", "STA-011", "dlq_message_count is constant", nil, stat(func(_ *http.Request, v map[string]any) { v["dlq_message_count"] = number(0) })},
	{"M103", "STA-001", "one array is null", []string{"STA-002", "STA-003", "STA-004", "STA-005", "STA-007", "STA-008"}, stat(func(_ *http.Request, v map[string]any) { v["daily_used"] = nil })},
	{"M105", "STA-008", "y is a text", []string{"STA-001", "STA-010"}, points(func(p map[string]any) { p["y"] = fmt.Sprint(p["y"]) })},
	{"M117", "STA-012", "the delivered series never moves", nil, stat(func(_ *http.Request, v map[string]any) { still(v, "daily_svc_messages", "delivered") })},
	{"M320", "STA-002", "the period is one day unless asked otherwise", nil, request(statistics, func(r *http.Request) {
		if !r.URL.Query().Has("period") {
			setQuery(r, func(q map[string][]string) { q["period"] = []string{"1d"} })
		}
	})},
	{"M321", "STA-003", "the period 7d has 61 points", nil, stat(func(r *http.Request, v map[string]any) {
		for _, name := range perPeriod {
			if list, ok := v[name].([]any); ok && r.URL.Query().Get("period") == "7d" {
				v[name] = append(list, list[len(list)-1])
			}
		}
	})},
	{"M322", "STA-005", "the last hour has a point every two minutes", []string{"STA-002", "STA-003"}, stat(func(r *http.Request, v map[string]any) {
		if p := r.URL.Query().Get("period"); p == "" || p == "1h" {
			for _, name := range perPeriod {
				list, _ := v[name].([]any)
				thin := []any{}
				for i := range list {
					if i%2 == 0 {
						thin = append(thin, list[i])
					}
				}
				v[name] = thin
			}
		}
	})},
	{"M323", "STA-006", "the points of 3d are an hour apart", nil, stat(func(r *http.Request, v map[string]any) {
		if r.URL.Query().Get("period") != "3d" {
			return
		}
		for _, name := range perPeriod {
			list, _ := v[name].([]any)
			for i, item := range list {
				p, _ := item.(map[string]any)
				p["x"] = time.Unix(1_700_000_000+int64(i)*3600, 0).UTC().Format(statsTime)
			}
		}
	})},
	{"M324", "STA-009", "days ends today", nil, stat(func(_ *http.Request, v map[string]any) {
		if days, ok := v["days"].([]any); ok {
			v["days"] = days[:len(days)-1]
		}
	})},
	{"M325", "STA-009", "the daily billings end today", nil, stat(func(_ *http.Request, v map[string]any) {
		if days, ok := v["daily_billings"].([]any); ok {
			v["daily_billings"] = days[:len(days)-1]
		}
	})},
	{"M326", "STA-010", "workflow_run is missing", nil, points(func(p map[string]any) { delete(p, "workflow_run") })},
	{"M327", "STA-001", "total_monthly_billing is a text", nil, stat(func(_ *http.Request, v map[string]any) {
		v["total_monthly_billing"] = fmt.Sprint(v["total_monthly_billing"])
	})},
	{"M328", "STA-013", "the bandwidth of the day never moves", nil, stat(func(_ *http.Request, v map[string]any) {
		walk(v["daily_bandwidths"], func(p map[string]any) { p["y"] = number(0) })
	})},
	{"M329", "STA-014", "runs are not counted", nil, points(func(p map[string]any) {
		if p["workflow_run"] != nil {
			p["workflow_run"] = number(0)
		}
	})},
	{"M330", "STA-015", "cancelled runs are not counted", nil, stat(func(_ *http.Request, v map[string]any) { still(v, "daily_workflow_messages", "canceled") })},
	{"M331", "STA-007", "times lack the fraction", nil, points(func(p map[string]any) {
		x, _ := p["x"].(string)
		if i := strings.IndexByte(x, '.'); i > 0 {
			p["x"] = x[:i] + " +0000 UTC"
		}
	})},
}

// still makes a series that never moves.
func still(v map[string]any, list, id string) {
	series, _ := v[list].([]any)
	for _, one := range series {
		s, _ := one.(map[string]any)
		if s["id"] == id {
			walk(s["data_points"], func(p map[string]any) { p["y"] = number(0) })
		}
	}
}
