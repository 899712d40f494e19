package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// changeStats changes the statistics.
func changeStats(change func(r *http.Request, v map[string]any)) func(func()) mutantParts {
	return changeReply(readingStats, change)
}

// changePoints changes every point of the statistics.
func changePoints(change func(p map[string]any)) func(func()) mutantParts {
	return changeStats(func(_ *http.Request, v map[string]any) { walkPoints(v, change) })
}

func walkPoints(v any, change func(p map[string]any)) {
	switch x := v.(type) {
	case map[string]any:
		if _, ok := x["x"]; ok {
			change(x)
		}
		for _, inner := range x {
			walkPoints(inner, change)
		}
	case []any:
		for _, inner := range x {
			walkPoints(inner, change)
		}
	}
}

var perPeriod = []string{"daily_used", "daily_used_workflow", "daily_bandwidth_used"}

// keepLast keeps only the last n points of the series of a period.
func keepLast(v map[string]any, n int) {
	for _, name := range perPeriod {
		if list, ok := v[name].([]any); ok && len(list) > n {
			v[name] = list[len(list)-n:]
		}
	}
}

const statsTime = "2006-01-02 15:04:05.000000000 -0700 UTC"

// statsMutants break the usage statistics. Sorted by id.
var statsMutants = []mutant{
	{ID: "STA-001.1", Text: "one array is null", Build: changeStats(func(_ *http.Request, v map[string]any) { v["daily_used"] = nil })},
	{ID: "STA-001.2", Text: "total_monthly_billing is a text", Build: changeStats(func(_ *http.Request, v map[string]any) {
		v["total_monthly_billing"] = fmt.Sprint(v["total_monthly_billing"])
	})},
	{ID: "STA-001.3", Text: "the days are numbers", Build: changeStats(func(_ *http.Request, v map[string]any) {
		days, _ := v["days"].([]any)
		for i := range days {
			days[i] = jsonNumber(int64(i + 1))
		}
	})},
	{ID: "STA-001.4", Text: "daily_bandwidth_used is missing for other periods than the last hour", Build: changeStats(func(r *http.Request, v map[string]any) {
		if p := r.URL.Query().Get("period"); p != "" && p != "1h" {
			delete(v, "daily_bandwidth_used")
		}
	})},
	{ID: "STA-002.1", Text: "the period is one day unless asked otherwise", Build: changeRequest(readingStats, func(r *http.Request) {
		if !r.URL.Query().Has("period") {
			setQuery(r, func(q map[string][]string) { q["period"] = []string{"1d"} })
		}
	})},
	{ID: "STA-002.2", Text: "the period is three hours unless asked otherwise", Build: changeRequest(readingStats, func(r *http.Request) {
		if !r.URL.Query().Has("period") {
			setQuery(r, func(q map[string][]string) { q["period"] = []string{"3h"} })
		}
	})},
	{ID: "STA-002.3", Text: "the period is 30 days unless asked otherwise", Build: changeRequest(readingStats, func(r *http.Request) {
		if !r.URL.Query().Has("period") {
			setQuery(r, func(q map[string][]string) { q["period"] = []string{"30d"} })
		}
	})},
	{ID: "STA-003.1", Text: "the period 7d has 61 points", Build: changeStats(func(r *http.Request, v map[string]any) {
		for _, name := range perPeriod {
			if list, ok := v[name].([]any); ok && r.URL.Query().Get("period") == "7d" {
				v[name] = append(list, list[len(list)-1])
			}
		}
	})},
	{ID: "STA-003.2", Text: "the series of messages have 30 points", Build: changeStats(func(_ *http.Request, v map[string]any) { cutSeries(v, "daily_svc_messages", 30) })},
	{ID: "STA-003.3", Text: "the series of workflows have 59 points for 12h", Build: changeStats(func(r *http.Request, v map[string]any) {
		if r.URL.Query().Get("period") == "12h" {
			cutSeries(v, "daily_workflow_messages", 59)
		}
	})},
	{ID: "STA-004.1", Text: "30d gives 60 points", Build: changeStats(func(r *http.Request, v map[string]any) {
		if r.URL.Query().Get("period") == "30d" {
			keepLast(v, 60)
		}
	})},
	{ID: "STA-004.2", Text: "the series of messages have 60 points for 30d", Build: changeStats(func(r *http.Request, v map[string]any) {
		if r.URL.Query().Get("period") == "30d" {
			cutSeries(v, "daily_svc_messages", 60)
		}
	})},
	{ID: "STA-004.3", Text: "the points of 30d are two hours apart", Build: changeStats(spacePoints("30d", 2*time.Hour))},
	{ID: "STA-005.1", Text: "the last hour has a point every two minutes", Build: changeStats(func(r *http.Request, v map[string]any) {
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
	{ID: "STA-005.2", Text: "the last hour ended an hour ago", Build: changeStats(movePoints)},
	{ID: "STA-005.3", Text: "the points of the last hour are a second apart", Build: changeStats(spacePoints("1h", time.Second))},
	{ID: "STA-006.1", Text: "the points of 3d are an hour apart", Build: changeStats(spacePoints("3d", time.Hour))},
	{ID: "STA-006.2", Text: "the points of 12h are ten minutes apart", Build: changeStats(spacePoints("12h", 10*time.Minute))},
	{ID: "STA-006.3", Text: "the points of 7d are as far apart as those of 30d", Build: changeStats(spacePoints("7d", 3*time.Hour))},
	{ID: "STA-007.1", Text: "times are in RFC 3339", Build: changePoints(func(p map[string]any) {
		if t, err := time.Parse("2006-01-02 15:04:05.999999999 -0700 UTC", p["x"].(string)); err == nil {
			p["x"] = t.Format(time.RFC3339)
		}
	})},
	{ID: "STA-007.2", Text: "times lack the fraction", Build: changePoints(func(p map[string]any) {
		x, _ := p["x"].(string)
		if i := strings.IndexByte(x, '.'); i > 0 {
			p["x"] = x[:i] + " +0000 UTC"
		}
	})},
	{ID: "STA-007.3", Text: "times are those of another zone", Build: changeStats(changeZone)},
	{ID: "STA-008.1", Text: "y is a text", Build: changePoints(func(p map[string]any) { p["y"] = fmt.Sprint(p["y"]) })},
	{ID: "STA-008.2", Text: "x is missing in daily_bandwidth_used", Build: changeStats(func(_ *http.Request, v map[string]any) {
		walkPoints(v["daily_bandwidth_used"], func(p map[string]any) { delete(p, "x") })
	})},
	{ID: "STA-008.3", Text: "y is a text for the period 7d", Build: changeStats(func(r *http.Request, v map[string]any) {
		if r.URL.Query().Get("period") == "7d" {
			walkPoints(v, func(p map[string]any) { p["y"] = fmt.Sprint(p["y"]) })
		}
	})},
	{ID: "STA-009.1", Text: "days ends today", Build: changeStats(func(_ *http.Request, v map[string]any) {
		if days, ok := v["days"].([]any); ok {
			v["days"] = days[:len(days)-1]
		}
	})},
	{ID: "STA-009.2", Text: "the daily billings end today", Build: changeStats(func(_ *http.Request, v map[string]any) {
		if days, ok := v["daily_billings"].([]any); ok {
			v["daily_billings"] = days[:len(days)-1]
		}
	})},
	{ID: "STA-009.3", Text: "the daily requests begin with the last day", Build: changeStats(func(_ *http.Request, v map[string]any) {
		if days, ok := v["daily_requests"].([]any); ok {
			v["daily_requests"] = append(days[len(days)-1:], days[:len(days)-1]...)
		}
	})},
	{ID: "STA-010.1", Text: "workflow_run is missing", Build: changePoints(func(p map[string]any) { delete(p, "workflow_run") })},
	{ID: "STA-010.2", Text: "workflow_message is a text", Build: changePoints(func(p map[string]any) {
		if p["workflow_message"] != nil {
			p["workflow_message"] = fmt.Sprint(p["workflow_message"])
		}
	})},
	{ID: "STA-010.3", Text: "workflow_run is null on days without runs", Build: changePoints(func(p map[string]any) {
		if p["workflow_run"] != nil && integerOf(p, "workflow_run") == 0 {
			p["workflow_run"] = nil
		}
	})},
	{ID: "STA-011.1", Text: "dlq_message_count is constant", Build: changeStats(func(_ *http.Request, v map[string]any) { v["dlq_message_count"] = jsonNumber(0) })},
	{ID: "STA-011.2", Text: "dlq_message_count is twice the size", Build: changeStats(func(_ *http.Request, v map[string]any) {
		v["dlq_message_count"] = jsonNumber(2 * integerOf(v, "dlq_message_count"))
	})},
	{ID: "STA-011.3", Text: "dlq_message_count is one at most", Build: changeStats(func(_ *http.Request, v map[string]any) {
		v["dlq_message_count"] = jsonNumber(min(1, integerOf(v, "dlq_message_count")))
	})},
	{ID: "STA-012.1", Text: "the delivered series never moves", Build: changeStats(func(_ *http.Request, v map[string]any) { stopSeries(v, "daily_svc_messages", "delivered") })},
	{ID: "STA-012.2", Text: "the delivered series of 7d never moves", Build: changeStats(ofPeriod("7d", func(v map[string]any) { stopSeries(v, "daily_svc_messages", "delivered") }))},
	{ID: "STA-013.1", Text: "the bandwidth of the day never moves", Build: changeStats(func(_ *http.Request, v map[string]any) {
		walkPoints(v["daily_bandwidths"], func(p map[string]any) { p["y"] = jsonNumber(0) })
	})},
	{ID: "STA-013.2", Text: "requests are counted on the day before", Build: changeStats(func(_ *http.Request, v map[string]any) { dayBefore(v, "daily_requests", "y") })},
	{ID: "STA-013.3", Text: "requests of 30d are counted on the day before", Build: changeStats(ofPeriod("30d", func(v map[string]any) { dayBefore(v, "daily_requests", "y") }))},
	{ID: "STA-014.1", Text: "runs are not counted", Build: changePoints(func(p map[string]any) {
		if p["workflow_run"] != nil {
			p["workflow_run"] = jsonNumber(0)
		}
	})},
	{ID: "STA-014.2", Text: "runs are counted on the day before", Build: changeStats(func(_ *http.Request, v map[string]any) { dayBefore(v, "daily_requests", "workflow_run") })},
	{ID: "STA-014.3", Text: "runs are subtracted", Build: changePoints(func(p map[string]any) {
		if p["workflow_run"] != nil {
			p["workflow_run"] = jsonNumber(-integerOf(p, "workflow_run"))
		}
	})},
	{ID: "STA-014.4", Text: "runs are not counted for 3h", Build: changeStats(ofPeriod("3h", func(v map[string]any) {
		walkPoints(v["daily_requests"], func(p map[string]any) { p["workflow_run"] = jsonNumber(0) })
	}))},
	{ID: "STA-015.1", Text: "cancelled runs are not counted", Build: changeStats(func(_ *http.Request, v map[string]any) { stopSeries(v, "daily_workflow_messages", "canceled") })},
}

// ofPeriod changes the statistics of one period.
func ofPeriod(period string, change func(v map[string]any)) func(*http.Request, map[string]any) {
	return func(r *http.Request, v map[string]any) {
		if r.URL.Query().Get("period") == period {
			change(v)
		}
	}
}

// stopSeries sets all points of a series to 0.
func stopSeries(v map[string]any, list, id string) {
	series, _ := v[list].([]any)
	for _, one := range series {
		s, _ := one.(map[string]any)
		if s["id"] == id {
			walkPoints(s["data_points"], func(p map[string]any) { p["y"] = jsonNumber(0) })
		}
	}
}

// cutSeries keeps only the last n points of each series of a list.
func cutSeries(v map[string]any, list string, n int) {
	for _, s := range itemsOf(v, list) {
		if points, ok := s["data_points"].([]any); ok && len(points) > n {
			s["data_points"] = points[len(points)-n:]
		}
	}
}

// pointTime returns the time of a point.
func pointTime(p map[string]any) time.Time {
	t, _ := time.Parse("2006-01-02 15:04:05.999999999 -0700 UTC", textOf(p["x"]))
	return t
}

// ofLastHour reports whether a request is for the last hour.
func ofLastHour(r *http.Request) bool {
	p := r.URL.Query().Get("period")
	return p == "" || p == "1h"
}

// spacePoints changes the distance of the points of a period.
func spacePoints(period string, distance time.Duration) func(r *http.Request, v map[string]any) {
	return func(r *http.Request, v map[string]any) {
		if r.URL.Query().Get("period") != period {
			return
		}
		for _, name := range perPeriod {
			list := itemsOf(v, name)
			for i, p := range list {
				p["x"] = pointTime(list[len(list)-1]).Add(-time.Duration(len(list)-1-i) * distance).Format(statsTime)
			}
		}
	}
}

// movePoints moves the points of the last hour back by an hour.
func movePoints(r *http.Request, v map[string]any) {
	if !ofLastHour(r) {
		return
	}
	for _, name := range append([]string{"daily_svc_messages", "daily_workflow_messages"}, perPeriod...) {
		walkPoints(v[name], func(p map[string]any) { p["x"] = pointTime(p).Add(-time.Hour).Format(statsTime) })
	}
}

// changeZone writes all times in another time zone.
func changeZone(_ *http.Request, v map[string]any) {
	walkPoints(v, func(p map[string]any) {
		p["x"] = pointTime(p).In(time.FixedZone("UTC", 7200)).Format("2006-01-02 15:04:05.000000000 -0700 UTC")
	})
}

// dayBefore moves a figure of each day to the day before.
func dayBefore(v map[string]any, list, field string) {
	days := itemsOf(v, list)
	for i := range days {
		days[i][field] = jsonNumber(0)
		if i+1 < len(days) {
			days[i][field] = days[i+1][field]
		}
	}
}
