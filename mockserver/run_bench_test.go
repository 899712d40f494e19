package mockserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
)

// workflowEndpoint is a workflow of ten steps: each call reports the next one,
// the last ends the run.
type workflowEndpoint struct {
	server *mockserver.Server
	client *http.Client
	url    string
	steps  atomic.Int64
	ended  sync.WaitGroup
}

const stepsPerRun = 10

func (w *workflowEndpoint) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var list []struct{ Body, CallType string }
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &list); err != nil || len(list) == 0 {
		http.Error(out, "no steps", http.StatusBadRequest)
		return
	}
	run, next := r.Header.Get("Svc-Workflow-Runid"), len(list)
	out.Header().Set("Svc-Workflow-Sdk-Version", "1")
	if next > stepsPerRun {
		w.send("DELETE", "/v2/workflows/runs/"+run+"?cancel=false", "done")
		w.ended.Done()
		return
	}
	w.steps.Add(1)
	step := fmt.Sprintf(`{"stepId":%d,"stepName":"s%d","stepType":"Run","out":"\"ok\"","concurrent":1}`, next, next)
	item, _ := json.Marshal([]map[string]any{{"destination": w.url, "body": step, "headers": map[string]string{
		"Svc-Workflow-Init": "false", "Svc-Workflow-RunId": run, "Svc-Workflow-Url": w.url, "Svc-Workflow-Sdk-Version": "1",
		"Svc-Forward-Svc-Workflow-Sdk-Version": "1", "Svc-Feature-Set": "InitialBody,WF_TriggerOnConfig", "Content-Type": "application/json",
	}}})
	w.send("POST", "/v2/batch", string(item))
}

func (w *workflowEndpoint) send(method, path, body string, header ...string) {
	r, err := http.NewRequest(method, w.server.URL()+path, bytes.NewReader([]byte(body)))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.server.Token())
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := w.client.Do(r)
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		panic(fmt.Sprintf("%s %s: %s", method, path, response.Status))
	}
}

// BenchmarkRuns: steps per second of concurrent workflow runs of ten steps, a
// real endpoint over HTTP, against the deliveries per second of the relay. At
// least 0.4.
func BenchmarkRuns(b *testing.B) {
	u := newServer(b, mockserver.Config{Clock: "real"})
	w := &workflowEndpoint{server: u, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	app := httptest.NewServer(w)
	defer app.Close()
	defer w.client.CloseIdleConnections()
	w.url = app.URL
	var arrived sync.WaitGroup
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived.Done()
	}))
	defer sink.Close()
	relay := newRelay(b, sink.URL)
	floor := func(n int) time.Duration {
		arrived.Add(n)
		start := b.Elapsed()
		load(b, n, 16, relay, "t")
		arrived.Wait()
		return b.Elapsed() - start
	}
	batch := 0
	runs := func(n int) time.Duration {
		n /= stepsPerRun
		w.ended.Add(n)
		batch++
		start := b.Elapsed()
		var triggers sync.WaitGroup
		for k := range 16 { // as many connections as the relay is loaded with
			triggers.Go(func() {
				for i := k; i < n; i += 16 {
					w.send("POST", "/v2/publish/"+w.url, "payload", "Svc-Workflow-Init", "true", "Svc-Workflow-RunId", fmt.Sprintf("wfr_%d_%d", batch, i),
						"Svc-Workflow-Url", w.url, "Svc-Workflow-Sdk-Version", "1", "Svc-Forward-Svc-Workflow-Sdk-Version", "1", "Svc-Feature-Set", "InitialBody,WF_TriggerOnConfig")
				}
			})
		}
		triggers.Wait()
		w.ended.Wait()
		return b.Elapsed() - start
	}
	floor(1000)
	runs(1000)
	b.ResetTimer()
	compare(b, "steps/s", 10_000, floor, runs) // 1,000 runs at once
	if w.steps.Load() == 0 {
		b.Fatal("no step was executed")
	}
}
