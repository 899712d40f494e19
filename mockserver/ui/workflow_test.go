package ui_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/understudy-mock/understudy/mockserver"
)

// orders is a workflow with all kinds of steps: check, a sleep of an hour, two parallel
// steps, a wait for an event, and a last step that fails while broken is set.
type orders struct {
	u      *mockserver.TestServer
	app    *httptest.Server
	broken atomic.Bool
}

func runOrders(t testing.TB, u *mockserver.TestServer) *orders {
	w := &orders{u: u}
	w.app = httptest.NewServer(w)
	t.Cleanup(w.app.Close)
	return w
}

// entry is one of the steps in a call of the endpoint.
type entry struct {
	Body     string
	CallType string
}

// ServeHTTP runs the next step. Like a client library, it counts the results.
func (w *orders) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	out.Header().Set("Svc-Workflow-Sdk-Version", "1")
	if r.Header.Get("Svc-Workflow-Is-Failure") != "" {
		return
	}
	body, _ := io.ReadAll(r.Body)
	var list []entry
	if json.Unmarshal(body, &list) != nil || len(list) == 0 {
		http.Error(out, "no steps", http.StatusBadRequest)
		return
	}
	run, done, target := r.Header.Get("Svc-Workflow-Runid"), map[int]bool{}, 0
	for _, e := range list[1:] {
		var step struct{ StepID, TargetStep int }
		if json.Unmarshal(decode(e.Body), &step) == nil {
			done[step.StepID] = true // 0 is a planned step
			target = step.TargetStep
		}
	}
	w.next(out, run, done, target)
}

// next runs the step that was planned by the last entry, or the one after those that are done.
func (w *orders) next(out http.ResponseWriter, run string, done map[int]bool, target int) {
	switch {
	case !done[1]:
		w.submit(run, step{"stepId": 1, "stepName": "check the order", "stepType": "Run", "out": `{"total":42}`, "concurrent": 1})
	case !done[2]:
		w.submit(run, step{"stepId": 2, "stepName": "cool down", "stepType": "SleepFor", "sleepFor": 3600, "concurrent": 1})
	case !done[0]:
		w.submit(run, step{"stepId": 0, "stepName": "charge", "stepType": "Run", "concurrent": 2, "targetStep": 3}, step{"stepId": 0, "stepName": "reserve", "stepType": "Run", "concurrent": 2, "targetStep": 4})
	case target > 0:
		name := map[int]string{3: "charge", 4: "reserve"}[target]
		w.submit(run, step{"stepId": target, "stepName": name, "stepType": "Run", "out": `"` + name + `d"`, "concurrent": 2})
	case done[3] && done[4] && !done[5]:
		w.send(http.MethodPost, "/v2/wait/paid-"+run, map[string]any{"url": w.app.URL, "timeout": "2d", "timeoutUrl": w.app.URL, "timeoutHeaders": map[string][]string{"Svc-Workflow-RunId": {run}, "Svc-Workflow-Url": {w.app.URL}, "Svc-Workflow-Init": {"false"}},
			"step": step{"stepId": 5, "stepName": "payment", "stepType": "Wait", "waitEventId": "paid-" + run, "concurrent": 1}}, "Svc-Workflow-RunId", run)
	case done[5] && w.broken.Load():
		out.Header().Set("Svc-Error-Step-Name", "print the label")
		http.Error(out, `{"error":"the printer is on fire"}`, http.StatusInternalServerError)
	case done[5]:
		w.send(http.MethodDelete, "/v2/workflows/runs/"+run+"?cancel=false", "shipped")
	}
}

type step map[string]any

// decode decodes a step, which may be base64.
func decode(body string) []byte {
	var raw []byte
	if json.Unmarshal([]byte(`"`+body+`"`), &raw) == nil && len(raw) > 0 && raw[0] == '{' {
		return raw
	}
	return []byte(body)
}

func (w *orders) submit(run string, steps ...step) {
	var batch []map[string]any
	for _, s := range steps {
		text, _ := json.Marshal(s)
		header := map[string]string{"Svc-Workflow-Init": "false", "Svc-Workflow-RunId": run, "Svc-Workflow-Url": w.app.URL, "Svc-Workflow-Sdk-Version": "1",
			"Svc-Forward-Svc-Workflow-Sdk-Version": "1", "Content-Type": "application/json", "Svc-Retries": "1"}
		if seconds, ok := s["sleepFor"]; ok {
			header["Svc-Delay"] = fmt.Sprintf("%ds", seconds)
		}
		batch = append(batch, map[string]any{"destination": w.app.URL, "body": string(text), "headers": header})
	}
	w.send(http.MethodPost, "/v2/batch", batch)
}

func (w *orders) send(method, path string, body any, header ...string) {
	text, _ := json.Marshal(body)
	r, err := http.NewRequest(method, w.u.URL()+path, bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.u.Token())
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		panic(err)
	}
	answer, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if response.StatusCode >= http.StatusMultipleChoices {
		panic(fmt.Sprintf("%s %s: %s %s", method, path, response.Status, answer))
	}
}

// trigger starts a run and settles.
func (w *orders) trigger(id string) {
	w.send(http.MethodPost, "/v2/trigger/"+w.app.URL, map[string]int{"order": 7}, "Svc-Workflow-RunId", id, "Svc-Workflow-Sdk-Version", "1", "Svc-Retries", "1", "Svc-Label", "shop",
		"Svc-Forward-Svc-Workflow-Sdk-Version", "1", "Svc-Failure-Callback", w.app.URL, "Svc-Failure-Callback-Forward-Svc-Workflow-Is-Failure", "true")
	w.u.Settle()
}
