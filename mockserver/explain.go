package mockserver

import "github.com/understudy-mock/understudy/engine"

var _ = register(map[string]handler{"controlExplain": (*Server).controlExplain})

type reasonBody struct {
	Reason string `json:"reason"`
	Rule   string `json:"rule,omitempty"`
	Until  *int64 `json:"until,omitempty"` // Unix ms
}

// controlExplain says why something has not happened yet. A manual clock is the
// last reason: nothing waits that it does not hold.
func (s *Server) controlExplain(c *call) (reply, error) {
	x, err := c.account.Explain(c.vars["id"])
	if err != nil {
		return reply{}, err
	}
	clock := s.clockBody(c.world)
	return reply{body: map[string]any{"id": x.ID, "kind": x.Kind, "state": x.State, "now": clock.Now, "reasons": reasons(x.Reasons, clock.Mode)}}, nil
}

// reasons are those of the engine and, with a manual clock, that one.
func reasons(list []engine.Reason, clock string) []reasonBody {
	out := []reasonBody{}
	waits := false
	for _, r := range list {
		out = append(out, reasonBody{r.Text, r.Rule, ms(r.Until)})
		waits = waits || !r.Until.IsZero()
	}
	if waits && clock == "manual" {
		out = append(out, reasonBody{Reason: "the clock is manual: it moves by `understudy ctl advance` or the buttons of the page only"})
	}
	return out
}

// Explain says why a message, a run or a flow-control key of the default account
// is as it is.
func (s *Server) Explain(id string) (engine.Explanation, error) { return s.first().account.Explain(id) }
