package engine

import (
	"github.com/understudy-mock/understudy/engine/internal/state"
)

// The values of an account, as callers see them. Package state, which only the
// engine imports, defines them; these are the ones that callers pass and
// receive. Fields for the engine alone are marked there.
type (
	// Header is a set of named values.
	Header = state.Header
	// Options configure one message.
	Options = state.Options
	// Callback is the destination and the options of a report on the outcome of a message.
	Callback = state.Callback
	// FlowControl puts a message under a flow-control key.
	FlowControl = state.FlowControl
	// Redaction selects what logs and the DLQ show as REDACTED:<sha256>.
	Redaction = state.Redaction
	// Workflow holds the protocol fields of a message that belongs to a run.
	Workflow = state.Workflow
	// PublishRequest describes one message, or one for each endpoint of a group.
	PublishRequest = state.PublishRequest
	// TraceRoot is what the trace of a message or a run derives from.
	TraceRoot = state.TraceRoot
	// Message is one body on its way to one destination URL.
	Message = state.Message
	// MessageState is a message-level log state.
	MessageState = state.MessageState
	// Role is the purpose of a message, such as a callback or a call to a workflow endpoint.
	Role = state.Role
	// Outcome is the result of an attempt: a response or an error.
	Outcome = state.Outcome
	// Answer is what the engine reads from a response besides its status.
	Answer = state.Answer
	// CallbackInfo is the state and the result of a failure callback.
	CallbackInfo = state.CallbackInfo
	// DLQEntry is a failed message or run.
	DLQEntry = state.DLQEntry
	// Run is a workflow run.
	Run = state.Run
	// RunRef names a run.
	RunRef = state.RunRef
	// RunState is a run-level log state.
	RunState = state.RunState
	// Relation is a run that another one restarts or resumes.
	Relation = state.Relation
	// Step is one step of a run, as its endpoint reported it.
	Step = state.Step
	// StepError is a failed attempt in the run view.
	StepError = state.StepError
	// StepEntry is an entry of the step list that an endpoint receives.
	StepEntry = state.StepEntry
	// Waiter is a run that waits for an event.
	Waiter = state.Waiter
	// Group is a URL group.
	Group = state.Group
	// Endpoint is one member of a URL group.
	Endpoint = state.Endpoint
	// Queue delivers its messages in order.
	Queue = state.Queue
	// FlowKey is the state of a flow-control key.
	FlowKey = state.FlowKey
	// Schedule publishes its request at the times of a cron expression.
	Schedule = state.Schedule

	// Snapshot is a state that was read and checked.
	Snapshot = state.Snapshot
	// SnapshotReader reads a snapshot that is part of a larger document.
	SnapshotReader = state.SnapshotReader
	// Formula computes the wait before a retry.
	Formula = state.Formula
)

// ParseFormula compiles a formula and checks its value for the first retry. Its syntax is that of
// arithmetic in Go.
func ParseFormula(text string) (*Formula, error) { return state.ParseFormula(text) }

// MaxWait is the longest wait before a retry (decided: 31).
const MaxWait = state.MaxWait

// SnapshotVersion is the form of snapshots that an account writes (docs/reference/versions.md).
const SnapshotVersion = state.SnapshotVersion

// The states of a message.
const (
	Created         = state.Created
	Active          = state.Active
	Retry           = state.Retry
	Errored         = state.Errored
	Delivered       = state.Delivered
	Failed          = state.Failed
	CancelRequested = state.CancelRequested
	Canceled        = state.Canceled
)

// The run-level states.
const (
	RunStarted  = state.RunStarted
	RunSuccess  = state.RunSuccess
	RunFailed   = state.RunFailed
	RunCanceled = state.RunCanceled
	WaiterAdded = state.WaiterAdded
	Invoked     = state.Invoked
)

// The roles of a message.
const (
	RoleMessage         = state.RoleMessage
	RoleCallback        = state.RoleCallback
	RoleFailureCallback = state.RoleFailureCallback
	RoleStep            = state.RoleStep
	RoleCall            = state.RoleCall
)

// The states of a failure callback.
const (
	CallbackInProgress = state.CallbackInProgress
	CallbackSuccess    = state.CallbackSuccess
	CallbackFail       = state.CallbackFail
	CallbackCanceled   = state.CallbackCanceled
)

// Defaults of a message's options.
const (
	DefaultRetries = state.DefaultRetries
	DefaultTimeout = state.DefaultTimeout
)
