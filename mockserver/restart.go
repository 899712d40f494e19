package mockserver

import (
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

func (s *Server) restartWorkflowRun(c *call) (response.Response, error) {
	return s.restart(c, false)
}

func (s *Server) resumeWorkflowRun(c *call) (response.Response, error) { return s.restart(c, true) }

func (s *Server) restart(c *call, resume bool) (response.Response, error) {
	over, err := s.overrides(c)
	if err != nil {
		return response.Response{}, err
	}
	run, err := c.account.Restart(c.vars["dlqId"], over, resume)
	return response.Response{Body: view.RunCreated(run)}, err
}

func (s *Server) restartWorkflowRuns(c *call) (response.Response, error) {
	return s.restartAll(c, false)
}

func (s *Server) resumeWorkflowRuns(c *call) (response.Response, error) { return s.restartAll(c, true) }

func (s *Server) restartAll(c *call, resume bool) (response.Response, error) {
	if err := c.mergeBody(); err != nil {
		return response.Response{}, err
	}
	over, err := s.overrides(c)
	if err != nil {
		return response.Response{}, err
	}
	runs, cursor, err := c.account.RestartAll(c.filter(), over, resume)
	out := api.WorkflowRunsCreated{Cursor: response.Optional(cursor), WorkflowRuns: make([]api.WorkflowRunCreated, len(runs))}
	for i, run := range runs {
		out.WorkflowRuns[i] = view.RunCreated(run)
	}
	return response.Response{Body: out}, err
}

func (s *Server) repeatFailureCallback(c *call) (response.Response, error) {
	run, err := c.account.RepeatCallback(c.vars["dlqId"])
	return response.Response{Body: view.RunCreated(run)}, err
}

func (s *Server) cancelFailureCallback(c *call) (response.Response, error) {
	return emptyObject, c.account.CancelCallback(c.vars["dlqId"])
}
