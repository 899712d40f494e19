package control

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]Handler{"controlMetrics": (*Service).metrics})

// gauge is a figure of the server for Prometheus.
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
			o, _ := w.Account.Overview()
			sum += o.InFlight
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
	{"understudy_violations", "Answers of the server that broke the document.", func(s *Service) float64 {
		return float64(s.Violations())
	}},
}

// metrics is the server's figures in the text format of Prometheus, with
// those of the Go runtime and of the process.
func (s *Service) metrics(*call.Call) (response.Response, error) {
	registry := prometheus.NewRegistry()
	all := []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
	for _, g := range allGauges {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help}, func() float64 { return g.value(s) }))
	}
	for _, c := range all {
		if err := registry.Register(c); err != nil {
			return response.Response{}, err
		}
	}
	return response.Response{Stream: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP}, nil
}
