package step

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/world"
	"github.com/understudy-mock/understudy/spec"
)

// worldSteps judge generated worlds by the rules of package world, whose sentences are the Then steps.
var worldSteps = []step{
	{"Given", `worlds of (messages|runs|limited routes)`, (*Scenario).worldsOf},
	{"Given", `reads of the (dead letter queue|message logs) in worlds of runs`, (*Scenario).worldsRead},
	{"When", `everything in them has happened`, func(s *Scenario) error { return s.happen(s.worlds) }},
	{"Then", `for every (?:message|run|read|limited route), (.+)`, (*Scenario).worldsKeep},
}

// worlds are the generated worlds of one kind in a run, which its scenarios share.
type worlds struct {
	*world.Kind
	size int
	list string  // that is read in worlds
	of   *worlds // of runs; nil when nothing is read

	mu     sync.Mutex
	begun  bool
	all    []*world.World
	err    error
	causes []*world.Smallest
	search time.Duration // that reductions have taken
}

// kinds are the kinds of worlds, by their names in steps.
var kinds = map[string]*world.Kind{"messages": world.Messages, "runs": world.Runs, "limited routes": world.Routes}

const (
	worldSize   = 40
	leastWait   = 5 * time.Second  // for what is missing in a reduction
	mostSearch  = 40 * time.Second // for the smallest things of a run; later ones are reported as they were found
	worldShares = 8                // a world has at most this part of limits.max_messages
	paceWait    = 10               // and as many things as limits.rps lets through in these seconds
)

// worldsOf chooses the worlds of a kind. The written scenarios are inconclusive when the target file
// lacks what all of a kind need; the generated ones leave it out.
func (s *Scenario) worldsOf(kind string) error {
	if kind == "runs" {
		reads, recovers := s.Claimed("listWorkflowMessageLogs"), s.Claimed("listWorkflowDLQ")
		_, err := s.Driver("run")
		if err = cmp.Or(reads, recovers, err); err != nil {
			return &harness.NoVerdict{Verdict: report.NotApplicable, Detail: "no worlds of runs: " + err.Error()}
		}
	}
	made, _ := s.Suite.Made.LoadOrStore(kind, &worlds{Kind: kinds[kind], size: cmp.Or(s.Suite.Worlds.Size, worldSize)})
	s.worlds, _ = made.(*worlds)
	return nil
}

// worldsRead chooses reads of a list in the worlds of runs.
func (s *Scenario) worldsRead(list string) error {
	if err := s.worldsOf("runs"); err != nil {
		return err
	}
	made, _ := s.Suite.Made.LoadOrStore(list, &worlds{Kind: world.Views(list, nil), size: s.worlds.size, list: list, of: s.worlds})
	s.worlds, _ = made.(*worlds)
	return nil
}

