package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec"
)

// everything lists all bases, including extensions.
var everything = []spec.Basis{spec.Stated, spec.Implied, spec.Open, spec.Extension}

// judge runs the suite and reports an error for each scenario that does not pass.
func judge(t testing.TB, cfg conformance.Config) *report.Report {
	t.Helper()
	judged, err := conformance.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range judged.Results {
		r := &judged.Results[i]
		if r.Reason == report.DriverMissing && cfg.Target.Drivers["clock"].Kind == "" && slices.Contains(r.Tags, "@needs-driver-clock") {
			continue // scenarios that take minutes need a clock driver
		}
		if r.Verdict != report.Pass && r.Verdict != report.Observed {
			t.Errorf("%s: %s\n  %s %s %s", r.Location, r.Name, r.Verdict, r.Reason, r.Detail)
		}
	}
	return judged
}

// ownSuite is the whole suite against a stand-in in this process, with a manual clock.
func ownSuite(t testing.TB) conformance.Config {
	u := mockserver.RunT(t, mockserver.Config{Dialect: neutral()})
	return conformance.Config{Target: unhurriedTarget(environment(u), true), Basis: everything, SelfTest: true, Plugin: pluginInProcess}
}

// Every scenario passes against a stand-in whose clock the suite moves.
func TestConformOwn(t *testing.T) {
	if !effort.Raced {
		effort.Long(t, "TestConformProcess runs the same scenarios")
	}
	cfg := ownSuite(t)
	if effort.Raced {
		t.Log(effort.Later + "some scenarios take real time")
		cfg.Tags = "not @time-window and not @time-long"
	}
	judged := judge(t, cfg)
	t.Logf("%d scenarios in %s", len(judged.Results), judged.Duration)
}

// BenchmarkConformOwn measures the whole suite; the goal is 10 s on an idle machine with 2 cores.
func BenchmarkConformOwn(b *testing.B) {
	for b.Loop() {
		judged := judge(b, ownSuite(b))
		b.ReportMetric(float64(len(judged.Results))/judged.Duration.Seconds(), "scenarios/s")
	}
}

// The same scenarios pass in real time against a separate process with a data folder, in
// two concurrent runs that share an account. With -short, it is one run that moves the clock.
func TestConformProcess(t *testing.T) {
	effort.Unraced(t, "it takes real time; TestConformOwn looks for races")
	args, runs := []string{"--dialect", "svc", "--data", t.TempDir()}, effort.Amount(t, "RUNS", 1, 2)
	if testing.Short() {
		args = append(args, "--clock", "manual")
	}
	server := serve(t, build(t), args...)
	vars := map[string]string{}
	for _, v := range server.Env {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	var wg sync.WaitGroup
	for range runs {
		wg.Go(func() {
			judged := judge(t, conformance.Config{Target: unhurriedTarget(vars, testing.Short()), Basis: everything, Concurrency: 24, Plugin: pluginInProcess})
			t.Logf("%d scenarios in %s", len(judged.Results), judged.Duration)
		})
	}
	wg.Wait()
}

// An empty or misspelled selection is an error, never a pass.
func TestConformSelectsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--tags", "@sttaed"}, "no scenario has @sttaed"},
		{[]string{"--tags", "@stated and"}, "must be tags such as @stated, joined by and, or, not and parentheses"},
		{[]string{"--tags", "stated"}, `tags "stated": must be tags such as @stated`},
		{[]string{"--profile", "MGS"}, `profile: invalid value "MGS": must be one of MSG, GROUP`},
		{[]string{"--scenario", "Nothing of the kind"}, "no scenario is selected"},
		{[]string{"--requirement", "REQ-XXX-001"}, "requirement: no scenario judges REQ-XXX-001; known are those of `conform --coverage`"},
		{[]string{"--requirement", "req-pub-001"}, `did you mean "REQ-PUB-001"?`},
		{[]string{"--init", "localhost"}, "--init: invalid URL: must be an http or https URL"},
	} {
		var out, errs bytes.Buffer
		code := runProgram(t.Context(), append([]string{"conform"}, c.args...), &out, &errs)
		if code != report.ExitUsage || !strings.Contains(errs.String(), c.want) {
			t.Errorf("conform %q: exit %d, %q; want 2 and %q", c.args, code, errs.String(), c.want)
		}
	}
}

func TestConformList(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := runProgram(t.Context(), []string{"conform", "--list", "--requirement", "REQ-RTY-004"}, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "Without retries there is one attempt") }) || lines[len(lines)-1] != "1 scenarios" {
		t.Errorf("list:\n%s", out.String())
	}
}

// A server that is not a target is an error, never a pass: the exit code and the first line
// report it.
func TestConformAgainstWhatIsNoTarget(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"hangs", func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}, "does not answer"},
		{"a web page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html>welcome</html>"))
		}, "answers with a web page"},
		{"redirects", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://login.test/", http.StatusFound)
		}, "redirects to https://login.test/"},
		{"closes", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "does not answer"},
		{"200 for everything", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }, "this is another service"},
		{"200 without a body", func(http.ResponseWriter, *http.Request) {}, "without JSON"},
		{"500", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "is not well"},
		{"401", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "are the credentials right?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.answer)
			t.Cleanup(server.Close)
			file := filepath.Join(t.TempDir(), "target.yaml")
			text := "apiVersion: conformance/v1\ntarget: {name: x, urls: {base: '" + server.URL + "'}, auth: {bearer: tttt}}\ntiming: {request_timeout: 5s}\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			code := runProgram(t.Context(), []string{"conform", "--target", file}, &out, &errs)
			expect.Equal(t, "exit code", code, report.ExitPreflight)
			expect.Contains(t, "standard error", errs.String(), c.want)
			expect.Equal(t, "lines of errs", strings.Count(errs.String(), "\n"), 1)
		})
	}
}

