// Package metrics shows the metrics of a server, of the Go runtime and of the process in the text
// format of Prometheus.
//
//	mockserver.Run(mockserver.Config{Metrics: metrics.Handler})
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/understudy-mock/understudy/mockserver/control"
)

// Handler shows metrics. It implements control.Exporter.
func Handler(all []control.Metric) http.Handler {
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