// happen runs worlds, and those that they are about, unless another scenario has.
func (s *Scenario) happen(w *worlds) error {
	if w.of != nil {
		if err := s.happen(w.of); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun {
		return w.err
	}
	w.begun = true
	limits := s.Suite.Target.Limits
	if limits.MaxMessages > 0 {
		w.size = min(w.size, limits.MaxMessages/worldShares)
	}
	if limits.RPS > 0 {
		w.size = max(1, min(w.size, int(paceWait*limits.RPS)))
	}
	if w.size == 0 {
		w.err = harness.Inconclusive(report.FixtureUnsatisfied, "limits.max_messages: %d leaves no messages for a world", limits.MaxMessages)
		return w.err
	}
	for _, left := range w.Missing(s.worldMay) {
		s.Observe("world.without", left)
	}
	for i := range s.Suite.Worlds.Count {
		seed := s.Suite.Worlds.Seed + uint64(i)
		kind := w.Kind
		if w.of != nil {
			kind = world.Views(w.list, w.of.all[i])
		}
		one, err := kind.Run(s.Scenario, fmt.Sprintf("w%d-", seed), w.Generate(seed, w.size, s.worldMay), s.Suite.Target.Timing.DeliveryBudget)
		if err != nil {
			w.err = s.Assume(err)
			return w.err
		}
		s.Observe("world.seed", fmt.Sprint(seed))
		w.all = append(w.all, one)
	}
	return nil
}

// worldMay reports whether the target has what a choice needs.
func (s *Scenario) worldMay(need string) bool {
	section, name, _ := strings.Cut(need, ".")
	switch section {
	case "capabilities":
		return s.Suite.Target.Capabilities[name] != "false"
	case "drivers":
		_, err := s.Driver(name)
		if name == "pause" {
			return err == nil && s.Bound("headers", "flow_key") != "" && s.Claimed("resumeFlowControlKey") == nil
		}
		return err == nil && (name != "group" || s.Claimed("updateURLGroup") == nil)
	}
	soon := s.Clock.Virtual() || s.Bound("headers", "retry_delay") != "" // a retry does not take hours
	switch need {
	case "headers.retry_delay":
		return soon
	case "headers.restart_retries", "headers.timeout":
		return soon && s.Bound(section, name) != ""
	}
	return s.Bound(section, name) != ""
}

// worldsKeep judges one rule. What breaks it is reduced, and the smallest thing happens again in
// this scenario, so that the evidence is its own.
func (s *Scenario) worldsKeep(says string) error {
	w := s.worlds
	i := slices.IndexFunc(w.Rules, func(r *world.Rule) bool {
		return r.Says == says && r.Basis == s.Result.Basis && slices.Contains(s.Result.Requirements, r.Requirement)
	})
	if i < 0 {
		return harness.Fault("", "no rule of this requirement and basis says %q", says)
	}
	rule, judged := w.Rules[i], 0
	for at, one := range w.all {
		found, n := one.Judge(rule)
		if judged += n; len(found) == 0 {
			continue
		}
		seed := s.Suite.Worlds.Seed + uint64(at)
		if err := s.worldCause(one, found, fmt.Sprintf("%d of %d in the world of seed %d", len(found), len(one.Lives), seed)); err != nil {
			return err
		}
	}
	if judged == 0 {
		why := "try more of them: --worlds, --world-size"
		if left := w.Missing(s.worldMay); len(left) > 0 {
			why = "not in them: " + strings.Join(left, ", ")
		}
		return &harness.NoVerdict{Verdict: report.NotApplicable, Detail: "nothing in the worlds is about it; " + why}
	}
	return nil
}

// worldCause returns the failure of the smallest thing that explains the findings of a rule: one
// that explained another rule, or a new one. It is nil when nothing breaks the rule again.
func (s *Scenario) worldCause(in *world.World, found []*world.Finding, often string) error {
	w := s.worlds
	w.mu.Lock()
	for _, cause := range w.causes {
		if slices.ContainsFunc(found, func(f *world.Finding) bool { return cause.Has(f.Thing) }) {
			if again, err := s.worldAgain(in, cause, found[0].Rule); err != nil || again != nil {
				w.mu.Unlock()
				return cmp.Or(err, s.worldFailure(cause, again, often))
			}
		}
	}
	defer w.mu.Unlock()
	began := harness.Now()
	small, err := world.Reduce(s.Scenario, in, found, max(leastWait, 2*in.Late), func() bool { return w.search+harness.Since(began) < mostSearch })
	w.search += harness.Since(began)
	if err != nil || small == nil {
		s.Observe("world.not-again", found[0].Rule.Says)
		return err
	}
	w.causes = append(w.causes, small)
	again, err := s.worldAgain(in, small, found[0].Rule)
	if err != nil || again == nil {
		return err
	}
	return s.worldFailure(small, again, often)
}

// worldAgain makes the smallest thing happen again, and returns how it breaks the rule; nil when it does not.
func (s *Scenario) worldAgain(in *world.World, cause *world.Smallest, rule *world.Rule) (*world.Finding, error) {
	first := s.Last() + 1
	again, err := in.Again(s.Scenario, cause, max(leastWait, 2*in.Late))
	if err != nil {
		return nil, err
	}
	found, _ := again.Judge(rule)
	if len(found) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	s.Setup = nil
	for i := first; i < s.Last() && !cause.Beside; i++ {
		s.Setup = append(s.Setup, i)
	}
	return found[max(0, slices.IndexFunc(found, func(f *world.Finding) bool { return cause.Has(f.Thing) }))], nil
}

// worldFailure is the failure of a smallest thing. Its basis is the weakest of the rule and of what
// is left of the thing, and where its options are written is required too.
func (s *Scenario) worldFailure(cause *world.Smallest, f *world.Finding, often string) error {
	if s.Result.Basis == spec.Stated {
		s.Result.Basis = cause.Basis()
	}
	for _, id := range cause.Requirements() {
		if !slices.Contains(s.Result.Requirements, id) {
			s.Result.Requirements = append(s.Result.Requirements, id)
		}
	}
	return &report.Failure{Message: cause.Says() + " (" + often + ")", Want: f.Expected, Got: harness.Clip(f.Actual), Exchange: s.Last()}
}
