package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/recorder"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/spec/header"
)

// changedBySending are the operations whose second request answers something else, because the
// first has changed the state: the entry or the index is gone.
var changedBySending = map[string]bool{"restartWorkflowRun": true, "deleteSearchIndex": true}

// Every command that a failing run prints repeats the request that was judged.
func TestTheCommandOfEveryFailureRepeatsTheRequest(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for commands, not for races")
	effort.Long(t, "most scenarios fail in real time")
	programs.Need(t, "the commands of failures are not run", "curl")
	var own target.Target
	judged := fronted(t, spoiled, func(cfg *conformance.Config, _ *httptest.Server) {
		cfg.Tags, cfg.Profiles = "not @time-long and not @time-retries", []string{"MSG", "GROUP", "WF-READ", "WF-RECOVER", "FLOW", "USAGE", "INDEX"}
		tm := &cfg.Target.Timing
		tm.DeliveryBudget, tm.SettleBudget, tm.RetryBudget, tm.StatsBudget = time.Second, time.Second, 2*time.Second, time.Second
		tm.Scale = 1 // most scenarios fail when their budget has passed
		delete(cfg.Target.Drivers, "account")
		cfg.Concurrency = 24
		own = cfg.Target
	})
	commands, failures := map[string]*report.Exchange{}, map[string]*report.Failure{}
	for i := range judged.Results {
		r := &judged.Results[i]
		for j := range r.Exchanges {
			if x := &r.Exchanges[j]; showsSecret(&own, x.Curl) {
				t.Errorf("%s: the command shows a credential: %s", r.Location, x.Curl)
			}
		}
		if f := r.Failure; f == nil || f.Exchange < 0 {
			continue
		}
		if x := &r.Exchanges[r.Failure.Exchange]; x.Status > 0 && !changedBySending[x.Operation] {
			commands[x.Curl], failures[x.Curl] = x, r.Failure
		}
	}
	t.Logf("%d commands", len(commands))
	expect.True(t, "at least 60 commands", len(commands) >= 60)
	for i := range judged.Results {
		if r := &judged.Results[i]; r.Failure != nil && r.Failure.Message == "the field has another type" {
			var answer any
			decoder := json.NewDecoder(strings.NewReader(r.Exchanges[r.Failure.Exchange].Answer))
			if decoder.UseNumber(); decoder.Decode(&answer) == nil { // a long one is cut
				_, found := check.At(answer, r.Failure.Pointer)
				expect.True(t, r.Name+": the answer that is shown has "+r.Failure.Pointer, found)
			}
		}
	}
	for command, x := range commands {
		status, out := repeated(t, &own, x)
		if status != strconv.Itoa(x.Status) {
			t.Errorf("%s %s: the command answers %q, the judged request %d:\n%s\n%q\n%s", x.Operation, x.URL, status, x.Status, command, x.Notes, out)
		}
		again := answerOf(out)
		if f := failures[command]; f.Message == "the field has another type" {
			v, found := check.At(again, f.Pointer)
			expect.True(t, command+": the repeated answer has "+f.Pointer, found)
			expect.Contains(t, command+": what was judged", f.Got, check.KindOf(v))
		}
		for _, list := range harness.ListField {
			items, _ := check.List(answerOf(x.Answer), "/"+list)
			listed, _ := check.List(again, "/"+list)
			expect.True(t, command+": the list has items as before", len(listed) > 0 || len(items) == 0)
		}
	}
}

// answerOf is the JSON of an answer, also below the headers that curl prints; nil for none.
func answerOf(out string) any {
	return check.Decode([]byte(out[strings.LastIndex(out, "\r\n\r\n")+1:]))
}

// misfitting lists a copy of the first item, with other values, in every filtered list.
func misfitting(w http.ResponseWriter, r *http.Request, next http.Handler) {
	a := serverAnswer(next, r)
	if v, ok := decodeJSON(a.body).(map[string]any); ok && r.Method == http.MethodGet && len(r.URL.Query()) > 1 {
		if items, _ := v[listName(v)].([]any); len(items) > 0 {
			text := strings.NewReplacer("/r/", "/other/", "msg_", "other_", "127.0.0.1", "127.0.0.2", "RUN_", "OTHER_", "CREATED", "OTHER", "DELIVERED", "OTHER", "CALLBACK_", "OTHER_", "label", "other").Replace(string(encodeJSON(items[0])))
			v[listName(v)] = append(items, decodeJSON([]byte(text)))
			a.body = encodeJSON(v)
		}
	}
	a.write(w)
}

// A command keeps the values of filters: it lists what was judged.
func TestTheCommandOfAFilterListsWhatWasJudged(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for commands, not for races")
	programs.Need(t, "the commands of filters are not run", "curl")
	var own target.Target
	judged := fronted(t, misfitting, func(cfg *conformance.Config, _ *httptest.Server) {
		cfg.Requirements, cfg.Tags = []string{"REQ-DLQ-008", "REQ-LOG-011"}, "not @exclusive"
		delete(cfg.Target.Drivers, "account")
		own = cfg.Target
	})
	urls := 0
	for i := range judged.Results {
		r := &judged.Results[i]
		if r.Failure == nil || r.Failure.Exchange < 0 || !strings.Contains(r.Failure.Message, "does not fit") {
			continue
		}
		x := &r.Exchanges[r.Failure.Exchange]
		if strings.Contains(x.URL, "workflowUrl=") {
			urls++
		}
		_, out := repeated(t, &own, x)
		was, _ := check.List(answerOf(x.Answer), "/"+harness.ListField[x.Operation])
		now, _ := check.List(answerOf(out), "/"+harness.ListField[x.Operation])
		if len(now) == 0 || len(now) < len(was) { // a long answer is cut in the report
			t.Errorf("%s: the command lists %d items, the judged request %d: %s", r.Name, len(now), len(was), x.Curl)
		}
	}
	expect.True(t, "commands with a URL in a filter", urls > 0)
}

