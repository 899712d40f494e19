package main

import (
	"encoding/json"
	"net/http"
)

// ctlFault lists, adds and clears faults.
type ctlFault struct {
	On          string            `arg:"" optional:"" enum:"api,delivery," default:"" help:"api or delivery. Without it, the faults are listed."`
	Preset      string            `placeholder:"NAME" help:"Predefined answers of the API: rate-limit-daily, rate-limit-burst."`
	Operation   string            `placeholder:"ID" help:"Only this operation of the API."`
	URL         string            `name:"destination" placeholder:"URL" help:"Only deliveries to this URL; * matches any characters."`
	Header      map[string]string `placeholder:"NAME=VALUE" help:"Only requests with this header; repeatable."`
	Status      int               `help:"Status that the API answers with."`
	Body        string            `help:"Body that the API answers with."`
	Delay       string            `placeholder:"D" help:"Delay of the answer: in real time for the API, on the clock for deliveries."`
	Drop        bool              `help:"Close the connection without an answer."`
	Executed    bool              `help:"Let the API call take effect before its answer is lost or replaced."`
	Duplicate   bool              `help:"Deliver twice."`
	Reorder     bool              `help:"Let the next delivery overtake this one."`
	Times       int               `help:"How often the fault applies; 0 for always."`
	Probability float64           `help:"Probability from 0 to 1, drawn from the seed; 0 for always."`
	Clear       bool              `help:"Remove all faults."`
}

// Run lists, adds or clears the faults of an account.
func (k *ctlFault) Run(e *env, c *cli) error {
	switch {
	case k.Clear:
		return c.Ctl.clear(e, "faults", words("No faults."))
	case k.On == "":
		return c.Ctl.show(e, http.MethodGet, "faults", nil, tables["faults"])
	}
	var rules []json.RawMessage
	if err := c.Ctl.call(e, http.MethodGet, "faults", nil, nil, &rules); err != nil {
		return err
	}
	rule := map[string]any{"on": k.On}
	for name, v := range map[string]any{
		"preset": k.Preset, "operation": k.Operation, "url": k.URL, "status": k.Status, "body": k.Body, "delay": k.Delay,
		"drop": k.Drop, "executed": k.Executed, "duplicate": k.Duplicate, "reorder": k.Reorder, "times": k.Times, "probability": k.Probability,
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
	return c.Ctl.show(e, http.MethodPut, "faults", append(rules, text), tables["faults"])
}
