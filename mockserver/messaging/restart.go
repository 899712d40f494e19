package messaging

import (
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// restartWorkflowRun starts the run again, from its first step.
func (a *API) restartWorkflowRun(c *request.Call) (any, error) {
	return a.restart(c, false)
}

// resumeWorkflowRun keeps the results of the steps that had finished.
func (a *API) resumeWorkflowRun(c *request.Call) (any, error) {
	return a.restart(c, true)
}

// restart reads overrides before it looks for the entry, so that an invalid
// header is refused for every id.
func (a *API) restart(c *request.Call, resume bool) (any, error) {
	over, err := a.overrides(c)
	if err != nil {
		return nil, err
	}
	run, err := c.Account.Restart(c.Vars["dlqId"], over, resume)
	return runCreatedBody(&run), err
}

func (a *API) restartWorkflowRuns(c *request.Call) (any, error) {
	return a.restartAll(c, false)
}

func (a *API) resumeWorkflowRuns(c *request.Call) (any, error) {
	return a.restartAll(c, true)
}

// restartAll restarts all that match or none; a response with a cursor means
// that more may match.
func (a *API) restartAll(c *request.Call, resume bool) (any, error) {
	if err := c.MergeBody(); err != nil {
		return nil, err
	}
	over, err := a.overrides(c)
	if err != nil {
		return nil, err
	}
	runs, cursor, err := c.Account.RestartAll(c.Filter(), over, resume)
	return response.Page("workflowRuns", runs, cursor, runCreatedBody), err
}

// repeatFailureCallback answers like a restart, since clients read the same fields.
func (a *API) repeatFailureCallback(c *request.Call) (any, error) {
	run, err := c.Account.RepeatCallback(c.Vars["dlqId"])
	return runCreatedBody(&run), err
}

func (a *API) cancelFailureCallback(c *request.Call) (any, error) {
	return response.Empty, c.Account.CancelCallback(c.Vars["dlqId"])
}
