package control

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]Handler{"controlMetrics": (*Service).metrics})

// gauge is a metric of the server.
type gauge struct {
	name, help string
	value      func(*Service) float64
}

// allGauges are sorted by name.
var allGauges = []gauge{
	{"understudy_accounts", "Accounts of the server.", func(s *Service) float64 { return float64(len(s.Tenants.All())) }},
	{"understudy_attempts_in_flight", "Deliveries that are being attempted.", func(s *Service) float64 {
		sum := 0
		for _, w := range s.Tenants.All() {
			_, n := w.Account.Glance() // without waiting for the lock of the account
			sum += n
		}
		return float64(sum)
	}},
	{"understudy_backlog_bytes", "Bytes of messages that are not delivered yet, of the DLQ, of open workflow runs and of schedules.", func(s *Service) float64 {
		return float64(s.Memory().Backlog.Bytes)
	}},
	{"understudy_backlog_limit_bytes", "Bytes of backlog beyond which publishes are refused.", func(s *Service) float64 {
		return float64(s.Memory().Backlog.Limit)
	}},
	{"understudy_backlog_messages", "Messages that are not delivered yet.", func(s *Service) float64 {
		return float64(s.Memory().Backlog.Messages)
	}},
	{"understudy_key_value_bytes", "Bytes of the data of the embedded key-value stores.", func(s *Service) float64 {
		return float64(s.Memory().KeyValue)
	}},
	{"understudy_observations_bytes", "Bytes of journals, log and answers.", func(s *Service) float64 {
		return float64(s.Memory().Observations)
	}},
	{"understudy_observations_limit_bytes", "Bytes of observations that the server may keep (--memory).", func(s *Service) float64 {
		return float64(s.Memory().Limit)
	}},
	{"understudy_violations", "Answers of the server that violated the document.", func(s *Service) float64 {
		return float64(s.Violations())
	}},
}

// metrics returns the metrics of the server, the Go runtime and the process in the
// text format of Prometheus.
func (s *Service) metrics(*call.Call) (response.Response, error) {
	registry := prometheus.NewRegistry()
	all := []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
	for _, g := range allGauges {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help}, func() float64 { return g.value(s) }))
	}
	if s.Store != nil {
		all = append(all, storeFigures{s.Store})
	}
	if s.Fleet != nil {
		all = append(all, fleetFigures{s.Fleet})
	}
	for _, c := range all {
		if err := registry.Register(c); err != nil {
			return response.Response{}, err
		}
	}
	return response.Response{Stream: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP}, nil
}

// storeFigures are the metrics of the store, for a server with --data.
type storeFigures struct{ store store.Store }

// The descriptions of these metrics.
var (
	storeRecords   = prometheus.NewDesc("understudy_store_records_total", "Records that this process has made durable.", nil, nil)
	storeBytes     = prometheus.NewDesc("understudy_store_bytes_total", "Bytes of the records that this process has made durable.", nil, nil)
	storeFailures  = prometheus.NewDesc("understudy_store_failures_total", "Attempts to write a group of records that failed.", nil, nil)
	storeSnapshots = prometheus.NewDesc("understudy_store_snapshots_total", "Snapshots of this process that replaced records of journals.", nil, nil)
	storeBehind    = prometheus.NewDesc("understudy_store_records_since_snapshot", "Records that a start would replay.", []string{"account"}, nil)
	storeCommit    = prometheus.NewDesc("understudy_store_commit_seconds", "How long it takes to make a group of records durable.", nil, nil)
)

// Describe implements prometheus.Collector.
func (f storeFigures) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(f, to) }

// Collect implements prometheus.Collector.
func (f storeFigures) Collect(to chan<- prometheus.Metric) {
	stats := f.store.Stats()
	for _, c := range []struct {
		desc  *prometheus.Desc
		value int64
	}{{storeRecords, stats.Records}, {storeBytes, stats.Bytes}, {storeFailures, stats.Failures}, {storeSnapshots, stats.Snapshots}} {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(c.value))
	}
	for account, b := range stats.Behind {
		to <- prometheus.MustNewConstMetric(storeBehind, prometheus.GaugeValue, float64(b.Records), account)
	}
	buckets, sum := map[float64]uint64{}, uint64(0)
	for i, bound := range store.CommitBounds {
		sum += uint64(stats.CommitTimes[i])
		buckets[bound.Seconds()] = sum
	}
	to <- prometheus.MustNewConstHistogram(storeCommit, uint64(stats.Commits), stats.CommitTime.Seconds(), buckets)
}
