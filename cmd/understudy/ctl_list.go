package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// ctlList has the flags of all lists.
type ctlList struct {
	Destination string `placeholder:"PREFIX" env:"-" help:"Only those whose URL starts with this text."`
	Label       string `env:"-" help:"Only those with this label."`
	Count       int    `default:"20" aliases:"limit" env:"-" help:"Number of entries, newest first, up to 1000."`
	Cursor      string `env:"-" help:"Continue a list at the cursor that it ended with."`
}

type (
	ctlMessages struct {
		ctlList `embed:""`
		State   []string `env:"-" help:"Only in this state, such as RETRY or FAILED; repeatable."`
		RunID   string   `name:"run" placeholder:"ID" env:"-" help:"Only those of this workflow run."`
		ID      string   `arg:"" optional:"" help:"Only the events of this message."`
	}
	ctlRuns struct {
		ctlList `embed:""`
		State   []string `env:"-" help:"Only in this state, such as RUN_FAILED; repeatable."`
		ID      string   `arg:"" optional:"" help:"Only the events of this run."`
	}
	ctlDLQ struct {
		ctlList `embed:""`
		RunID   string `name:"run" placeholder:"ID" env:"-" help:"Only those of this workflow run."`
	}
)

// query returns the filters, including those of the command.
func (l *ctlList) query(states []string, run string) url.Values {
	q := url.Values{"count": {fmt.Sprint(l.Count)}}
	for name, value := range map[string]string{
		"url": l.Destination, "label": l.Label, "cursor": l.Cursor, "workflowRunId": run, "state": strings.ToUpper(strings.Join(states, ",")),
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// Run lists messages, or the events of one.
func (k *ctlMessages) Run(e *env, c *cli) error {
	if k.ID != "" {
		return c.Ctl.table(e, "messages/"+url.PathEscape(k.ID), nil, &eventTable)
	}
	return c.Ctl.table(e, "messages", k.query(k.State, k.RunID), &messageTable)
}

// Run lists runs, or the events of one.
func (k *ctlRuns) Run(e *env, c *cli) error {
	if k.ID != "" {
		return c.Ctl.table(e, "runs/"+url.PathEscape(k.ID), nil, &eventTable)
	}
	return c.Ctl.table(e, "runs", k.query(k.State, ""), &runTable)
}

// Run lists the DLQ.
func (k *ctlDLQ) Run(e *env, c *cli) error {
	return c.Ctl.table(e, "dlq", k.query(nil, k.RunID), &dlqTable)
}

// table fetches a list and prints it.
func (c *CtlCmd) table(e *env, path string, q url.Values, l *listing) error {
	var answer json.RawMessage
	if err := c.call(e, http.MethodGet, path, q, nil, &answer); err != nil {
		return err
	}
	return c.print(e, answer, l)
}
