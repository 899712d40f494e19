package messaging

import (
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/usage"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/spec/api"
)

// getUsageStatistics reports on the account of the credentials; any other id is
// not found.
func (a *API) getUsageStatistics(c *request.Call) (any, error) {
	if id := c.Vars["id"]; id != c.Tenant.ID {
		return nil, refusal.Of(refusal.NotFound, "messaging user", id, "not found: must be the id of the account that the credentials belong to")
	}
	u, err := c.Account.Usage(c.Query.Get("period"))
	return usageBody(&u), err
}

// statsTime is the layout of timestamps: a UTC date and time with nanoseconds
// ("Time-series shapes").
const statsTime = "2006-01-02 15:04:05.000000000 +0000 UTC"

// usageBody is the response of "Usage statistics".
func usageBody(u *usage.Statistics) api.UsageStatistics {
	out := api.UsageStatistics{
		Days:                  make([]string, len(u.Days)),
		DailyRequests:         make([]api.DailyRequest, len(u.Days)),
		DailyBillings:         pointSeries(u.Days, func(p *usage.Point) float64 { return u.Bill(p) }),
		DailyBandwidths:       pointSeries(u.Days, func(p *usage.Point) float64 { return float64(p.Bytes) }),
		DailyUsed:             pointSeries(u.Points, func(p *usage.Point) float64 { return float64(p.Requests) }),
		DailyUsedWorkflow:     pointSeries(u.Points, func(p *usage.Point) float64 { return float64(p.Steps) }),
		DailyBandwidthUsed:    pointSeries(u.Points, func(p *usage.Point) float64 { return float64(p.Bytes) }),
		DailySvcMessages:      namedSeries(u.Points, messageMetrics),
		DailyWorkflowMessages: namedSeries(u.Points, workflowMetrics),
		DlqMessageCount:       u.DLQ,
	}
	var total float64
	for i := range u.Days {
		p := &u.Days[i]
		out.Days[i] = p.At.Weekday().String()
		out.DailyRequests[i] = api.DailyRequest{X: statsStamp(p.At), Y: float32(p.Requests), WorkflowMessage: int(p.Steps), WorkflowRun: int(p.Started)}
		total += u.Bill(p)
	}
	out.TotalMonthlyBilling = float32(total)
	return out
}

func statsStamp(t time.Time) string { return t.UTC().Format(statsTime) }

func pointSeries(points []usage.Point, y func(*usage.Point) float64) []api.TimeSeriesPoint {
	out := make([]api.TimeSeriesPoint, len(points))
	for i := range points {
		out[i] = api.TimeSeriesPoint{X: statsStamp(points[i].At), Y: float32(y(&points[i]))}
	}
	return out
}

// metric is one time series and its id (decided: 1).
type metric struct {
	id string
	of func(*usage.Point) int64
}

var messageMetrics = []metric{
	{"created", func(p *usage.Point) int64 { return p.Created }},
	{"delivered", func(p *usage.Point) int64 { return p.Delivered }},
	{"retried", func(p *usage.Point) int64 { return p.Retried }},
	{"failed", func(p *usage.Point) int64 { return p.Failed }},
	{"canceled", func(p *usage.Point) int64 { return p.Canceled }},
}

var workflowMetrics = []metric{
	{"started", func(p *usage.Point) int64 { return p.Started }},
	{"success", func(p *usage.Point) int64 { return p.Succeeded }},
	{"failed", func(p *usage.Point) int64 { return p.RunsFailed }},
	{"canceled", func(p *usage.Point) int64 { return p.RunsEnded }},
}

func namedSeries(points []usage.Point, metrics []metric) []api.TimeSeriesWithId {
	out := make([]api.TimeSeriesWithId, len(metrics))
	for i, m := range metrics {
		out[i] = api.TimeSeriesWithId{Id: m.id, DataPoints: pointSeries(points, func(p *usage.Point) float64 { return float64(m.of(p)) })}
	}
	return out
}
