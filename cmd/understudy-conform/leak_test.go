package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// A leaked credential is reported with the place where it is, not with a request that has nothing
// to do with it.
func TestALeakIsReportedWhereItIs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		build              func(hit func()) mutantParts
		scenario           string
		got, pointer       string
		operation          string // of the exchange that is shown
		inDelivery, inHead bool
	}{
		"the header of a delivery": {
			deliveryDefect("token of publisher", "retried"), "The credential is in nothing that is sent for a message that is tried again",
			"the header X-Caller of the delivery to the destination: POST ", "", "publishMessage", true, true,
		},
		"a field of an entry": {
			changeReply(listingDLQ, func(r *http.Request, v map[string]any) {
				for _, e := range itemsOf(v, "messages") {
					e["debug"] = map[string]any{"by/whom": []any{"x", r.Header.Get("Authorization")}}
				}
			}), "The credential is in no call, callback, entry or event of a run that is delayed",
			"the body of the answer of listWorkflowDLQ", "/messages/0/debug/by~1whom/1", "listWorkflowDLQ", false, false,
		},
		"the header of an answer": {
			changeResponse(listingLog, func(r *http.Request, a *answer) { a.header.Set("X-Debug", r.Header.Get("Authorization")) }),
			"The credential is in no call, callback, entry or event of a run that is delayed",
			"the header X-Debug of the answer of listWorkflowMessageLogs", "", "listWorkflowMessageLogs", false, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judged, _, _ := mutated(t, &mutant{ID: "leak", Build: c.build}, trial{names: []string{c.scenario}})
			r := &judged.Results[0]
			if r.Verdict != report.Fail || r.Failure == nil {
				t.Fatalf("%s %s, want a failure", r.Verdict, r.Detail)
			}
			expect.Contains(t, "got", r.Failure.Got, c.got)
			expect.Equal(t, "pointer", r.Failure.Pointer, c.pointer)
			expect.Equal(t, "a delivery is shown", r.Failure.Delivery != nil, c.inDelivery)
			x := &r.Exchanges[r.Failure.Exchange]
			expect.Equal(t, "operation of the request", x.Operation, c.operation)
			if !c.inDelivery && c.inHead {
				expect.True(t, "the answer that is shown has the header", len(x.AnswerHdr["X-Debug"]) == 1)
			}
			var text strings.Builder
			if err := report.Write("terminal", &text, judged); err != nil {
				t.Fatal(err)
			}
			expect.Contains(t, "the block", text.String(), "implied; a leak, like any breach of security, fails whatever its basis")
		})
	}
}
