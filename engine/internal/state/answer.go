package state

// Answer is what a destination's answer says beside its status.
type Answer struct {
	Final    bool   // it asks for no further attempt
	Step     string // the step that failed there
	Workflow bool   // it executes workflows
	Library  bool   // by a client library that can start a run itself
}

// StepEntry is an entry of the step list that an endpoint gets.
type StepEntry struct {
	MessageID string
	CallType  string // step, toCallback, fromCallback
	Body      []byte // the payload, or one step
}
