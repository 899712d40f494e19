package engine

import "time"

// RunRef names a run.
type RunRef struct {
	ID        string
	URL       string
	CreatedAt time.Time
}

// Run is a workflow run.
type Run struct {
	RunRef
	Options *Options
	Payload []byte
}

// Step is one step of a run.
type Step struct{}

type item struct{}

func (r *Run) ref() *RunRef { return &r.RunRef }

func (e *event) viewRun(v *Event) { v.Run = e.run.ref() }

func (a *Account) acceptableStep(PublishRequest) error { return nil }
func (a *Account) publishWorkflow(r PublishRequest) Receipt {
	return a.publishTo(r, Endpoint{URL: r.URL}, &r.Options, r.forward(&r.Options))
}
func (a *Account) stepEnded(*Message)                         {}
func (a *Account) bodyOf(m *Message) []byte                   { return m.Body }
func (a *Account) inherited(_ *Message, opts *Options) Header { return opts.Forward }
