package wire

import (
	"maps"
	"strconv"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec/header"
)

// libraryHeader is where the client library of an endpoint names its version; the
// interface document does not have it (wire.md, "Feature flags").
const libraryHeader = header.Prefix + "Workflow-Sdk"

// RunHeader is what every call to the endpoint of a run carries (wire.md, "Calls to a
// workflow endpoint"). starts asks the endpoint to start the run itself.
func (Format) RunHeader(run *engine.Run, starts bool) engine.Header {
	h := engine.Header{
		header.WorkflowRunID:     {run.ID},
		header.WorkflowURL:       {run.URL},
		header.WorkflowInit:      {"false"},
		header.WorkflowCreatedAt: {strconv.FormatInt(run.CreatedAt.UnixMilli(), 10)},
	}
	if starts {
		h[header.WorkflowUnknownSDK] = []string{"true"}
	}
	if len(run.Options.Labels) > 0 {
		h[header.Label] = []string{run.Options.Labels[0]}
	}
	if _, ok := run.Forward["Content-Type"]; !ok {
		h["Content-Type"] = []string{"application/json"}
	}
	return h
}

// ReportHeader is what a callback of a run carries: RunHeader, and the user's
// headers without the mark of a step call (wire.md, "Third-party calls" and
// "Failure of a run"). answers marks the answer of a third-party call.
func (f Format) ReportHeader(run *engine.Run, starts, answers bool) engine.Header {
	h := f.RunHeader(run, starts)
	if answers {
		h[header.WorkflowCallback] = []string{"true"}
	}
	for name, v := range run.Forward {
		if name != header.WorkflowSDKVersion {
			h[name] = v
		}
	}
	return h
}

// TakeStart is a header without the request to start a run that it may carry.
func (Format) TakeStart(h engine.Header) (rest engine.Header, starts bool) {
	if firstValue(h, header.WorkflowUnknownSDK) == "" {
		return h, false
	}
	rest = maps.Clone(h)
	delete(rest, header.WorkflowUnknownSDK)
	return rest, true
}

// FailureHeader is what the failure callback of a run carries that was triggered
// without a client library, as the library would have asked for.
func FailureHeader() engine.Header {
	return engine.Header{header.WorkflowIsFailure: {"true"}, header.Prefix + "Workflow-Failure-Callback": {"true"}}
}

// ReadStep reads the step that a callback is for from the headers it forwards.
func (Format) ReadStep(h engine.Header) engine.Step {
	number := func(name string) int {
		n, _ := strconv.Atoi(firstValue(h, name)) // 0 for what is not a number
		return n
	}
	return engine.Step{ID: number(header.WorkflowStepID), Name: firstValue(h, header.WorkflowStepName), Type: firstValue(h, header.WorkflowStepType),
		Concurrent: max(1, number(header.WorkflowConcurrent))}
}
