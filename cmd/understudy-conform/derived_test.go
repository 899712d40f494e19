package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/docs"
	"github.com/understudy-mock/understudy/internal/recorder"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/spec"
)

// traffic is what a run of the suite exchanged with the correct stand-in, in order. It shows
// without another run which scenarios a mutant changes.
type traffic struct {
	mu  sync.Mutex
	all []exchanged
}

// exchanged is one request of a scenario, or a delivery to one, and its answer.
type exchanged struct {
	request  *http.Request
	body     []byte
	delivery bool
	answer   *recorder.Recorder
	by       []string // account and endpoint
	scenario string   // name
}

var (
	scenarioOf = regexp.MustCompile(`\(\w+; (\S+);`) // of a User-Agent
	endpointOf = regexp.MustCompile(`/r/\w+/\w+/`)   // of the URL of an endpoint
)

// recordTraffic runs the suite against the correct stand-in.
func recordTraffic(t *testing.T) *traffic {
	t.Helper()
	x := &traffic{}
	location := map[string]string{} // by account, and by endpoint
	keep := func(r *http.Request, delivery bool, do func(*http.Request) *recorder.Recorder) *recorder.Recorder {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		e := exchanged{request: r.Clone(context.Background()), body: body, delivery: delivery}
		e.by = []string{r.Header.Get("Authorization"), endpointOf.FindString(r.URL.Path + " " + string(body))}
		r.Body = io.NopCloser(bytes.NewReader(body))
		x.mu.Lock()
		i := len(x.all) // in the order of the requests: a delivery may end before its publish
		x.all = append(x.all, e)
		x.mu.Unlock()
		e.answer = do(r)
		x.mu.Lock()
		defer x.mu.Unlock()
		if at := scenarioOf.FindStringSubmatch(r.UserAgent()); at != nil && !delivery {
			e.scenario = at[1]
			location[e.by[0]] = at[1]
		}
		x.all[i] = e
		return e.answer
	}
	judged, _, _ := mutated(t, &mutant{Build: func(func()) mutantParts {
		return mutantParts{
			API: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					repeat(w, keep(r, false, func(r *http.Request) *recorder.Recorder { return recorder.Serve(next, r) }))
				})
			},
			Delivery: func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (response *http.Response, err error) {
					keep(r, true, func(r *http.Request) *recorder.Recorder {
						rec := recorder.New()
						if response, err = next.RoundTrip(r); err == nil {
							rec.Status = response.StatusCode
						}
						return rec
					})
					return response, err
				})
			},
		}
	}}, trial{scope: "full", everything: true})
	delete(location, "") // a request without credentials, or without an endpoint
	names := map[string]string{}
	for i := range judged.Results {
		names[judged.Results[i].Location] = judged.Results[i].Name
	}
	for _, e := range x.all {
		if at := location[e.by[0]]; at != "" && e.by[1] != "" && !e.delivery {
			location[e.by[1]] = at
		}
	}
	for i, e := range x.all {
		x.all[i].scenario = names[cmp.Or(e.scenario, location[e.by[0]], location[e.by[1]])]
	}
	return x
}

// repeat writes a recorded answer.
func repeat(w http.ResponseWriter, rec *recorder.Recorder) {
	maps.Copy(w.Header(), rec.Header())
	w.WriteHeader(rec.Status)
	_, _ = w.Write(rec.Body.Bytes()) // the client may have disconnected
}

// changedBy returns the names of the scenarios whose traffic a mutant changes, and the mutant
// that has seen all of it, with the values of other scenarios.
func (x *traffic) changedBy(m *mutant) (names []string, seen *mutant) {
	var hit atomic.Bool
	parts := m.Build(func() { hit.Store(true) })
	seen = &mutant{ID: m.ID, Build: func(func()) mutantParts { return parts }}
	var now *exchanged
	var api http.Handler
	if parts.API != nil {
		api = parts.API(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { repeat(w, now.answer) }))
	}
	var delivery http.RoundTripper
	if parts.Delivery != nil {
		delivery = parts.Delivery(roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: now.answer.Status, Body: http.NoBody, Request: r}, nil
		}))
	}
	changed := map[string]bool{}
	for i := range x.all {
		now = &x.all[i]
		hit.Store(false)
		r := now.request.Clone(context.Background())
		r.Body = io.NopCloser(bytes.NewReader(now.body))
		switch {
		case now.delivery && delivery != nil:
			_, _ = delivery.RoundTrip(r)
		case !now.delivery && api != nil:
			recorder.Serve(api, r)
		}
		if name := now.scenario; hit.Load() && name != "" && !changed[name] {
			changed[name] = true
			names = append(names, name)
		}
	}
	return names, seen
}

