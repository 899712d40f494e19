package mockserver_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/collector"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/natstest"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/otlp"
)

// A message whose server leaves the fleet stays in its trace: the attempts of the next server
// are below the publish that the first one exported.
func TestFleetContinuesATrace(t *testing.T) {
	t.Parallel()
	cluster, spans := natstest.Run(t), collector.New(t)
	traced := func(name string) (*member, *otlp.Exporter) {
		exporter, err := otlp.New(t.Context(), otlp.Config{Endpoint: spans.URL, Version: "1", Instance: name, Log: slog.New(slog.DiscardHandler)})
		expect.NoError(t, err)
		return joined(t, cluster, name, func(c *mockserver.Config) { c.Observe, c.TraceContext = exporter.Observe, true }), exporter
	}
	a, first := traced("a")
	token := a.account("shop")
	a.ok("PUT", "/_understudy/clock?account=shop", "", `{"mode":"manual"}`)
	a.ok("PUT", "/_understudy/stubs?account=shop", "", `[{"url":"https://app.test/*","answers":[{"status":503},{"status":200}]}]`)
	a.ok("POST", "/v2/publish/https://app.test/order", token, "one")
	a.ok("POST", "/_understudy/clock/advance?account=shop", "", `{"by":"0s"}`)
	b, second := traced("b")
	a.stop()
	first.Close()
	eventually(t, "the other server has all accounts", func() bool { v := b.fleet(); return len(v.ownedBy(v.Self)) == 2 })
	b.ok("POST", "/_understudy/clock/advance?account=shop", "", `{"by":"1h"}`)
	b.stop()
	second.Close()
	published, attempts := spans.Named("publish app.test/order"), spans.Named("POST app.test/order")
	expect.Equal(t, "publishes", len(published), 1)
	expect.Equal(t, "attempts", len(attempts), 2)
	for _, s := range attempts {
		expect.True(t, "the attempt is in the trace", bytes.Equal(s.GetTraceId(), published[0].GetTraceId()))
		expect.True(t, "the attempt is below the publish", bytes.Equal(s.GetParentSpanId(), published[0].GetSpanId()))
	}
}
