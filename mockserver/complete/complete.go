// Package complete attaches to the servers of a program what few Go tests use: the page, the
// documentation, and metrics in the text format of Prometheus.
//
//	import _ "github.com/understudy-mock/understudy/mockserver/complete"
package complete

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/mockserver/help"
	"github.com/understudy-mock/understudy/mockserver/ui"
)

func init() {
	control.Attach(control.Parts{
		Page:    func(api http.Handler) http.Handler { return ui.New(api) },
		Docs:    help.Handler{},
		Explain: help.Explains,
		Metrics: export,
	})
}

// export shows metrics, with those of the Go runtime and of the process.
func export(all []control.Metric) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collector(all))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

type collector []control.Metric

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	for i := range c {
		m := &c[i]
		var names []string
		if m.Label != "" {
			names = []string{m.Label}
		}
		desc := prometheus.NewDesc(m.Name, m.Help, names, nil)
		if t := m.Times; t != nil {
			to <- prometheus.MustNewConstHistogram(desc, t.Count, t.Seconds, t.Buckets)
		}
		kind := prometheus.GaugeValue
		if m.Kind == control.Counter {
			kind = prometheus.CounterValue
		}
		for label, value := range m.Values {
			to <- prometheus.MustNewConstMetric(desc, kind, value, []string{label}[:len(names)]...)
		}
	}
}
