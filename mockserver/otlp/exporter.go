// Package otlp exports the traces of messages and runs to an OpenTelemetry collector, over OTLP/HTTP.
//
//	exporter, err := otlp.New(ctx, otlp.Config{Endpoint: "http://localhost:4318", Log: log})
//	server, err := mockserver.Run(mockserver.Config{Observe: exporter.Observe, ...})
//	err = server.Close()
//	exporter.Close()
//
// It follows the log of each account: nothing waits for it, and a collector that is down costs a line
// in the log. Package trace derives all ids, so that the spans fit to the headers of deliveries.
// Spans have real time, and the times of the account's clock as attributes. They contain no bodies.
package otlp

import (
	"context"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/spec/mask"
)

// Config configures an exporter. The standard variables (OTEL_*) configure the rest.
type Config struct {
	Endpoint string // URL of the collector, such as http://localhost:4318; "": that of the variables
	Version  string // of the server
	Instance string // tells servers apart
	Log      *slog.Logger
}

// Exporter turns the events of accounts into spans, and sends them.
type Exporter struct {
	*follower

	provider *sdk.TracerProvider
	sent     *counted
	log      *slog.Logger
}

// closeWithin is how long Close tries to send what is left.
const closeWithin = 3 * time.Second

// New returns an exporter. It opens no connection before the first span.
func New(ctx context.Context, cfg Config) (*Exporter, error) {
	to, err := newUpload(cfg.Endpoint)
	if err != nil {
		return nil, err
	}
	client, err := otlptrace.New(ctx, to)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "understudy"), attribute.String("service.version", cfg.Version), attribute.String("service.instance.id", cfg.Instance),
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) // counted logs them
	sent := &counted{SpanExporter: client, log: cfg.Log}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(sent), sdk.WithResource(about), sdk.WithIDGenerator(derived{}))
	return &Exporter{newFollower(provider.Tracer("github.com/understudy-mock/understudy"), clock.NewReal().Now), provider, sent, cfg.Log}, nil
}

// Close ends the spans that are open and sends what is left, for a short time.
func (e *Exporter) Close() {
	e.mu.Lock()
	e.finish("")
	ended, skipped := e.ended, e.skipped // what is observed from here on is not exported
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	_ = e.provider.Shutdown(ctx) // counted logs errors
	if lost := ended - e.sent.done.Load(); lost > 0 || skipped > 0 {
		e.log.Warn("not all traces were exported", "spans", ended, "sent", e.sent.done.Load(), "lost", lost, "untraced messages and runs", skipped)
	}
}

// counted counts the spans that a collector has taken, and logs when it stops and starts to take them.
type counted struct {
	sdk.SpanExporter

	log  *slog.Logger
	done atomic.Int64
	down atomic.Bool
}

// ExportSpans implements sdk.SpanExporter.
func (c *counted) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err == nil:
		c.done.Add(int64(len(spans)))
		if c.down.Swap(false) {
			c.log.Info("traces are exported again")
		}
	case !c.down.Swap(true):
		c.log.Warn("traces are not exported", "reason", err.Error())
	}
	return err
}

// derived gives spans the ids that package trace has derived.
type derived struct{}

// wanted is the key, in a context, of the span context that a new span must get.
type wanted struct{}

// NewIDs implements sdk.IDGenerator.
func (derived) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	own, _ := ctx.Value(wanted{}).(oteltrace.SpanContext)
	return own.TraceID(), own.SpanID()
}

// NewSpanID implements sdk.IDGenerator.
func (derived) NewSpanID(ctx context.Context, _ oteltrace.TraceID) oteltrace.SpanID {
	own, _ := ctx.Value(wanted{}).(oteltrace.SpanContext)
	return own.SpanID()
}

// placeOf is the host and the path of a URL, for names of spans.
func placeOf(address string) string {
	u, err := url.Parse(mask.URL(address))
	if err != nil {
		return ""
	}
	return u.Host + u.Path
}