// showsSecret reports whether a text has a credential, or all of it but its last character.
func showsSecret(own *target.Target, text string) bool {
	a := own.Target.Auth
	return slices.ContainsFunc([]target.Secret{a.Bearer, a.VectorBearer, a.KVBearer, a.Basic.Password}, func(v target.Secret) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(string(v[:len(v)-1])))
	})
}

// spoiled breaks much: messages lose what they carry, lists and other answers have other values,
// and every credential is right.
func spoiled(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if strings.HasPrefix(r.URL.Path, "/v2/publish/") {
		for name := range r.Header {
			if strings.HasPrefix(name, header.ForwardPrefix) {
				r.Header.Del(name)
			}
		}
	}
	rec := recorder.Serve(next, r)
	status, body := rec.Status, rec.Body.Bytes()
	if status == http.StatusUnauthorized && !strings.Contains(r.Header.Get("Authorization"), "*") {
		status, body = http.StatusOK, []byte(`{"accepted": true}`)
	}
	if r.Method == http.MethodGet && rec.Status == http.StatusOK {
		var v any
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		if decoder.Decode(&v) == nil {
			body, _ = json.Marshal(spoiledValue("", v)) // decoded JSON always encodes
		}
	}
	maps.Copy(w.Header(), rec.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

// keptValues matches the names of values that stay, so that runs are found and reach their end.
var keptValues = regexp.MustCompile(`^(workflowRunId|state|dlqId|cursor|id)$`)

// spoiledValue replaces texts by numbers and numbers by texts.
func spoiledValue(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			v[key] = spoiledValue(key, member)
		}
	case []any:
		for i := range v {
			v[i] = spoiledValue(name, v[i])
		}
	case string:
		if !keptValues.MatchString(name) {
			return 7
		}
	case json.Number:
		return "seven"
	}
	return v
}

var (
	statusLine = regexp.MustCompile(`(?m)^HTTP/[0-9.]+ (\d+)`)
	bodyNote   = regexp.MustCompile(`^body: a file with the (\d+) bytes`)
)

// repeated runs the command of an exchange with the values that its notes ask for, and returns
// the last status.
func repeated(t *testing.T, own *target.Target, x *report.Exchange) (status, out string) {
	t.Helper()
	somewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer somewhere.Close()
	a := own.Target.Auth
	values := map[string]string{
		"TARGET_TOKEN": string(a.Bearer), "TARGET_VECTOR_TOKEN": string(a.VectorBearer), "TARGET_KV_TOKEN": string(a.KVBearer),
		"TARGET_USERNAME": string(a.Basic.Username), "TARGET_PASSWORD": string(a.Basic.Password), "CREDENTIAL": "another",
	}
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), "sh", "-c", x.Curl)
	c.Dir, c.Env = dir, append(os.Environ(), "no_proxy=*")
	for i, note := range x.Notes {
		name, _, _ := strings.Cut(note, ": ")
		if m := bodyNote.FindStringSubmatch(note); m != nil {
			n, _ := strconv.Atoi(m[1])
			if err := os.WriteFile(filepath.Join(dir, "body"), bytes.Repeat([]byte("x"), n), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if strings.HasPrefix(name, "RECEIVER_URL") {
			c.Env = append(c.Env, fmt.Sprintf("%s=%s/%d", name, somewhere.URL, i))
		} else {
			c.Env = append(c.Env, name+"="+values[strings.TrimRight(name, "_0123456789")])
		}
	}
	text, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, x.Curl)
	}
	for _, m := range statusLine.FindAllStringSubmatch(string(text), -1) {
		status = m[1] // after that of 100 Continue
	}
	return status, string(text)
}

// A failure shows the request that produced the list or the value that is wrong, not a later one.
func TestAFailureShowsTheRequestOfWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, ignored string // the target ignores this filter
		shown         string // part of the URL of the exchange that must be shown
	}{
		`The filter by the state "CREATED" gives all that fits and nothing else`: {"/v2/workflows/messageLogs", "state", "state=CREATED"},
		`The filter by message id gives all that fits and nothing else`:          {"/v2/workflows/messageLogs", "messageId", "messageId="},
		`The end date is inclusive`:                                              {"/v2/workflows/messageLogs", "toDate", "toDate="},
		`The queue filtered by run id holds all that fits and nothing else`:      {"/v2/workflows/dlq", "workflowRunId", "workflowRunId="},
		`The queue filtered by label holds all that fits and nothing else`:       {"/v2/workflows/dlq", "label", "label="},
		`The end date of the queue is inclusive`:                                 {"/v2/workflows/dlq", "toDate", "toDate="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judged := fronted(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.URL.Path == c.path {
					query := r.URL.Query()
					query.Del(c.ignored)
					r.URL.RawQuery = query.Encode()
				}
				next.ServeHTTP(w, r)
			}, func(cfg *conformance.Config, _ *httptest.Server) { cfg.Names = []string{name} })
			r := judged.Results[0]
			if r.Verdict != report.Fail || r.Failure.Exchange < 0 {
				t.Fatalf("%s %s, want a failure with an exchange", r.Verdict, r.Detail)
			}
			expect.Contains(t, "URL of the exchange", r.Exchanges[r.Failure.Exchange].URL, c.shown)
		})
	}
}
