package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/spec/route"
)

type (
	ctlPublish struct {
		Destination string   `arg:"" help:"A URL, or the name of a URL group."`
		Body        string   `arg:"" optional:"" mayempty:"" help:"Body of the message."`
		Method      string   `env:"-" placeholder:"METHOD" help:"Method of the delivery. Default: POST."`
		Delay       string   `env:"-" placeholder:"DURATION" help:"Time before the first attempt, such as 1h."`
		Retries     *int     `env:"-" placeholder:"N" help:"Number of retries. Default: that of the service."`
		Header      []string `short:"H" sep:"none" env:"-" placeholder:"'NAME: VALUE'" help:"Add this header to the request; repeatable."`
	}
	ctlNotify struct {
		Event string `arg:"" help:"Id of the event."`
		Data  string `arg:"" optional:"" mayempty:"" help:"Data of the event."`
		RunID string `name:"run" placeholder:"ID" env:"-" help:"Notify only this workflow run, which keeps the event if it does not wait for it yet."`
	}
	ctlRestart struct {
		ctlFailed `embed:""`
	}
	ctlResume struct {
		ctlFailed `embed:""`
	}
	ctlFailed struct {
		IDs []string `arg:"" name:"id" help:"Ids of DLQ entries, or of failed workflow runs."`
	}
)

// tester calls operations of the interface as an account.
type tester struct {
	*CtlCmd
	id     string
	prefix string // prefix of the account's configuration headers
}

func (c *CtlCmd) tester(e *env) (*tester, error) {
	if c.Account == "*" {
		return nil, usageError("--account *: must be one account")
	}
	id, err := c.accountID(e)
	if err != nil {
		return nil, err
	}
	var account struct{ HeaderPrefix string }
	if err := c.call(e, http.MethodGet, "accounts/"+url.PathEscape(id), nil, nil, &account); err != nil {
		return nil, err
	}
	c.Account = "" // the paths contain it
	return &tester{c, id, account.HeaderPrefix}, nil
}

// accountID is the account of --account, otherwise the first account.
func (c *remote) accountID(e *env) (string, error) {
	if c.Account != "" {
		return c.Account, nil
	}
	var first struct{ Account string }
	err := c.call(e, http.MethodGet, "overview", nil, nil, &first)
	return first.Account, err
}

// post calls an operation of the interface as the account.
func (t *tester) post(e *env, path string, body []byte, answer any) error {
	return t.call(e, http.MethodPost, "as/"+url.PathEscape(t.id)+path, nil, body, answer)
}

// Run publishes a message.
func (k *ctlPublish) Run(e *env, c *cli) error {
	t, err := c.Ctl.tester(e)
	if err != nil {
		return err
	}
	t.header = http.Header{"Content-Type": {"text/plain"}}
	if json.Valid([]byte(k.Body)) {
		t.header.Set("Content-Type", "application/json")
	}
	options := map[string]string{"Method": k.Method, "Delay": k.Delay}
	if k.Retries != nil {
		options["Retries"] = strconv.Itoa(*k.Retries)
	}
	for name, value := range options {
		if value != "" {
			t.header.Set(t.prefix+name, value)
		}
	}
	for _, line := range k.Header {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return usageError("--header: invalid value %q: must be NAME: VALUE on one line, with a name without spaces", line)
		}
		t.header.Add(name, value)
	}
	var answer json.RawMessage
	if err := t.post(e, route.PublishMessage.Path(url.PathEscape(k.Destination)), []byte(k.Body), &answer); err != nil {
		return err
	}
	return c.Ctl.print(e, answer, &publishTable)
}

// Run notifies an event.
func (k *ctlNotify) Run(e *env, c *cli) error {
	t, err := c.Ctl.tester(e)
	if err != nil {
		return err
	}
	path := route.NotifyEvent.Path(k.Event)
	if k.RunID != "" {
		path = route.NotifyRun.Path(k.RunID, k.Event)
	}
	var answer json.RawMessage
	if err := t.post(e, path, []byte(k.Data), &answer); err != nil {
		return err
	}
	return c.Ctl.print(e, answer, &notifyTable)
}

// Run restarts runs from their first step.
func (k *ctlRestart) Run(e *env, c *cli) error {
	return k.startAgain(e, &c.Ctl, route.RestartWorkflowRunAlias)
}

// Run resumes runs at the step that failed.
func (k *ctlResume) Run(e *env, c *cli) error {
	return k.startAgain(e, &c.Ctl, route.ResumeWorkflowRunAlias)
}

func (k *ctlFailed) startAgain(e *env, c *CtlCmd, how route.Route) error {
	if slices.Contains(k.IDs, "") {
		return usageError("argument id: empty: must have a value")
	}
	t, err := c.tester(e)
	if err != nil {
		return err
	}
	var started []json.RawMessage
	var failed error
	for _, id := range k.IDs {
		var run json.RawMessage
		if id, failed = t.dlqID(e, id); failed == nil {
			failed = t.post(e, how.Path(id), nil, &run)
		}
		if failed != nil {
			break
		}
		started = append(started, run)
	}
	answer, err := json.Marshal(started)
	if err == nil && len(started) > 0 {
		err = c.print(e, answer, &restartTable)
	}
	return errors.Join(failed, err)
}

// dlqID is the id of the DLQ entry of a failed run. It returns ids of entries unchanged.
func (t *tester) dlqID(e *env, id string) (string, error) {
	if !strings.HasPrefix(id, "wfr_") {
		return id, nil
	}
	var run struct {
		Row struct {
			State string `json:"workflowState"`
			DLQID string `json:"dlqId"`
		}
	}
	if err := t.call(e, http.MethodGet, "runs/"+url.PathEscape(id), url.Values{"account": {t.id}}, nil, &run); err != nil {
		return "", err
	}
	if run.Row.DLQID == "" {
		return "", command.Fail(command.ExitFailed, errors.New("run "+id+" is not in the DLQ (its state is "+run.Row.State+"): it has not failed, or was restarted or resumed before"))
	}
	return run.Row.DLQID, nil
}
