package conformance

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/features"
	"github.com/understudy-mock/understudy/internal/clip"
)

// Checked is one entry of a target file and the result of trying it once.
type Checked struct {
	Entry  string // drivers.run, bindings.dlq.count ...
	Works  bool
	Tried  bool   // false: the target file lacks it, or only a scenario can test it
	Detail string // one line
}

// targetFeature has a scenario for each entry of a target file, with its name.
const targetFeature = "target.feature"

// CheckTarget tries every driver and binding of a target file once, by the scenarios of
// target.feature, and reports the results. It gives no verdict on the target. It returns the same
// errors as [Run].
func CheckTarget(ctx context.Context, cfg Config) ([]Checked, error) {
	cfg.FS, cfg.Concurrency, cfg.SelfTest = features.FS, 1, false // one at a time: drivers that others depend on come first
	st, err := newSuite(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer st.close()
	absent, err := st.open(ctx)
	if err != nil {
		return nil, err
	}
	list := []Checked{{"receiver", true, true, "a message that was published arrived at " + st.Receiver.Public}}
	for _, area := range slices.Sorted(maps.Keys(absent)) {
		list = append(list, Checked{"area " + area, false, true, absent[area]})
	}
	all, err := scenarios(cfg.FS)
	if err != nil {
		return nil, err
	}
	bound := st.Target.Bindings.ByName()
	for i := range all {
		p := &all[i]
		name, binding := strings.CutPrefix(p.result.Name, "bindings.")
		if p.due = p.file == targetFeature && (!binding || bound[name] != ""); p.due {
			st.picked[p.key] = p
		}
	}
	if err := st.pass(st.Context, false); err != nil {
		return nil, err
	}
	for i := range all {
		if r := all[i].judged; r != nil {
			unknown := r.Verdict == report.NotApplicable || r.Verdict == report.Inconclusive && r.Reason != report.DriverFailed && r.Reason != report.TransportFailed
			list = append(list, Checked{r.Name, r.Verdict == report.Pass, !unknown, clip.Line(r.Detail)})
		}
	}
	return list, nil
}
