package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/net/http/httpguts"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/spec/route"
)

type (
	ctlPublish struct {
		Destination string   `arg:"" help:"A URL, or the name of a URL group."`
		Body        string   `arg:"" optional:"" mayempty:"" help:"Body of the message."`
		File        string   `short:"f" env:"-" placeholder:"FILE" help:"Read the body from this file; - for standard input."`
		Method      string   `env:"-" placeholder:"METHOD" help:"Method of the delivery. Default: POST."`
		Delay       string   `env:"-" placeholder:"DURATION" help:"Time before the first attempt, such as 1h."`
		Retries     *int     `env:"-" placeholder:"N" help:"Number of retries. Default: that of the service."`
		Header      []string `short:"H" sep:"none" env:"-" placeholder:"'NAME: VALUE'" help:"Add this header to the request; repeatable."`
	}
	ctlNotify struct {
		Event string `arg:"" help:"Id of the event."`
		Data  string `arg:"" optional:"" mayempty:"" help:"Data of the event."`
		RunID string `name:"run" placeholder:"ID" env:"-" ids:"runs" help:"Notify only this workflow run, which keeps the event if it does not wait for it yet."`
	}
	// ctlVerb does something with one thing, ctlVerbs with several. The tag do of the command is
	// the operation; run is the operation for ids of runs; says is what is printed for each.
	ctlVerb struct {
		ID string `arg:"" help:"Its id or name; completion lists them."`
	}
	ctlVerbs struct {
		IDs []string `arg:"" name:"id" help:"Ids, or those of the failed workflow runs; completion lists them."`
	}
)

// ask calls an operation: one of the control API, or one of the interface as the account of
// --account, which needs no token.
func (c *CtlCmd) ask(e *env, r route.Route, values []string, q url.Values, body any) (answer json.RawMessage, err error) {
	one := c.remote
	path, own := strings.CutPrefix(r.Path(values...), "/_understudy/")
	if !own {
		if c.Account == "*" {
			return nil, usageError("--account *: must be one account")
		}
		id, err := c.accountID(e)
		if err != nil {
			return nil, err
		}
		one.Account, path = "", "as/"+url.PathEscape(id)+path // the path has the account
	}
	err = one.call(e, r.Method(), path, q, body, &answer)
	return answer, err
}

// accountID is the account of --account, otherwise the first account.
func (c *remote) accountID(e *env) (string, error) {
	if c.Account != "" {
		return c.Account, nil
	}
	var first struct{ Account string }
	err := c.call(e, http.MethodGet, "overview", nil, nil, &first)
	c.Account = first.Account
	return first.Account, err
}

// describe reads what the server says of the account.
func (c *remote) describe(e *env, account any) error {
	id, err := c.accountID(e)
	if err != nil {
		return err
	}
	return c.call(e, http.MethodGet, "accounts/"+url.PathEscape(id), nil, nil, account)
}

// readInput reads a file; - is standard input.
func readInput(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(file)
}

// Run publishes a message.
func (k *ctlPublish) Run(e *env, c *CtlCmd) error {
	body := []byte(k.Body)
	if k.File != "" {
		if k.Body != "" {
			return usageError("--file: must be without a body in the arguments")
		}
		var err error
		if body, err = readInput(k.File); err != nil {
			return usageError("--file: %w", err)
		}
	}
	header := http.Header{"Content-Type": {"text/plain"}}
	if json.Valid(body) {
		header.Set("Content-Type", "application/json")
	}
	for _, line := range k.Header {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return usageError("--header: invalid value %q: must be NAME: VALUE on one line, with a name without spaces", line)
		}
		header.Add(name, value)
	}
	var account struct{ HeaderPrefix string }
	if err := c.describe(e, &account); err != nil {
		return err
	}
	options := map[string]string{"Method": k.Method, "Delay": k.Delay}
	if k.Retries != nil {
		options["Retries"] = strconv.Itoa(*k.Retries)
	}
	for name, value := range options {
		if value != "" {
			header.Set(account.HeaderPrefix+name, value)
		}
	}
	c.header = header
	return c.show(e, words("published"), body, route.PublishMessage, url.PathEscape(k.Destination))
}

