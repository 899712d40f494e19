package mockserver

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]handler{"controlMetrics": (*Server).controlMetrics})

// gauge is a figure of the server for Prometheus.
type gauge struct {
	name, help string
	value      func(*Server) float64
}

// allGauges are sorted by name.
var allGauges = []gauge{
	{"understudy_accounts", "Accounts of the server.", func(s *Server) float64 { return float64(len(s.tenants.All())) }},
	{"understudy_attempts_in_flight", "Deliveries that are being attempted.", func(s *Server) float64 {
		sum := 0
		for _, w := range s.tenants.All() {
			o, _ := w.Account.Overview()
			sum += o.InFlight
		}
		return float64(sum)
	}},
	{"understudy_backlog_bytes", "Bytes of messages that are not delivered yet, of the DLQ, of open workflow runs and of schedules.", func(s *Server) float64 {
		return float64(s.memoryBody().Backlog.Bytes)
	}},
	{"understudy_backlog_limit_bytes", "Bytes of backlog beyond which publishes are refused.", func(s *Server) float64 {
		return float64(s.cfg.MaxBacklogBytes)
	}},
	{"understudy_backlog_messages", "Messages that are not delivered yet.", func(s *Server) float64 {
		return float64(s.memoryBody().Backlog.Messages)
	}},
	{"understudy_key_value_bytes", "Bytes of the data of the embedded key-value stores.", func(s *Server) float64 {
		return float64(s.kvCapacity.Used())
	}},
	{"understudy_observations_bytes", "Bytes of journals, log and answers.", func(s *Server) float64 {
		return float64(s.memory.Observed())
	}},
	{"understudy_observations_limit_bytes", "Bytes of observations that the server may keep (--memory).", func(s *Server) float64 {
		return float64(s.cfg.Memory)
	}},
	{"understudy_violations", "Answers of the server that broke the document.", func(s *Server) float64 {
		return float64(len(s.Violations()))
	}},
}

// controlMetrics is the server's figures in the text format of Prometheus, with
// those of the Go runtime and of the process.
func (s *Server) controlMetrics(*call.Call) (response.Response, error) {
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
