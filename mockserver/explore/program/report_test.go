package program_test

import (
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/explore"
	"github.com/understudy-mock/understudy/mockserver/explore/program"
)

// found is a result with something of everything.
func found() *explore.Result {
	finding := explore.Finding{
		ID: "ab12", Plan: explore.Plan{{Point: "/orders", Fault: explore.LostReceipt}}, Seen: 2, Tried: 3, Replay: "ab12.journal",
		Breaches: []explore.Breach{{Text: "one e-mail more"}},
	}
	return &explore.Result{
		Baseline: &explore.Observation{Stuck: []string{"/slow"}, Effects: map[string]int{"mail": 2}}, Findings: []*explore.Finding{&finding},
		Known: []explore.Known{{Finding: &finding, Reason: "being fixed", Issue: "#7"}}, Unstable: []*explore.Finding{&finding},
		Levels: []explore.Level{{Faults: 1, Done: 4, All: 4}}, LeftOut: explore.LeftOut{SameTrace: 3}, Took: 1.25,
		Allowed: []explore.Allowed{{State: "/orders/*/note", Because: "nobody reads it"}}, Repeated: []string{"mail"}, Idle: []string{"/failed"},
	}
}

func TestTheTextSaysAllOfAResult(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	expect.Nil(t, "error", program.WriteText(&b, found(), "understudy explore --case %s"))
	expect.Equal(t, "text", b.String(), `baseline   0 deliveries, 2 effects; 3 runs equal
level 1    4/4

warning: an effect outside of steps: mail, without a fault

note: a failure callback was answered 2xx, and nothing changed: /failed

FAIL  one e-mail more
      lost-receipt at /orders
      `+explore.LostReceipt.Why()+`
      case ab12, seen in 2 of 3 tries
      again: understudy explore --case ab12
      look:  understudy replay ab12.journal --serve

known: one e-mail more (case ab12): being fixed #7

unstable: ab12, seen in 2 of 3 tries; not counted

allowed: /orders/*/note: nobody reads it

waited for another delivery: /slow

all 4 single faults; 1 finding; 1.2 s
left out: 3 cases with a trace that was extended, 0 pairs with nothing in common
`)
}

func TestAResultWithoutFindingsPromisesNothing(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	expect.Nil(t, "error", program.WriteText(&b, &explore.Result{}, ""))
	expect.Equal(t, "text", b.String(), "\n0 cases; 0 findings; 0.0 s\nNo finding means: none in these cases, for this scenario and what it shows of the application.\n")
}

func TestTheSummaryForCIListsFindings(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	expect.Nil(t, "error", program.Reports["markdown"](&b, found()))
	expect.Equal(t, "markdown", b.String(), `## understudy explore: 1 finding

all 4 single faults; 1 finding; 1.2 s

### one e-mail more

* `+"`lost-receipt` at `/orders`"+`. `+explore.LostReceipt.Why()+`

Case `+"`ab12`"+`, seen in 2 of 3 tries.
`)
}
