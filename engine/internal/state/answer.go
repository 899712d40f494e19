package state

// Answer is what the response of a destination says besides its status.
type Answer struct {
	Step     string // name of the step that failed at the destination
	Final    bool   // the destination asks for no further attempt
	Workflow bool   // the destination executes workflows
	Library  bool   // it has a client library that can start a run itself
}

// StepEntry is an entry of the step list that an endpoint receives.
type StepEntry struct {
	MessageID string
	CallType  string // step, toCallback, fromCallback
	Body      []byte // payload, or one step
}
