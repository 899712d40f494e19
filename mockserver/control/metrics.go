package control

import (
	"context"
	"net/http"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// Fleet is what the control API shows of the servers that share the accounts.
type Fleet interface {
	View() any // of a server and the others; nil: it is alone
	Metrics() []Metric
	Refresh(context.Context) (others bool, err error) // reads the accounts that other servers have created; others: there may be some
}

// fleet lists the servers of the fleet and the owner of each account.
func (s *Service) fleet(*request.Call) (any, error) {
	view := s.Fleet.View()
	if view == nil {
		return nil, refusal.Of(refusal.NotFound, "fleet", "", "not found: this server is the only one with its accounts; servers with the same --data nats:// form a fleet")
	}
	return view, nil
}

// Metric is a number of the server for a monitoring system, or several with a label.
type Metric struct {
	Name, Help string
	Kind       MetricKind
	Label      string             // the name of the label; "": none
	Values     map[string]float64 // by the value of the label, which is "" without one
	Times      *Times             // of a Histogram
}

// MetricKind says how a metric changes.
type MetricKind int

// The kinds of metrics.
const (
	Gauge     MetricKind = iota // rises and falls
	Counter                     // rises only
	Histogram                   // how long something takes, see Metric.Times
)

// Times is how long something took.
type Times struct {
	Count   uint64
	Seconds float64            // in all
	Buckets map[float64]uint64 // how many took at most this number of seconds
}

// Number is a metric without labels.
func Number(name, help string, kind MetricKind, value float64) Metric {
	return Metric{Name: name, Help: help, Kind: kind, Values: map[string]float64{"": value}}
}

// metrics passes the metrics of the server to the exporter.
func (s *Service) metrics(*request.Call) (any, error) {
	if s.Export == nil {
		return nil, Missing("metrics")
	}
	inFlight := 0
	for _, w := range s.Tenants.All() {
		_, n := w.Account.Glance() // without waiting for the lock of the account
		inFlight += n
	}
	memory := s.Memory()
	all := []Metric{
		Number("understudy_accounts", "Accounts of the server.", Gauge, float64(len(s.Tenants.All()))),
		Number("understudy_attempts_in_flight", "Deliveries that are being attempted.", Gauge, float64(inFlight)),
		Number("understudy_backlog_bytes", "Bytes of messages that are not delivered yet, of the DLQ, of open workflow runs and of schedules.", Gauge, float64(memory.Backlog.Bytes)),
		Number("understudy_backlog_limit_bytes", "Bytes of backlog beyond which publishes are refused.", Gauge, float64(memory.Backlog.Limit)),
		Number("understudy_backlog_messages", "Messages that are not delivered yet.", Gauge, float64(memory.Backlog.Messages)),
		Number("understudy_key_value_bytes", "Bytes of the data of the embedded key-value stores.", Gauge, float64(memory.KeyValue)),
		Number("understudy_observations_bytes", "Bytes of journals, log and answers.", Gauge, float64(memory.Observations)),
		Number("understudy_observations_limit_bytes", "Bytes of observations that the server may keep (--memory).", Gauge, float64(memory.Limit)),
		Number("understudy_violations", "Answers of the server that violated the document.", Gauge, float64(s.Violations())),
	}
	if s.Store != nil {
		all = append(all, storeMetrics(s.Store.Stats())...)
	}
	all = append(all, s.Fleet.Metrics()...)
	return response.Response{Stream: func(w http.ResponseWriter, r *http.Request) { s.Export(all).ServeHTTP(w, r) }}, nil
}

// storeMetrics are the metrics of the store, for a server with --data.
func storeMetrics(stats store.Stats) []Metric {
	times := Times{Count: uint64(stats.Commits), Seconds: stats.CommitTime.Seconds(), Buckets: map[float64]uint64{}}
	sum := uint64(0)
	for i, bound := range store.CommitBounds {
		sum += uint64(stats.CommitTimes[i])
		times.Buckets[bound.Seconds()] = sum
	}
	behind := map[string]float64{}
	for account, b := range stats.Behind {
		behind[account] = float64(b.Records)
	}
	return []Metric{
		Number("understudy_store_records_total", "Records that this process has made durable.", Counter, float64(stats.Records)),
		Number("understudy_store_bytes_total", "Bytes of the records that this process has made durable.", Counter, float64(stats.Bytes)),
		Number("understudy_store_failures_total", "Attempts to write a group of records that failed.", Counter, float64(stats.Failures)),
		Number("understudy_store_snapshots_total", "Snapshots of this process that replaced records of journals.", Counter, float64(stats.Snapshots)),
		{Name: "understudy_store_records_since_snapshot", Help: "Records that a start would replay.", Kind: Gauge, Label: "account", Values: behind},
		{Name: "understudy_store_commit_seconds", Help: "How long it takes to make a group of records durable.", Kind: Histogram, Times: &times},
	}
}
