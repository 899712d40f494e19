package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/spec"
)

// Verdict is the result of a scenario.
type Verdict string

// The verdicts, from best to worst.
const (
	NotSelected   Verdict = "not-selected"
	Pass          Verdict = "pass"
	NotApplicable Verdict = "not-applicable" // the target does not claim the profile or the capability
	Observed      Verdict = "observed"       // open point: recorded, never judged
	Inconclusive  Verdict = "inconclusive"   // could not be judged; Reason says why
	Warn          Verdict = "warn"           // an implied requirement does not hold
	Unreliable    Verdict = "unreliable"     // it failed in some of its runs
	Fail          Verdict = "fail"
	HarnessError  Verdict = "harness-error" // of the suite, or of a driver
)

// Reason is why a result is inconclusive. The constants below are all reasons.
type Reason string

// The reasons. Those marked * are harness errors.
const (
	BindingMissing      Reason = "binding-missing"
	DriverMissing       Reason = "driver-missing"
	DriverFailed        Reason = "driver-failed"        // * if it cannot be run
	ReceiverUnreachable Reason = "receiver-unreachable" // *
	FixtureUnsatisfied  Reason = "fixture-unsatisfied"
	BudgetExhausted     Reason = "budget-exhausted"
	ForeignData         Reason = "foreign-data"
	ClockSkew           Reason = "clock-skew"
	PrerequisiteFailed  Reason = "prerequisite-failed"
	CredentialMissing   Reason = "credential-missing"
	TransportFailed     Reason = "transport-failed" // no response, although the target is reachable
	TargetUnreachable   Reason = "target-unreachable"
	Interrupted         Reason = "interrupted"
	TriggerNotObserved  Reason = "trigger-not-observed"
	AdapterFailed       Reason = "adapter-failed" // the program between the suite and a client
	Unsupported         Reason = "unsupported"    // an adapter cannot do what it declares
	NotTried            Reason = "not-tried"      // of --check-target: one try cannot test it
)

// Weigh is the verdict for a violated requirement: whether it fails the target depends on its
// basis, except for one of security.
func Weigh(basis spec.Basis, security bool) Verdict {
	switch {
	case security:
		return Fail
	case basis == spec.Implied, basis == spec.SingleSource:
		return Warn
	case basis == spec.Open:
		return Observed
	}
	return Fail
}

// Span is a duration, which reports contain in milliseconds.
type Span time.Duration

// MarshalJSON writes milliseconds, with microseconds as a fraction.
func (d Span) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(time.Duration(d).Microseconds()) / 1000)
}

// UnmarshalJSON reads milliseconds.
func (d *Span) UnmarshalJSON(text []byte) error {
	var ms float64
	err := json.Unmarshal(text, &ms)
	*d = Span(ms * float64(time.Millisecond))
	return err
}

// String is the duration in a form for people.
func (d Span) String() string { return time.Duration(d).Round(time.Millisecond).String() }

// Seconds is the duration in seconds.
func (d Span) Seconds() float64 { return time.Duration(d).Seconds() }

// Result is the result of one scenario.
type Result struct {
	Feature      string     `json:"feature" yaml:"feature"` // title
	Rule         string     `json:"rule,omitempty" yaml:"rule,omitempty"`
	Name         string     `json:"name" yaml:"name"`         // unique, with the values of its example
	Location     string     `json:"location" yaml:"location"` // publish.feature:12
	Tags         []string   `json:"tags" yaml:"tags"`
	Requirements []string   `json:"requirements" yaml:"requirements"` // REQ-...
	Basis        spec.Basis `json:"basis" yaml:"basis"`
	Profiles     []string   `json:"profiles" yaml:"profiles"`
	Verdict      Verdict    `json:"verdict" yaml:"verdict"`
	Reason       Reason     `json:"reason,omitempty" yaml:"reason,omitempty"`
	Detail       string     `json:"detail,omitempty" yaml:"detail,omitempty"`                   // one line
	Expected     bool       `json:"expectedFailure,omitempty" yaml:"expectedFailure,omitempty"` // the baseline expects the failure
	Tries        []Verdict  `json:"tries,omitempty" yaml:"tries,omitempty"`                     // of each run, when there were several
	Failure      *Failure   `json:"failure,omitempty" yaml:"failure,omitempty"`
	Steps        []Step     `json:"steps" yaml:"steps"`
	Exchanges    []Exchange `json:"exchanges,omitempty" yaml:"exchanges,omitempty"`
	Deliveries   []Delivery `json:"deliveries,omitempty" yaml:"deliveries,omitempty"`
	Started      time.Time  `json:"started" yaml:"started"`
	Duration     Span       `json:"duration" yaml:"duration"`
}

