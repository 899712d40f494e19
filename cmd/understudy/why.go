package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// WhyCmd explains a message, a run, a DLQ entry or a flow-control key.
type WhyCmd struct {
	remote      `embed:""`
	outputFlags `embed:""`

	ID string `arg:"" ids:"messages,runs,dlq" help:"Message id, run id, DLQ id or flow-control key."`
}

// Run prints the reasons in the order in which they end, what can be done, and links to the page.
// It is text for scripts too, unless -o asks for JSON.
func (c *WhyCmd) Run(e *env) error {
	var answer json.RawMessage
	if err := c.call(e, http.MethodGet, "explain/"+url.PathEscape(c.ID), nil, nil, &answer); err != nil {
		return err
	}
	if c.Output == "json" {
		var pretty bytes.Buffer
		_ = json.Indent(&pretty, answer, "", "  ") // call has decoded it
		_, err := fmt.Fprintln(e.out, pretty.String())
		return err
	}
	return e.show(&c.remote, &c.outputFlags, answer, words("why"))
}

// nextSteps are the commands for what can be done about an explained thing.
func nextSteps(x map[string]any) (lines []string) {
	reasons, _ := x["reasons"].([]any)
	can, _ := within(x["failure"], "can").([]any)
	var steps []any
	for _, reason := range reasons {
		if next := within(reason, "next"); next != nil {
			steps = append(steps, next)
		}
	}
	width := 0
	for _, one := range append(steps, can...) {
		width = max(width, len(textOf(within(one, "command"))))
	}
	for _, one := range append(steps, can...) {
		lines = append(lines, fmt.Sprintf("%-*s  # %s", width, textOf(within(one, "command")), textOf(within(one, "does"))))
	}
	return lines
}

// pages are the views of the page that show an explained thing.
func (s *screen) pages(x map[string]any) (list []string) {
	paths, _ := x["pages"].([]any)
	for _, path := range paths {
		page := s.url + textOf(path)
		if s.account != "" {
			page += map[bool]string{true: "&", false: "?"}[strings.Contains(page, "?")] + "account=" + url.QueryEscape(s.account)
		}
		list = append(list, page)
	}
	return list
}

// stepsOf are the steps of a run on its time axis, as rows.
func stepsOf(run any) []any {
	spans, _ := within(run, "spans").([]any)
	for i, one := range spans {
		span, _ := one.(map[string]any)
		parts, _ := span["parts"].([]any)
		step := row{"number": float64(i + 1), "name": cmp.Or(textOf(within(span, "step", "stepName")), "(next)"), "type": span["type"], "message": span["messageId"], "from": span["from"], "to": span["to"], "state": "done"}
		if span["to"] == nil {
			step["state"] = "running"
		}
		attempts := 0.0
		for _, p := range parts {
			if n, ok := within(p, "attempt").(float64); ok {
				attempts = max(attempts, n)
			}
			if kind := textOf(within(p, "kind")); kind != "running" || span["to"] == nil {
				step["state"] = kind
			} else {
				step["state"] = "done"
			}
			step["cause"] = within(p, "cause")
		}
		if kind := step["state"]; span["to"] != nil && (kind == "waiting" || kind == "sleeping" || kind == "retrying") {
			step["state"] = "done"
		}
		if span["kept"] == true {
			step["state"] = "kept"
		}
		if attempts > 0 {
			step["attempts"] = attempts
		}
		if invoked := textOf(span["invokedWorkflowRunId"]); invoked != "" {
			step["message"] = invoked
		}
		spans[i] = map[string]any(step)
	}
	return spans
}

// lastAnswer is the body of the latest response to a message, and its title; nil for none.
func lastAnswer(message any) map[string]any {
	deliveries, _ := within(message, "deliveries").([]any)
	for _, d := range slices.Backward(deliveries) {
		if response, _ := within(d, "response").(map[string]any); response != nil {
			body := cmp.Or(textOf(response["body"]), textOf(response["bodyBase64"]))
			if body == "" {
				return nil
			}
			number, _ := within(d, "attempt").(float64)
			return map[string]any{"title": fmt.Sprintf("%s to attempt %.0f", textOf(response["status"]), number+1), "body": body}
		}
	}
	events, _ := within(message, "events").([]any) // the journal of deliveries is in memory
	for _, e := range slices.Backward(events) {
		if body := textOf(within(e, "responseBody")); body != "" {
			return map[string]any{"title": textOf(within(e, "responseStatus")), "body": body}
		}
	}
	return nil
}
