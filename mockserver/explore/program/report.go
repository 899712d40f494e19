package program

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/internal/junit"
	"github.com/understudy-mock/understudy/mockserver/explore"
)

// Reports are the formats of a report.
var Reports = map[string]func(io.Writer, *explore.Result) error{"json": writeJSON, "junit": writeJUnit, "markdown": writeMarkdown, "html": writeHTML}

func writeJSON(w io.Writer, r *explore.Result) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// WriteText writes a result for a terminal. again is the command line of a case, with %s for
// its short form.
func WriteText(w io.Writer, r *explore.Result, again string) error {
	var b strings.Builder
	if o := r.Baseline; o != nil {
		fmt.Fprintf(&b, "baseline   %s, %s; 3 runs equal\n", clip.Counted(o.CountDeliveries(), "delivery", "deliveries"), clip.Counted(o.CountEffects(), "effect", "effects"))
	}
	for _, l := range r.Levels {
		fmt.Fprintf(&b, "level %d    %d/%d\n", l.Faults, l.Done, l.All)
	}
	for _, text := range r.Repeated {
		fmt.Fprintf(&b, "\nwarning: an effect outside of steps: %s, without a fault\n", text)
	}
	for _, name := range r.Idle {
		fmt.Fprintf(&b, "\nnote: a failure callback was answered 2xx, and nothing changed: %s\n", name)
	}
	for _, f := range r.Findings {
		b.WriteString("\n" + f.Text())
		if again != "" {
			fmt.Fprintf(&b, "      again: "+again+"\n", f.ID)
		}
		if f.Replay != "" {
			fmt.Fprintf(&b, "      look:  understudy replay %s --serve\n", f.Replay)
		}
	}
	for _, k := range r.Known {
		fmt.Fprintf(&b, "\nknown: %s (case %s): %s\n", k.Finding.Breaches[0].Text, k.Finding.ID, strings.TrimSpace(k.Reason+" "+k.Issue))
	}
	for _, f := range r.Unstable {
		fmt.Fprintf(&b, "\nunstable: %s, seen in %d of %d tries; not counted\n", f.ID, f.Seen, f.Tried)
	}
	for _, a := range r.Allowed {
		fmt.Fprintf(&b, "\nallowed: %s: %s\n", cmp.Or(a.Effect, a.State, a.DLQ), a.Because)
	}
	if r.Baseline != nil && len(r.Baseline.Stuck) > 0 {
		fmt.Fprintf(&b, "\nwaited for another delivery: %s\n", strings.Join(r.Baseline.Stuck, ", "))
	}
	fmt.Fprintf(&b, "\n%s\n", r.Summary())
	if left := r.LeftOut; left.SameTrace+left.Unrelated > 0 {
		fmt.Fprintf(&b, "left out: %d cases with a trace that was extended, %d pairs with nothing in common\n", left.SameTrace, left.Unrelated)
	}
	if len(r.Findings) == 0 {
		b.WriteString("No finding means: none in these cases, for this scenario and what it shows of the application.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeJUnit writes a test case for each handler and fault.
func writeJUnit(w io.Writer, r *explore.Result) error {
	found := map[string]*explore.Finding{}
	for _, f := range r.Findings {
		found[f.ID] = f
	}
	var cases []junit.Case
	for _, c := range r.Cases {
		one := junit.Case{Class: c.Handler(), Name: c.Plan.ID()}
		if f := found[one.Name]; f != nil {
			one.Failure = &junit.Text{Message: f.Breaches[0].Text, Text: f.Text()}
		}
		cases = append(cases, one)
	}
	return junit.Write(w, "understudy explore", []junit.Suite{{Name: "faults", Counts: junit.Counts{Time: r.Took}, Cases: cases}})
}

// writeMarkdown writes a summary for CI.
func writeMarkdown(w io.Writer, r *explore.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## understudy explore: %s\n\n%s\n", clip.Counted(len(r.Findings), "finding", "findings"), r.Summary())
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n### %s\n\n", f.Breaches[0].Text)
		for _, c := range f.Plan {
			fmt.Fprintf(&b, "* `%s` at `%s`. %s\n", c.Fault, c.Point, c.Fault.Why())
		}
		fmt.Fprintf(&b, "\nCase `%s`, seen in %d of %d tries.\n", f.ID, f.Seen, f.Tried)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
