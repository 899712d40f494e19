package wire

import (
	"maps"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec/header"
)

// libraryHeader is the header with the version of an endpoint's client library. It
// is not in the interface document (wire.md, "Feature flags").
const libraryHeader = header.Prefix + "Workflow-Sdk"

// RunHeader returns the headers of every call to the endpoint of a run (wire.md,
// "Calls to a workflow endpoint").
func (Format) RunHeader(run *engine.Run) engine.Header {
	h := engine.Header{
		header.WorkflowRunID:     {run.ID},
		header.WorkflowURL:       {run.URL},
		header.WorkflowInit:      {"false"},
		header.WorkflowCreatedAt: {strconv.FormatInt(run.CreatedAt.UnixMilli(), 10)},
	}
	if len(run.Options.Labels) > 0 {
		h[header.Label] = []string{strings.Join(run.Options.Labels, ",")}
	}
	if _, ok := run.Forward["Content-Type"]; !ok {
		h["Content-Type"] = []string{"application/json"}
	}
	return h
}

// ReportHeader returns the headers of a callback of a run: RunHeader, and the
// headers of the user without those that mark a step call (wire.md, "Third-party
// calls", "Failure of a run"). answers marks a third-party response.
func (f Format) ReportHeader(run *engine.Run, answers bool) engine.Header {
	h := f.RunHeader(run)
	if answers {
		h[header.WorkflowCallback] = []string{"true"}
	}
	for name, v := range run.Forward {
		if name != header.WorkflowSDKVersion && name != header.WorkflowUnknownSDK {
			h[name] = v
		}
	}
	return h
}

// TakeStart removes the request to start a run, and reports whether there was one.
func (Format) TakeStart(h engine.Header) (rest engine.Header, starts bool) {
	if firstValue(h, header.WorkflowUnknownSDK) == "" {
		return h, false
	}
	rest = maps.Clone(h)
	delete(rest, header.WorkflowUnknownSDK)
	return rest, true
}

// FailureHeader returns the headers of the failure callback for a run that was
// triggered without a client library: those that the library would request.
func FailureHeader() engine.Header {
	return engine.Header{header.WorkflowIsFailure: {"true"}, header.Prefix + "Workflow-Failure-Callback": {"true"}}
}

// ReadStep reads the step of a callback from its forwarded headers.
func (Format) ReadStep(h engine.Header) engine.Step {
	number := func(name string) int {
		n, _ := strconv.Atoi(firstValue(h, name)) // 0 for an invalid number
		return n
	}
	return engine.Step{ID: number(header.WorkflowStepID), Name: firstValue(h, header.WorkflowStepName), Type: firstValue(h, header.WorkflowStepType),
		Concurrent: max(1, number(header.WorkflowConcurrent))}
}
