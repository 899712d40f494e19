package mockserver

import (
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/view"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = registerHandlers(map[string]handler{
	"cancelFailureCallback":   (*Server).cancelFailureCallback,
	"repeatFailureCallback":   (*Server).repeatFailureCallback,
	"restartWorkflowRun":      (*Server).restartWorkflowRun,
	"restartWorkflowRunAlias": (*Server).restartWorkflowRun,
	"restartWorkflowRuns":     (*Server).restartWorkflowRuns,
	"resumeWorkflowRun":       (*Server).resumeWorkflowRun,
	"resumeWorkflowRunAlias":  (*Server).resumeWorkflowRun,
	"resumeWorkflowRuns":      (*Server).resumeWorkflowRuns,
})

// restartWorkflowRun starts the run again, from its first step.
func (s *Server) restartWorkflowRun(c *call.Call) (response.Response, error) {
	return s.restart(c, false)
}

// resumeWorkflowRun keeps the results of the steps that had finished.
func (s *Server) resumeWorkflowRun(c *call.Call) (response.Response, error) {
	return s.restart(c, true)
}

// restart reads overrides before it looks for the entry, so that an invalid
// header is refused for every id.
func (s *Server) restart(c *call.Call, resume bool) (response.Response, error) {
	over, err := s.overrides(c)
	if err != nil {
		return response.Response{}, err
	}
	run, err := c.Account.Restart(c.Vars["dlqId"], over, resume)
	return response.Response{Body: view.RunCreated(run)}, err
}

func (s *Server) restartWorkflowRuns(c *call.Call) (response.Response, error) {
	return s.restartAll(c, false)
}

func (s *Server) resumeWorkflowRuns(c *call.Call) (response.Response, error) {
	return s.restartAll(c, true)
}

// restartAll restarts all that match or none; a response with a cursor means
// that more may match.
func (s *Server) restartAll(c *call.Call, resume bool) (response.Response, error) {
	if err := c.MergeBody(); err != nil {
		return response.Response{}, err
	}
	over, err := s.overrides(c)
	if err != nil {
		return response.Response{}, err
	}
	runs, cursor, err := c.Account.RestartAll(c.Filter(), over, resume)
	out := api.WorkflowRunsCreated{Cursor: response.Optional(cursor), WorkflowRuns: make([]api.WorkflowRunCreated, len(runs))}
	for i, run := range runs {
		out.WorkflowRuns[i] = view.RunCreated(run)
	}
	return response.Response{Body: out}, err
}

// repeatFailureCallback answers like a restart, since clients read the same fields.
func (s *Server) repeatFailureCallback(c *call.Call) (response.Response, error) {
	run, err := c.Account.RepeatCallback(c.Vars["dlqId"])
	return response.Response{Body: view.RunCreated(run)}, err
}

func (s *Server) cancelFailureCallback(c *call.Call) (response.Response, error) {
	return response.Empty, c.Account.CancelCallback(c.Vars["dlqId"])
}
