package engine

// A Wire writes what the service itself sends, and reads what comes back to it,
// in the names and bytes of the interface: the engine has plain values only. Its
// methods are pure functions of their arguments, since what they return becomes
// part of the state: the same commands must give the same state again.
type Wire interface {
	// CallbackBody is what a callback delivers.
	CallbackBody(r *Report) []byte
	// ReadAnswer finds what a destination's answer says beside its status.
	ReadAnswer(o *Outcome) Answer
	// PublishedName is the name under which a publisher sends a header that is for
	// the destination.
	PublishedName(name string) string

	// RunHeader is what every call to the endpoint of a run carries. starts asks
	// the endpoint to start the run itself.
	RunHeader(run *Run, starts bool) Header
	// ReportHeader is what a callback of a run carries: RunHeader, and what the
	// user has configured. answers marks the answer of a third-party call.
	ReportHeader(run *Run, starts, answers bool) Header
	// TakeStart is a header without the request to start a run that it may carry.
	TakeStart(h Header) (rest Header, starts bool)

	// ParseStep reads a step that an endpoint submits, ReadStep the step that a
	// callback is for, from the headers that it forwards.
	ParseStep(body []byte) (Step, error)
	ReadStep(h Header) Step
	// StepBody is a step as an endpoint submits it, FinishStep one that it has
	// submitted, with its result.
	StepBody(s *Step) []byte
	FinishStep(body []byte, s *Step) []byte
	// ParseInvocation reads the request of an endpoint to start another run,
	// InvocationResult is what the endpoint learns when that run has ended.
	ParseInvocation(body []byte) (Invocation, error)
	InvocationResult(run *Run) string
}

// Report is what a callback reports.
type Report struct {
	Source  Message // whose MaxRetries and Body are those to be reported
	Outcome *Outcome
	DLQID   string
	Run     *RunRef // that the source belongs to
}

// Invocation is the request of an endpoint to start another run.
type Invocation struct {
	RunID    string // of the run that asks
	Body     string // the payload
	Header   Header // of the later call to the endpoint that asks
	Step     Step   // of the run that asks
	StepBody []byte // as it was submitted
}
