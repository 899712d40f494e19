package engine

import (
	"github.com/understudy-mock/understudy/engine/internal/snapshot"
	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/internal/view"
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

	// Filter selects what to list. Different fields must all match; of several
	// values of one field, any.
	Filter = view.Filter
	// Page is a part of a list; an empty cursor means that it is the last one.
	Page[T any] = view.Page[T]
	// Event is one recorded state of a message or run.
	Event = view.Event
	// Trace is everything that the log has of one message.
	Trace = view.Trace
	// MessageSummary is a message in a list, with its state and what it waits for.
	MessageSummary = view.MessageSummary
	// RunView is a run as the run view shows it.
	RunView = view.RunView
	// StepGroup is one step, the steps of a parallel branch, or the next call.
	StepGroup = view.StepGroup
	// StepView is a step with its progress.
	StepView = view.StepView
	// RunSummary is a run without its steps, with its state and what it waits for.
	RunSummary = view.RunSummary
	// RunTrace is a run on a time axis.
	RunTrace = view.RunTrace
	// Span is the time that a step took.
	Span = view.Span
	// Part is what happened during a part of a span.
	Part = view.Part
	// Reason is one reason for the state of an object, and until when it applies.
	Reason = view.Reason
	// Explanation lists the reasons for the state of a message, run, DLQ entry
	// or flow-control key.
	Explanation = view.Explanation
	// Link refers from a message or run to its origin, or to one that it caused.
	Link = view.Link
	// LastFailure is the latest failed attempt of a message or run.
	LastFailure = view.LastFailure
	// Overview is a summary of an account: counts, the time, and the next timer.
	Overview = view.Overview
	// SearchItem is one object as a search sees it.
	SearchItem = view.SearchItem

	// Snapshot is a state that was read and checked.
	Snapshot = snapshot.Snapshot
	// SnapshotReader reads a snapshot that is part of a larger document.
	SnapshotReader = snapshot.Reader
)

// SnapshotVersion is the form of snapshots that an account writes. It reads this one and
// those before it (docs/state.md).
const SnapshotVersion = snapshot.Version

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
