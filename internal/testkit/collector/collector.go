// Package collector is an OpenTelemetry collector for tests: it keeps the spans that it receives.
//
//	c := collector.New(t)
//	... export to c.URL ...
//	fmt.Print(c.Tree())
package collector

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is a collector that keeps what it receives.
type Collector struct {
	*httptest.Server

	mu       sync.Mutex
	Spans    []*spans.Span
	Again    []*spans.Span // as they were before they were sent again
	Resource map[string]string
	Raw      []byte // everything that was received
}

// New starts a collector.
func New(t testing.TB) *Collector {
	t.Helper()
	r := &Collector{Resource: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		var sent spans.TracesData // on the wire, an ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &sent); err != nil || q.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", q.URL.Path, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.Raw = append(r.Raw, body...)
		for _, group := range sent.GetResourceSpans() {
			for _, a := range group.GetResource().GetAttributes() {
				r.Resource[a.GetKey()] = a.GetValue().GetStringValue()
			}
			for _, scope := range group.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					r.keep(s)
				}
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

// keep replaces a span that is sent again, as collectors do.
func (r *Collector) keep(s *spans.Span) {
	i := slices.IndexFunc(r.Spans, func(one *spans.Span) bool { return string(one.GetSpanId()) == string(s.GetSpanId()) })
	if i < 0 {
		r.Spans = append(r.Spans, s)
		return
	}
	r.Again, r.Spans[i] = append(r.Again, r.Spans[i]), s
}

// Tree writes the spans of all traces, one per line, indented below their parents, by name.
func (r *Collector) Tree() string {
	var b strings.Builder
	var below func(parent string, depth int)
	byParent := map[string][]*spans.Span{}
	known := map[string]bool{}
	for _, s := range r.Spans {
		known[string(s.GetSpanId())] = true
	}
	for _, s := range r.Spans {
		parent := string(s.GetParentSpanId())
		if !known[parent] {
			parent = ""
		}
		byParent[parent] = append(byParent[parent], s)
	}
	below = func(parent string, depth int) {
		list := byParent[parent]
		slices.SortStableFunc(list, func(x, y *spans.Span) int {
			return int(int64(x.GetStartTimeUnixNano()) - int64(y.GetStartTimeUnixNano()))
		})
		for _, s := range list {
			fmt.Fprintf(&b, "%s%s\n", strings.Repeat("  ", depth), s.GetName())
			below(string(s.GetSpanId()), depth+1)
		}
	}
	below("", 0)
	return b.String()
}

// Named are the spans with a name.
func (r *Collector) Named(name string) (found []*spans.Span) {
	for _, s := range r.Spans {
		if s.GetName() == name {
			found = append(found, s)
		}
	}
	return found
}

// Value is an attribute as text.
func Value(s *spans.Span, name string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == name {
			switch v := a.GetValue().GetValue().(type) {
			case *common.AnyValue_StringValue:
				return v.StringValue
			case *common.AnyValue_IntValue:
				return fmt.Sprint(v.IntValue)
			default:
				return a.GetValue().String()
			}
		}
	}
	return ""
}
