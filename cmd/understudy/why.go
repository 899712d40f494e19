package main

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/spec/route"
)

// WhyCmd explains a message, a run, a DLQ entry or a flow-control key.
type WhyCmd struct {
	remote      `embed:""`
	outputFlags `embed:""`

	ID string `arg:"" ids:"messages,runs,dlq,keys" help:"Message id, run id, DLQ id or flow-control key."`
}

// Run prints the reasons in the order in which they end, what can be done, and links to the page.
// It is text for scripts too, unless -o asks for JSON.
func (c *WhyCmd) Run(e *env) error {
	ctl := CtlCmd{remote: c.remote, outputFlags: c.outputFlags}
	answer, err := ctl.ask(e, route.ControlExplain, []string{c.ID}, nil, nil)
	return ctl.say(e, answer, err, words("why"))
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

// stepsOf are the steps of a run on its time axis, as rows, without the calls that only start,
// plan or end the run.
func stepsOf(run any) (steps []any) {
	spans, _ := within(run, "spans").([]any)
	for _, span := range spans {
		parts, _ := within(span, "parts").([]any)
		name, kind := textOf(within(span, "step", "stepName")), within(span, "type")
		if kind == "Plan" || kind == "Initial" && len(parts) == 0 || kind == "" && name == "end of the workflow" {
			continue
		}
		step := map[string]any{
			"number": float64(len(steps) + 1), "name": cmp.Or(name, "(next)"), "type": kind, "state": "running",
			"message": cmp.Or(within(span, "invokedWorkflowRunId"), within(span, "messageId")),
		}
		worked := 0.0
		for _, p := range parts {
			if n := within(p, "attempt"); n != nil {
				step["attempts"] = n
			}
			ms, _ := within(p, "durationMs").(float64)
			worked += ms
			step["state"], step["cause"] = within(p, "kind"), within(p, "cause")
		}
		if to, ended := within(span, "to").(float64); ended {
			from, _ := within(span, "from").(float64)
			step["took"] = durationOf(max(to-from, worked)) // a manual clock stands still while an endpoint works
			if state := step["state"]; state != "failed" && state != "canceled" {
				step["state"] = "done"
			}
		}
		if within(span, "kept") == true {
			step["state"] = "kept"
		}
		steps = append(steps, step)
	}
	return steps
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