// Again adds the result of another run of the scenario. The worst one counts, with its
// evidence; a scenario that failed in one run and passed in another is unreliable. A warning
// stays one: it does not change the verdict on the target.
func (x *Result) Again(next *Result) {
	tries := slices.Clone(x.Tries)
	if tries == nil {
		tries = []Verdict{x.Verdict}
	}
	tries = append(tries, next.Verdict)
	if worse[next.Verdict] > worse[x.Verdict] {
		*x = *next
	}
	x.Tries = tries
	if x.unsteady() && x.tried(Fail) > 0 && x.Verdict != HarnessError {
		x.Verdict = Unreliable
	}
}

// tried counts the runs with one of the verdicts.
func (x *Result) tried(verdicts ...Verdict) (n int) {
	for _, v := range x.Tries {
		if slices.Contains(verdicts, v) {
			n++
		}
	}
	return n
}

// unsteady reports whether the scenario failed in some runs and passed in others.
func (x *Result) unsteady() bool { return x.tried(Fail, Warn) > 0 && x.tried(Pass, Observed) > 0 }

// Times says in how many of its runs a scenario failed, "" after a single run.
func (x *Result) Times() string {
	if len(x.Tries) == 0 {
		return ""
	}
	return fmt.Sprintf("failed %d of %d", x.tried(Fail, Warn), len(x.Tries))
}

// Step is one line of a scenario and its result.
type Step struct {
	Text     string  `json:"text" yaml:"text"` // with its keyword
	Verdict  Verdict `json:"verdict" yaml:"verdict"`
	Detail   string  `json:"detail,omitempty" yaml:"detail,omitempty"`
	Duration Span    `json:"duration" yaml:"duration"`
}

// Failure is a failed check.
type Failure struct {
	Step     string    `json:"step" yaml:"step"`
	Message  string    `json:"message" yaml:"message"`
	Pointer  string    `json:"pointer,omitempty" yaml:"pointer,omitempty"` // JSON pointer into the response
	Want     string    `json:"expected,omitempty" yaml:"expected,omitempty"`
	Got      string    `json:"actual,omitempty" yaml:"actual,omitempty"`
	Exchange int       `json:"exchange" yaml:"exchange"`                     // index in Exchanges; -1: none
	Delivery *Delivery `json:"delivery,omitempty" yaml:"delivery,omitempty"` // that shows what it must not
	Repeat   string    `json:"repeat,omitempty" yaml:"repeat,omitempty"`     // the command that shows it again, if no exchange has one
}

// Error is the failure in one line.
func (f *Failure) Error() string {
	text := f.Message
	if f.Pointer != "" {
		text += " at " + f.Pointer
	}
	if f.Want != "" {
		text += ": expected " + f.Want + ", got " + cmp.Or(f.Got, "nothing")
	}
	return text
}

// Exchange is one request of the suite and its response. Secrets are masked.
type Exchange struct {
	Operation string              `json:"operation" yaml:"operation"` // operationId, "" for the request of a driver
	Method    string              `json:"method" yaml:"method"`
	URL       string              `json:"url" yaml:"url"`
	Header    map[string][]string `json:"header" yaml:"header"`
	Body      string              `json:"body,omitempty" yaml:"body,omitempty"`     // at most 4 KiB
	Status    int                 `json:"status" yaml:"status"`                     // 0: no response
	Answer    string              `json:"answer,omitempty" yaml:"answer,omitempty"` // at most 4 KiB
	AnswerHdr map[string][]string `json:"answerHeader,omitempty" yaml:"answerHeader,omitempty"`
	Error     string              `json:"error,omitempty" yaml:"error,omitempty"`
	Problems  []string            `json:"problems,omitempty" yaml:"problems,omitempty"` // violated requirements, and violations of the OpenAPI document
	At        Span                `json:"at" yaml:"at"`                                 // since the start of the scenario
	Took      Span                `json:"took" yaml:"took"`
	Curl      string              `json:"curl" yaml:"curl"`                       // shell command that repeats the request
	Notes     []string            `json:"notes,omitempty" yaml:"notes,omitempty"` // values for the variables in Curl
}

