package ui

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/understudy-mock/understudy/spec/api"
)

// again is the form that starts a new run at a chosen step, with the results of the steps
// before it.
type again struct {
	From    string      // name of the chosen step; "": the beginning
	Kept    []*span     // steps before it
	Choices []*span     // steps that can be chosen
	Forked  *span       // the first branch of a fork, behind which no step can be chosen; nil for none
	Form    publishForm // of the trigger
}

// Again prepares the form. A parallel step cannot be kept: its place in the run is known only
// to the client library that planned it.
func (f *flow) Again(chosen string, a api.Account) again {
	out := again{Form: publishForm{Destination: text(f.Row["workflowUrl"]), Body: f.Payload, Binary: f.PayloadBase64 != ""}}
	out.Form.Body = cmp.Or(f.PayloadBase64, f.Payload)
	published := map[string][]string{}
	for name, values := range f.Headers {
		if !strings.HasPrefix(name, a.HeaderPrefix+"Workflow-Run") {
			published[name] = values
		}
	}
	out.Form.Headers = headerText(published)
	for i := range f.Spans {
		s := &f.Spans[i]
		if s.plans() || s.Type == "Initial" {
			continue
		}
		if s.Step.Concurrent > 1 {
			out.Forked = s
			break
		}
		if out.Choices = append(out.Choices, s); chosen != "" && s.Key() == chosen {
			out.From, out.Kept = s.Name(), out.Choices[:len(out.Choices)-1]
		}
	}
	return out
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// runFrom starts a run as if its first steps had finished: their results come from the form.
func runFrom(v *visit, f form) error {
	header := http.Header{}
	if err := headerLines(f.Get("headers"), header); err != nil {
		return err
	}
	steps := []doc{}
	for i, name := range f.Values["name"] {
		steps = append(steps, doc{"name": name, "type": f.Values["type"][i], "out": f.Values["out"][i]})
	}
	run := doc{"id": "wfr_" + rand.Text(), "url": f.Get("destination"), "state": "RUN_STARTED", "headers": header, "steps": steps, "body": f.Get("body")}
	if f.Get("binary") != "" {
		delete(run, "body")
		run["bodyBase64"] = f.Get("body")
	}
	body, err := json.Marshal(doc{"version": 1, "runs": []doc{run}})
	if err != nil {
		return err
	}
	if err := v.do(nil, request{method: http.MethodPost, path: "fixtures", body: body}); err != nil {
		return err
	}
	at := v.frame()
	f.Set("then", at.Of("runs", text(run["id"])))
	return nil
}
