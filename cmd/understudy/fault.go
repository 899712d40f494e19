package main

import (
	"encoding/json"
	"net/http"

	"github.com/understudy-mock/understudy/spec/route"
)

// ctlFault lists, adds and clears faults.
type ctlFault struct {
	On          string            `json:"on" arg:"" optional:"" enum:"api,delivery," default:"" help:"api or delivery. Without it, the faults are listed."`
	Preset      string            `json:"preset,omitempty" placeholder:"NAME" help:"Predefined answers of the API: rate-limit-daily, rate-limit-burst."`
	Operation   string            `json:"operation,omitempty" placeholder:"ID" help:"Only this operation of the API."`
	URL         string            `json:"url,omitempty" name:"destination" placeholder:"URL" help:"Only deliveries to this URL; * matches any characters."`
	Header      map[string]string `json:"header,omitempty" placeholder:"NAME=VALUE" help:"Only requests with this header; repeatable."`
	Status      int               `json:"status,omitempty" help:"Status that the API answers with."`
	Body        string            `json:"body,omitempty" help:"Body that the API answers with."`
	Delay       string            `json:"delay,omitempty" placeholder:"D" help:"Delay of the answer: in real time for the API, on the clock for deliveries."`
	Drop        bool              `json:"drop,omitempty" help:"Close the connection without an answer."`
	Executed    bool              `json:"executed,omitempty" help:"Let the API call take effect before its answer is lost or replaced."`
	Duplicate   bool              `json:"duplicate,omitempty" help:"Deliver twice."`
	Reorder     bool              `json:"reorder,omitempty" help:"Let the next delivery overtake this one."`
	Times       int               `json:"times,omitempty" help:"How often the fault applies; 0 for always."`
	Probability float64           `json:"probability,omitempty" help:"Probability from 0 to 1, drawn from the seed; 0 for always."`
	Clear       bool              `json:"-" help:"Remove all faults."`
}

// Run lists, adds or clears the faults of an account.
func (k *ctlFault) Run(e *env, c *CtlCmd) error {
	switch {
	case k.Clear:
		return c.clear(e, "faults", route.ControlClearFaults)
	case k.On == "":
		return c.show(e, tables["faults"], nil, route.ControlFaults)
	}
	var rules []json.RawMessage
	if err := c.call(e, http.MethodGet, "faults", nil, nil, &rules); err != nil {
		return err
	}
	text, err := json.Marshal(k)
	if err != nil {
		return usageError("%w", err)
	}
	return c.show(e, tables["faults"], append(rules, text), route.ControlSetFaults)
}
