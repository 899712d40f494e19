package main

import (
	"encoding/json"
	"net/http"
)

// ctlFault lists, adds and clears the rules that make things go wrong.
type ctlFault struct {
	On          string            `arg:"" optional:"" enum:"api,delivery," default:"" help:"api or delivery; without it the rules are listed."`
	Preset      string            `placeholder:"NAME" help:"Ready-made answers of the api: rate-limit-daily, rate-limit-burst."`
	Operation   string            `placeholder:"ID" help:"Only this operation of the api."`
	URL         string            `name:"destination" placeholder:"URL" help:"Only deliveries to this URL, with *."`
	Header      map[string]string `placeholder:"NAME=VALUE" help:"Only requests with this header; repeatable."`
	Status      int               `help:"What the api answers."`
	Body        string            `help:"With which body."`
	Delay       string            `placeholder:"D" help:"How late: real time for the api, the clock for deliveries."`
	Drop        bool              `help:"The connection breaks off."`
	Duplicate   bool              `help:"The delivery is made twice."`
	Reorder     bool              `help:"The next delivery overtakes it."`
	Times       int               `help:"How often; 0 for always."`
	Probability float64           `help:"0 to 1, drawn from the seed; 0 for always."`
	Clear       bool              `help:"Remove all rules."`
}

// Run acts on the rules of an account.
func (k *ctlFault) Run(e *env, c *cli) error {
	switch {
	case k.Clear:
		return c.Ctl.show(e, http.MethodDelete, "faults", nil, nil)
	case k.On == "":
		return c.Ctl.show(e, http.MethodGet, "faults", nil, nil)
	}
	var rules []json.RawMessage
	if err := c.Ctl.call(e, http.MethodGet, "faults", nil, nil, &rules); err != nil {
		return err
	}
	rule := map[string]any{"on": k.On}
	for name, v := range map[string]any{
		"preset": k.Preset, "operation": k.Operation, "url": k.URL, "status": k.Status, "body": k.Body, "delay": k.Delay,
		"drop": k.Drop, "duplicate": k.Duplicate, "reorder": k.Reorder, "times": k.Times, "probability": k.Probability,
	} {
		if v != "" && v != 0 && v != false && v != 0.0 {
			rule[name] = v
		}
	}
	if len(k.Header) > 0 {
		rule["header"] = k.Header
	}
	text, err := json.Marshal(rule)
	if err != nil {
		return usageError("%w", err)
	}
	return c.Ctl.show(e, http.MethodPut, "faults", nil, append(rules, text))
}