// Delivery is one call that the target made to the receiver.
type Delivery struct {
	Endpoint string              `json:"endpoint" yaml:"endpoint"` // nickname in the scenario
	Method   string              `json:"method" yaml:"method"`
	Path     string              `json:"path" yaml:"path"` // rest of the path after the URL of the endpoint, with query
	Header   map[string][]string `json:"header" yaml:"header"`
	Body     string              `json:"body" yaml:"body"`         // at most 4 KiB
	Answered int                 `json:"answered" yaml:"answered"` // status
	At       Span                `json:"at" yaml:"at"`             // since the start of the scenario
}

// Report contains the results of a run of the suite.
type Report struct {
	Suite        string              `json:"suite" yaml:"suite"`       // version
	Commit       string              `json:"commit" yaml:"commit"`     // of the suite's source; "": unknown
	Document     string              `json:"document" yaml:"document"` // SHA-256 of the interface document
	Revision     string              `json:"revision" yaml:"revision"` // of the requirements
	Target       Target              `json:"target" yaml:"target"`
	TargetFile   string              `json:"targetFile" yaml:"targetFile"`                   // with defaults filled in, secrets masked
	Bindings     map[string]string   `json:"bindings" yaml:"bindings"`                       // section.name -> value
	Claimed      []string            `json:"claimed" yaml:"claimed"`                         // profiles of the target file
	Absent       []string            `json:"absent,omitempty" yaml:"absent,omitempty"`       // areas that the target lacks and does not claim
	Selection    []string            `json:"selection,omitempty" yaml:"selection,omitempty"` // options that select less than what is claimed
	Flags        []string            `json:"flags,omitempty" yaml:"flags,omitempty"`
	Run          string              `json:"run" yaml:"run"`   // id; prefix of the names of everything that was created
	Seed         int64               `json:"seed" yaml:"seed"` // of the order
	Started      time.Time           `json:"started" yaml:"started"`
	Duration     Span                `json:"duration" yaml:"duration"`
	Waited       Span                `json:"waited" yaml:"waited"` // part of Duration in which scenarios waited for time to pass or for the target
	Profiles     []Profile           `json:"profiles" yaml:"profiles"`
	Results      []Result            `json:"results" yaml:"results"` // in the order of the features
	Requirements []Covered           `json:"requirements" yaml:"requirements"`
	Observations map[string][]string `json:"observations" yaml:"observations"`               // open point -> observed values
	Stale        []string            `json:"stale,omitempty" yaml:"stale,omitempty"`         // expected failures that passed, expired flaky entries
	Leftovers    []string            `json:"leftovers,omitempty" yaml:"leftovers,omitempty"` // resources that were created and not removed
	Interrupted  bool                `json:"interrupted,omitempty" yaml:"interrupted,omitempty"`
	Exhausted    string              `json:"exhausted,omitempty" yaml:"exhausted,omitempty"`     // the limit that ended the run early
	Unreachable  string              `json:"unreachable,omitempty" yaml:"unreachable,omitempty"` // why the target became unreachable

	Strict        bool `json:"strict" yaml:"strict"`               // a failed implied requirement fails the target
	AcceptPartial bool `json:"acceptPartial" yaml:"acceptPartial"` // a partial result is not a failure
}

// Target describes what was judged.
type Target struct {
	Name     string            `json:"name" yaml:"name"`
	Version  string            `json:"version" yaml:"version"`
	URLs     map[string]string `json:"urls" yaml:"urls"`
	Mode     string            `json:"mode" yaml:"mode"` // "live", or "clock driver"
	Receiver string            `json:"receiver" yaml:"receiver"`
}

// Profile is a set of requirements that a target claims.
type Profile struct {
	Name         string `json:"name" yaml:"name"`
	Verdict      string `json:"result" yaml:"result"` // conformant, selection, partial, nonconformant, not-run
	Passed       int    `json:"passed" yaml:"passed"`
	Failed       int    `json:"failed" yaml:"failed"`
	Warned       int    `json:"warned" yaml:"warned"`
	Inconclusive int    `json:"inconclusive" yaml:"inconclusive"`
	Unreliable   int    `json:"unreliable,omitempty" yaml:"unreliable,omitempty"`
	Errors       int    `json:"errors" yaml:"errors"` // of the suite or a driver
}

// Covered is a requirement and the results of its scenarios.
type Covered struct {
	spec.Requirement `yaml:",inline"`
	Verdict          Verdict  `json:"verdict" yaml:"verdict"` // the worst of its scenarios; not-selected: none ran
	Scenarios        []string `json:"scenarios" yaml:"scenarios"`
}

