package trace_test

import (
	"net/http"
	"testing"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/trace"
)

func TestRead(t *testing.T) {
	t.Parallel()
	const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for fact, c := range map[string]struct {
		header http.Header
		want   string
	}{
		"a valid parent":                 {http.Header{"Traceparent": {valid}}, valid},
		"a state follows it":             {http.Header{"Traceparent": {valid}, "Tracestate": {"a=1", "b=2"}}, valid + " a=1,b=2"},
		"a state alone is nothing":       {http.Header{"Tracestate": {"a=1"}}, ""},
		"a later version is cut":         {http.Header{"Traceparent": {"01" + valid[2:] + "-more"}}, "01" + valid[2:]},
		"version ff is invalid":          {http.Header{"Traceparent": {"ff" + valid[2:]}}, ""},
		"version 00 has four parts":      {http.Header{"Traceparent": {valid + "-more"}}, ""},
		"capital letters are invalid":    {http.Header{"Traceparent": {"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}, ""},
		"a trace id of zeros is invalid": {http.Header{"Traceparent": {"00-00000000000000000000000000000000-b7ad6b7169203331-01"}}, ""},
		"a span id of zeros is invalid":  {http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"}}, ""},
		"two parents are invalid":        {http.Header{"Traceparent": {valid, valid}}, ""},
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			expect.Equal(t, "context", trace.Read(c.header), c.want)
		})
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	own, again := trace.Of("a", engine.TraceRoot{ID: "msg_1"}), trace.Of("a", engine.TraceRoot{ID: "msg_1"})
	expect.True(t, "the same message has the same trace", own == again)
	other, elsewhere := trace.Of("a", engine.TraceRoot{ID: "msg_2"}), trace.Of("b", engine.TraceRoot{ID: "msg_1"})
	expect.True(t, "another message has another trace", own.ID != other.ID)
	expect.True(t, "another account has another trace", own.ID != elsewhere.ID)
	expect.True(t, "attempts have different spans", own.Span("attempt", "msg_1", 0) != own.Span("attempt", "msg_1", 1))
	given := trace.Of("a", engine.TraceRoot{ID: "msg_1", Context: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00 a=1"})
	expect.Equal(t, "trace", given.Text(), "0af7651916cd43dd8448eb211c80319c")
	expect.Equal(t, "state", given.State, "a=1")
	expect.True(t, "it is not sampled", !given.Sampled)
}