func TestConcurrencyIsNotNegative(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	code := runProgram(t.Context(), []string{"conform", "--concurrency=-1"}, &out, &errs)
	expect.Equal(t, "exit code", code, report.ExitUsage)
	expect.Equal(t, "standard error", errs.String(), "understudy: --concurrency: invalid value -1: must be an integer of 0 or more\n")
}

// Without credentials the suite has no request to send, so it tries a connection.
func TestConformAgainstNobody(t *testing.T) {
	t.Parallel()
	const address = "127.0.0.1:1" // without a server
	file := filepath.Join(t.TempDir(), "target.yaml")
	text := "apiVersion: conformance/v1\ntarget: {name: x, urls: {base: 'http://" + address + "'}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := runProgram(t.Context(), []string{"conform", "--target", file}, &out, &errs)
	expect.Equal(t, "exit code", code, report.ExitPreflight)
	expect.Equal(t, "standard error", errs.String(), "understudy: preflight failed: http://"+address+" does not answer: dial tcp "+address+": connect: connection refused\n")
}

// A partial implementation, here one that only publishes, does not fail for what it does
// not claim. What it claims and lacks fails.
func TestConformAgainstAPart(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Dialect: neutral()})
	part := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v2/publish/http") || strings.HasPrefix(r.URL.Path, "/_understudy/") {
			u.ServeHTTP(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(part.Close)
	own := unhurriedTarget(environment(u), true)
	own.Target.URLs = target.URLs{Base: part.URL}
	delete(own.Drivers, "group")
	delete(own.Drivers, "run")
	delete(own.Drivers, "pause")
	delete(own.Drivers, "search")
	judged, err := conformance.Run(t.Context(), conformance.Config{Target: own})
	if err != nil {
		t.Fatal(err)
	}
	for i := range judged.Results {
		r := &judged.Results[i]
		publishing := strings.HasPrefix(r.Location, "publish.feature") || strings.HasPrefix(r.Location, "webhook.feature") || strings.HasPrefix(r.Location, "retry.feature")
		if publishing && r.Verdict != report.Pass && !strings.Contains(r.Detail, "names no driver") {
			t.Errorf("%s %s: %s %s", r.Location, r.Name, r.Verdict, r.Detail)
		}
		if r.Verdict == report.Fail && !strings.HasPrefix(r.Location, "auth.feature") {
			t.Errorf("%s %s fails, though the target does not claim it: %s", r.Location, r.Name, r.Detail)
		}
	}
	own.Profiles, own.Capabilities = []string{"MSG", "WF-READ"}, map[string]string{"publish-query-config": "false", "flow-resume": "true"}
	claimed, err := conformance.Run(t.Context(), conformance.Config{Target: own})
	if err != nil {
		t.Fatal(err)
	}
	if code := claimed.ExitCode(); code != report.ExitFailed {
		t.Errorf("what is claimed and missing: exit %d; want 1", code)
	}
	for i := range claimed.Results {
		r := &claimed.Results[i]
		if denied := slices.Contains(r.Tags, "@cap-publish-query-config"); denied != (r.Detail == "the target file says: capabilities.publish-query-config: false") || denied && r.Verdict != report.NotApplicable {
			t.Errorf("%s %s: %s %s", r.Location, r.Name, r.Verdict, r.Detail)
		}
	}
}

// Without a target, the suite starts the server and the rate-limit plugin as processes.
// Reports are written to files, and unknown formats are refused before anything runs.
func TestConformReports(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"conform", "--requirement", "REQ-RTY-004", "--requirement", "REQ-RLP-005"}
	for _, format := range report.Formats() {
		args = append(args, "--report", format+"="+filepath.Join(dir, format))
	}
	if out, err := exec.CommandContext(t.Context(), build(t), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, format := range report.Formats() {
		text, err := os.ReadFile(filepath.Join(dir, format))
		expect.Nil(t, "reading the report "+format, err)
		if slices.Contains([]string{"github", "terminal"}, format) {
			continue // these formats do not name passed requirements
		}
		if want := "RTY-004"; !bytes.Contains(text, []byte(want)) {
			t.Errorf("report %s: got %.200s, want it to contain %s", format, text, want)
		}
	}
	var out, errs bytes.Buffer
	if code := runProgram(t.Context(), []string{"conform", "--report", "pdf=x"}, &out, &errs); code != report.ExitUsage {
		t.Errorf("an unknown format: exit %d", code)
	}
}

// With a relay, nothing connects to the suite: it polls the relay.
func TestConformThroughARelay(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it takes real time; TestConformOwn looks for races")
	u := mockserver.RunT(t, mockserver.Config{Dialect: neutral()})
	relay := httptest.NewServer(&receiver.Relay{Token: "relay-secret"})
	t.Cleanup(relay.Close)
	own := unhurriedTarget(environment(u), true)
	own.Receiver.Mode = "relay"
	own.Receiver.Relay.URL, own.Receiver.Relay.Token = relay.URL, "relay-secret"
	judged := judge(t, conformance.Config{Target: own, Profiles: []string{"MSG", "GROUP"}, SelfTest: true})
	if code := judged.ExitCode(); code != 0 {
		t.Errorf("exit %d", code)
	}
	own.Receiver.Relay.Token = "wrong"
	if _, err := conformance.Run(t.Context(), conformance.Config{Target: own}); !errors.Is(err, conformance.ErrPreflight) || !strings.Contains(err.Error(), "is its token right?") {
		t.Errorf("a wrong token: %v", err)
	}
}