// derived returns the derived mutants.
func derived(t *testing.T) []mutant {
	t.Helper()
	doc, err := spec.Load()
	if err != nil {
		t.Fatal(err)
	}
	text, err := docs.Files.ReadFile("reference/interface.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := deriveMutants(doc, shownIn(string(text), ownTarget(nil, true).Bindings))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// shownIn reports whether the interface document, or the bindings of the target, show the name
// of a field, an option or a filter. The document shows no names of filters.
func shownIn(document string, b target.Bindings) func(operation, place, name string) bool {
	fields := map[string]map[string]bool{"listWorkflowDLQ": bound(b.Fields["dlq"]), "listWorkflowMessageLogs": bound(b.Fields["log"], b.Fields["step"])}
	sections := map[string]string{"listWorkflowDLQ": section(document, "DLQ entry"), "listWorkflowMessageLogs": section(document, "Workflow log event")}
	filters := map[string][]string{"listWorkflowDLQ": slices.Collect(maps.Values(b.DLQ)), "listWorkflowMessageLogs": slices.Collect(maps.Values(b.Logs))}
	restart := bound(map[string]string{"": b.Headers["restart_flow_key"], "1": b.Headers["restart_retries"], "2": "Svc-Flow-Control-Value", "3": "Svc-Workflow-RunId"})
	options := bound(b.Headers)
	lower := strings.ToLower(document)
	return func(operation, place, name string) bool {
		folded := strings.ToLower(name)
		switch {
		case operation == "restartWorkflowRun" && place == "header":
			return restart[folded]
		case strings.HasPrefix(folded, "svc-"):
			return options[folded] || strings.Contains(lower, folded)
		case place == "query" && filters[operation] != nil:
			return slices.Contains(filters[operation], name)
		}
		text := cmp.Or(sections[operation], document)
		return fields[operation][folded] || slices.Contains([]string{"cursor", "events", "messages"}, name) || regexp.MustCompile(`(^|[^\w-])`+regexp.QuoteMeta(name)+`([^\w-]|$)`).MatchString(text)
	}
}

// section returns the text below a heading of the document, up to the next one.
func section(document, heading string) string {
	_, text, _ := strings.Cut(document, "\n### "+heading)
	text, _, _ = strings.Cut(text, "\n### ")
	return text
}

// bound returns the names of bindings, in lower case.
func bound(lists ...map[string]string) map[string]bool {
	names := map[string]bool{}
	for _, list := range lists {
		for _, name := range list {
			names[strings.ToLower(name)] = true
		}
	}
	return names
}

// fewDerived are those of a short test; the suite finds each of them: fields, filters, options and
// deliveries.
var fewDerived = []string{
	"derived/delivery/body lost/run",
	"derived/delivery/first value only/group",
	"derived/delivery/forwarded header/retried",
	"derived/delivery/never sent/held",
	"derived/delivery/path in lower case/always",
	"derived/listWorkflowDLQ/field/messages/[]/callerIP/missing/always",
	"derived/listWorkflowDLQ/field/messages/[]/callerIP/type/always",
	"derived/listWorkflowDLQ/query/label/ignored/always",
	"derived/listWorkflowDLQ/query/responseStatus/inverted",
	"derived/restartWorkflowRun/field/workflowRunId/missing/always",
}

// derivedMutants tries the derived mutants: all with MUTANTS=full, those that match the pattern
// DERIVED, or a few that must fail. Of the others it prints those that the suite does not
// find: some are legal, and each of the rest is a scenario to write.
func derivedMutants(t *testing.T) {
	all, few := derived(t), false
	if pattern := os.Getenv("DERIVED"); pattern != "" {
		matching := regexp.MustCompile(pattern)
		all = slices.DeleteFunc(all, func(m mutant) bool { return !matching.MatchString(m.ID) })
	} else if few = os.Getenv("MUTANTS") != "full"; few {
		all = slices.DeleteFunc(all, func(m mutant) bool { return !slices.Contains(fewDerived, m.ID) })
		expect.Equal(t, "mutants of a short test", len(all), len(fewDerived))
		all = all[len(all)-effort.Amount(t, "DERIVED_MUTANTS", 4, 6):] // deliveries, the first ones, take longest
	}
	record := recordTraffic(t)
	var mu sync.Mutex
	found := map[string][]string{}
	t.Run("each", func(t *testing.T) {
		for i := range all {
			t.Run(all[i].ID, func(t *testing.T) {
				t.Parallel()
				result := "without effect"
				if names, m := record.changedBy(&all[i]); len(names) > 0 {
					result = "not found"
					if judged, _, _ := mutated(t, m, trial{names: names, everything: true}); len(failed(judged)) > 0 {
						result = "found"
					}
				}
				t.Log(result)
				if few && result != "found" {
					t.Errorf("%s is %s", all[i].ID, result)
				}
				mu.Lock()
				defer mu.Unlock()
				found[result] = append(found[result], all[i].ID)
			})
		}
	})
	if !few { // to read
		for _, result := range []string{"found", "without effect", "not found"} {
			slices.Sort(found[result])
			fmt.Printf("%d derived mutants are %s\n", len(found[result]), result)
		}
		fmt.Printf("without effect:\n%s\nnot found:\n%s\n", strings.Join(found["without effect"], "\n"), strings.Join(found["not found"], "\n"))
	}
}
