package ui

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/understudy-mock/understudy/spec/api"
	"github.com/understudy-mock/understudy/spec/route"
)

// asking is a question, the address to return to, and the fields of the button.
type asking struct {
	question
	Back   string
	Fields map[string]string
}

// confirmText loads the question of a button.
func confirmText(v *visit, name string) (any, error) {
	a, ok := allActions[name]
	f := form{v.query}
	forGood := f.Get("undo") == "no" && a.undo != ""
	if !ok || a.ask == nil && !forGood {
		return nil, refuse(http.StatusNotFound, "button "+name+": not found")
	}
	q, err := a.askFirst(v, f)
	if forGood {
		q.Text += " It cannot be undone: the account needs more memory than undo points may have."
	}
	fields := map[string]string{}
	for field := range f.Values {
		if field != "back" && field != "account" {
			fields[field] = f.Get(field)
		}
	}
	back := v.query.Get("back")
	if !onPage(back) {
		back = controlRoot
	}
	return &asking{q, back, fields}, err
}

// askFirst is the question of a button. A button without one gets the label of its undo point.
func (a *action) askFirst(v *visit, f form) (question, error) {
	if a.ask != nil {
		return a.ask(v, f)
	}
	label := f.filled(a.undo)
	label = strings.ToUpper(label[:1]) + label[1:]
	return question{Text: label + "?", Yes: label}, nil
}

// pluralText is a number with its noun in the singular or plural.
func pluralText(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return groupedNumber(n) + " " + many
}

// startAgain restarts or resumes a failed run, and redirects to the new one, or retries a message.
func startAgain(how route.Route) func(*visit, form) error {
	return func(v *visit, f form) error {
		if f.Get("id") == "" {
			return fmt.Errorf("id is missing")
		}
		var run struct{ WorkflowRunID string }
		header, err := v.overrides(f)
		if err == nil {
			err = v.do(&run, request{method: how.Method(), path: v.as(how, f.Get("id")), header: header})
		}
		if run.WorkflowRunID != "" {
			f.Set("then", v.frame().Of("runs", run.WorkflowRunID))
		}
		return err
	}
}

// removal asks before n things are removed; format has the place of their number.
func removal(n int, one, many, format, none string) question {
	things := pluralText(n, one, many)
	q := question{Text: fmt.Sprintf(format, things), Yes: "Remove " + things}
	if n == 0 {
		q.None = none
	}
	return q
}

// askRules asks before all stubs or faults are removed.
func askRules(list, one string) func(*visit, form) (question, error) {
	return func(v *visit, _ form) (question, error) {
		var rules []any
		err := v.get(&rules, list, nil)
		return removal(len(rules), one, list, "Remove %s?", "There are no "+list+"."), err
	}
}

// askRequests counts the requests in the journal.
func askRequests(v *visit, _ form) (question, error) {
	var journal struct {
		Older   int
		Entries []doc
	}
	err := v.get(&journal, "requests", url.Values{"limit": {"1"}})
	return removal(journal.Older+len(journal.Entries), "request", "requests", "Remove %s from the journal? That cannot be undone.", "The journal is empty."), err
}

// resetVectors empties an index.
func resetVectors(v *visit, f form) error {
	if f.Get("name") == "" {
		return fmt.Errorf("name is missing")
	}
	return v.do(nil, request{method: http.MethodDelete, path: v.index(f.Get("name"), route.ResetVectorsDelete), query: url.Values{"all": {"true"}}})
}

func askVectors(v *visit, f form) (question, error) {
	var info struct{ Result struct{ VectorCount int } }
	name := f.Get("name")
	err := v.get(&info, v.index(name, route.GetVectorInfo), nil)
	return removal(info.Result.VectorCount, "vector", "vectors", "Remove %s of the index "+name+"?", "The index "+name+" is empty."), err
}

// askReset lists what will be lost, so that the user notices a wrong account.
func askReset(v *visit, _ form) (question, error) {
	var now api.Overview
	err := v.get(&now, "overview", nil)
	return question{Yes: "Reset account", Text: fmt.Sprintf("Reset the account %s? It forgets %s. Its clock returns to its start. Undo restores all but the journals and the key-value store.", now.Account, now.Forgets)}, err
}

// askUndo asks before something else is lost with what is undone: what happened since.
func askUndo(v *visit, f form) (q question, err error) {
	var kept struct {
		Points []struct {
			ID, Label string
			Later     int
		}
	}
	if err := v.get(&kept, "undo", nil); err != nil {
		return q, err
	}
	for _, p := range kept.Points {
		if p.ID == f.Get("id") && p.Later > 0 {
			const most = 100 // events that are counted
			events := pluralText(p.Later, "event", "events")
			if p.Later == most {
				events = "at least " + events
			}
			q = question{Yes: "Undo " + p.Label, Text: fmt.Sprintf("Undo %s, and take back everything since? The log has %s since then. What was sent stays sent. The page then offers to undo this, too.", p.Label, events)}
		}
	}
	return q, nil
}

// askCounters asks before the counters of rate limits are reset.
func askCounters(_ *visit, f form) (question, error) {
	of := "all counters"
	if key := f.Get("key"); key != "" {
		of = "the counters of " + key
	}
	return question{Yes: "Reset the counters", Text: "Reset " + of + "? That cannot be undone."}, nil
}