// Run notifies an event.
func (k *ctlNotify) Run(e *env, c *CtlCmd) error {
	how, values := route.NotifyEvent, []string{k.Event}
	if k.RunID != "" {
		how, values = route.NotifyRun, []string{k.RunID, k.Event}
	}
	return c.show(e, words(`{{range .}}Woke run {{.workflowRunId}} with message {{.messageId}}.{{"\n"}}{{else}}No run was waiting for it.{{end}}`), []byte(k.Data), how, values...)
}

// Run does it, and prints the answer.
func (k *ctlVerb) Run(e *env, c *CtlCmd, at *kong.Context) error {
	tag := at.Selected().Tag
	if err := c.keepUndoOf(e, tag, k.ID); err != nil {
		return err
	}
	return c.actOn(e, tag, k.ID)
}

// keepUndoOf keeps an undo point for a verb that removes something: with the tag undo, its label.
func (c *CtlCmd) keepUndoOf(e *env, tag *kong.Tag, ids ...string) error {
	if !tag.Has("undo") {
		return nil
	}
	label, id := tag.Get("undo")+" "+cut(ids[0], 100), ""
	if len(ids) > 1 {
		label += fmt.Sprintf(" and %d more", len(ids)-1)
	}
	if tag.Has("scope") {
		id = ids[0]
	}
	return c.keepUndo(e, c.Account, label, cmp.Or(tag.Get("scope"), "account"), id)
}

// Run does it with each id until one is refused, and prints the answers.
func (k *ctlVerbs) Run(e *env, c *CtlCmd, at *kong.Context) error {
	if slices.Contains(k.IDs, "") {
		return usageError("argument id: empty: must have a value")
	}
	tag := at.Selected().Tag
	if err := c.keepUndoOf(e, tag, k.IDs...); err != nil {
		return err
	}
	var answers []json.RawMessage
	var failed error
	for _, id := range k.IDs {
		var answer json.RawMessage
		if answer, failed = c.act(e, tag, id); failed != nil {
			break
		}
		answers = append(answers, answer)
		if c.forPeople(e) {
			if err := c.print(e, answer, nil, saying{id, tag.Get("says")}); err != nil {
				return err
			}
		}
	}
	if len(answers) == 0 || c.forPeople(e) {
		return failed
	}
	all, err := json.Marshal(answers)
	return errors.Join(failed, c.print(e, all, err, nil))
}

// actOn calls the operation of a verb, and prints the answer.
func (c *CtlCmd) actOn(e *env, tag *kong.Tag, id string) error {
	answer, err := c.act(e, tag, id)
	return c.print(e, answer, err, saying{id, tag.Get("says")})
}

// saying is the words of a verb about the id that its user has typed.
type saying struct{ id, text string }

func (y saying) show(s *screen, answer any) error {
	about := map[string]any{"id": y.id}
	if members, ok := answer.(map[string]any); ok {
		members["id"] = cmp.Or(y.id, textOf(members["id"]))
		about = members
	}
	return words(y.text).show(s, about)
}

// act calls the operation of a verb.
func (c *CtlCmd) act(e *env, tag *kong.Tag, id string) (answer json.RawMessage, err error) {
	operation := tag.Get("do")
	if strings.HasPrefix(id, "wfr_") {
		switch {
		case tag.Has("run"):
			operation = tag.Get("run")
		case tag.Get("ids") == "dlq":
			if id, err = c.dlqID(e, id); err != nil {
				return nil, err
			}
		}
	}
	how, ok := route.Lookup(operation)
	if !ok {
		return nil, fmt.Errorf("operation %s: not found", operation)
	}
	return c.ask(e, how, []string{id}, nil, nil)
}

// dlqID is the id of the DLQ entry of a failed run.
func (c *CtlCmd) dlqID(e *env, id string) (string, error) {
	var run struct {
		Row struct {
			State string `json:"workflowState"`
			DLQID string `json:"dlqId"`
		}
	}
	if err := c.call(e, http.MethodGet, "runs/"+url.PathEscape(id), nil, nil, &run); err != nil {
		return "", err
	}
	if run.Row.DLQID == "" {
		return "", command.Fail(command.ExitFailed, errors.New("run "+id+" is not in the DLQ (its state is "+stateWord(run.Row.State)+"): it has not failed, or was restarted or resumed before"))
	}
	return run.Row.DLQID, nil
}
