package engine

// A Wire writes what the service itself sends, and reads the responses, in the names and bytes
// of the interface: the engine has plain values only. Its methods must be pure functions of
// their arguments, because their results become part of the state: a replay of the same
// commands must give the same state.
type Wire interface {
	// CallbackBody is the body of a callback.
	CallbackBody(r *Report) []byte
	// ReadAnswer reads what a response says besides its status.
	ReadAnswer(o *Outcome) Answer
	// Carries reports whether a header of a publish or of a delivery has the value of the
	// header that the destination receives as name.
	Carries(header, name string) bool

	// RunHeader is the header of every call to the endpoint of a run.
	RunHeader(run *Run) Header
	// ReportHeader is the header of a callback of a run: RunHeader, and the headers that the
	// user has configured. answers marks the result of a third-party call.
	ReportHeader(run *Run, answers bool) Header
	// TakeStart returns a header without the request that the endpoint starts the run
	// itself, and whether it contained that request.
	TakeStart(h Header) (rest Header, starts bool)

	// ParseStep reads a step that an endpoint submits; ReadStep reads the step
	// of a callback from the headers that the callback forwards.
	ParseStep(body []byte) (Step, error)
	ReadStep(h Header) Step
	// StepBody is a step in the form in which endpoints submit it; FinishStep
	// adds a result to a submitted step.
	StepBody(s *Step) []byte
	FinishStep(body []byte, s *Step) []byte
	// ParseInvocation reads the request of an endpoint to start another run;
	// InvocationResult is what the endpoint receives when that run has ended.
	ParseInvocation(body []byte) (Invocation, error)
	InvocationResult(run *Run) string
}

// Report is the content of a callback.
type Report struct {
	Source  Message // with the MaxRetries and Body to report
	Outcome *Outcome
	DLQID   string
	Run     *RunRef // the run of the source, nil for none
}

// Invocation is the request of an endpoint to start another run.
type Invocation struct {
	RunID    string // of the requesting run
	Body     string // the payload
	Header   Header // of the later call to the requesting endpoint
	Step     Step   // of the requesting run
	StepBody []byte // the step as it was submitted
}