// Exit codes of a run. If several apply, the first of 2, 130, 3, 1, 7, 5, 6, 4, 0
// counts. 2 is an error of Run, and so is 3 before the first scenario.
const (
	ExitConformant    = 0
	ExitFailed        = 1
	ExitUsage         = 2
	ExitPreflight     = 3
	ExitPartial       = 4
	ExitStaleBaseline = 5
	ExitBudget        = 6
	ExitHarness       = 7
	ExitInterrupted   = 130
)

// counted counts the verdicts, expected failures separately. judged excludes
// scenarios that were not selected or not applicable.
func (r *Report) counted() (count map[Verdict]int, expected, judged int) {
	count = map[Verdict]int{}
	for i := range r.Results {
		x := &r.Results[i]
		if x.Expected {
			expected++
		} else {
			count[x.Verdict]++
		}
		if x.Verdict != NotSelected && x.Verdict != NotApplicable {
			judged++
		}
	}
	return count, expected, judged
}

// unjudged returns the areas and claimed profiles that no scenario has judged.
func (r *Report) unjudged() []string {
	missing := slices.Clone(r.Absent)
	if len(r.Selection) > 0 {
		return missing
	}
	for _, name := range r.Claimed {
		at := slices.IndexFunc(r.Profiles, func(p Profile) bool { return p.Name == name })
		if at < 0 || r.Profiles[at].Verdict == "not-run" {
			missing = append(missing, name)
		}
	}
	return missing
}

// mostNamed is how many requirements a verdict names.
const mostNamed = 5

// warnings names the implied requirements that do not hold.
func (r *Report) warnings() string {
	var ids []string
	for _, x := range r.byVerdict(Warn) {
		ids = union(ids, x.Requirements)
	}
	word, more := "requirements do", ""
	if len(ids) == 1 {
		word = "requirement does"
	}
	if n := len(ids) - mostNamed; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%d implied %s not hold: %s%s", len(ids), word, strings.Join(ids[:min(len(ids), mostNamed)], ", "), more)
}

// unreliable returns the results that are unreliable, and not known to be.
func (r *Report) unreliable() []*Result {
	return slices.DeleteFunc(r.byVerdict(Unreliable), func(x *Result) bool { return x.Expected })
}

// ExitCode is the exit code of the process for the verdict.
func (r *Report) ExitCode() int {
	_, code := r.verdict()
	if code == ExitPartial && r.AcceptPartial && len(r.unreliable()) == 0 {
		return ExitConformant
	}
	return code
}

// Verdict is the verdict on the whole run, as text. A run is conformant only if it
// covers all that the target claims and everything was judged, whatever the exit code.
func (r *Report) Verdict() string {
	word, _ := r.verdict()
	return word
}

func (r *Report) verdict() (string, int) {
	count, expected, judged := r.counted()
	selected := ""
	if len(r.Selection) > 0 {
		selected = "selection: "
	}
	missing := r.unjudged()
	switch {
	case r.Interrupted:
		return "interrupted", ExitInterrupted
	case r.Unreachable != "":
		return "no verdict: " + r.Unreachable, ExitPreflight
	case count[Fail] > 0 || r.Strict && count[Warn] > 0:
		return selected + "NOT conformant", ExitFailed
	case count[HarnessError] > 0:
		return "no verdict: the suite or a driver failed", ExitHarness
	case len(r.Stale) > 0:
		return "the baseline is stale", ExitStaleBaseline
	case r.Exhausted != "":
		return "a limit ended the run: " + r.Exhausted, ExitBudget
	case count[Unreliable] > 0:
		return fmt.Sprintf("%spartial: %d unreliable, which failed in some of their runs", selected, count[Unreliable]), ExitPartial
	case judged == 0: // an empty run must not pass
		return "partial: nothing was judged", ExitPartial
	case count[Inconclusive] > 0:
		return selected + "partial: not everything could be judged", ExitPartial
	case len(missing) > 0:
		return selected + "partial: not judged: " + strings.Join(missing, ", "), ExitPartial
	case expected > 0:
		return fmt.Sprintf("%sNOT conformant, as expected: %d in the baseline", selected, expected), ExitConformant
	case selected != "":
		return "selection: all of it holds", ExitConformant
	case count[Warn] > 0:
		return "conformant; " + r.warnings(), ExitConformant
	}
	return "conformant", ExitConformant
}
