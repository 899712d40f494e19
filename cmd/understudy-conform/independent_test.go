package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/proxy"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/spec"
)

// independent is a server that was written from the interface document alone.
const independent = "../../conformance/testdata/independent/server.py"

// startIndependent starts the independent server with switches and returns the target file
// that the server writes.
func startIndependent(t *testing.T, switches ...string) (targetFile string) {
	t.Helper()
	targetFile = filepath.Join(t.TempDir(), "target.yaml")
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	server := exec.CommandContext(ctx, "python3", append([]string{"-B", independent, "--target", targetFile}, switches...)...)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = server.Wait() // it was killed
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "listening on ") {
		t.Fatalf("the independent server printed %q: %v", line, err)
	}
	return targetFile
}

// proxied starts a proxy in front of each host of a target file. It returns a target file
// with the URLs of the proxies and more time on a slow or busy machine, and a function that
// returns the findings of the proxies.
func proxied(t *testing.T, targetFile string) (file string, found func() []proxy.Finding) {
	t.Helper()
	loaded, err := target.Load(targetFile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(targetFile)
	if err != nil {
		t.Fatal(err)
	}
	var watchers []*proxy.Proxy
	seen := map[string]bool{}
	for _, address := range loaded.Target.URLs.ByName() {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		host := u.Scheme + "://" + u.Host
		if seen[host] {
			continue
		}
		seen[host] = true
		watcher, front := watching(t, host, loaded.Bindings)
		watchers = append(watchers, watcher)
		text = bytes.ReplaceAll(text, []byte(host), []byte(front))
	}
	text = bytes.Replace(text, []byte("timing: {"), fmt.Appendf(nil, "timing: {scale: %g, ", effort.Wait(time.Second).Seconds()), 1)
	file = filepath.Join(t.TempDir(), "proxied.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, func() (all []proxy.Finding) {
		for _, w := range watchers {
			all = append(all, w.Findings()...)
		}
		return all
	}
}

// conformAgainst runs the binary against a target as users do: as a process, in real time.
// It returns the exit code and the output.
func conformAgainst(t *testing.T, binary, targetFile string, flags ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(15*time.Minute))
	defer cancel()
	run := exec.CommandContext(ctx, binary, append([]string{"conform", "--target", targetFile}, flags...)...)
	out, err := run.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatalf("%v: %s", err, out)
	}
	return run.ProcessState.ExitCode(), string(out)
}

// TestIndependent checks that the independent server passes, whatever it does where the
// interface document says nothing. oddities.py names the gap in the document that allows
// each switch. MUTANTS=full tries every switch alone, and slow runs.
func TestIndependent(t *testing.T) {
	t.Parallel()
	variants := [][]string{{}}
	if os.Getenv("MUTANTS") == "full" {
		programs.Need(t, "the suite is NOT tried against the independent server", "python3")
		list, err := exec.CommandContext(t.Context(), "python3", "-B", independent, "--list").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(list)) {
			variants = append(variants, []string{strings.TrimSuffix(line, "\n")})
		}
		variants = append(variants, []string{"--rps=20"}, []string{"--all", "--rps=20"})
	}
	acceptIndependent(t, variants...)
}

// TestIndependentWithAllOddities starts with TestIndependent: each takes minutes, and mostly waits.
func TestIndependentWithAllOddities(t *testing.T) {
	t.Parallel()
	acceptIndependent(t, []string{"--all"})
}

// acceptIndependent checks that independent servers with these switches pass.
func acceptIndependent(t *testing.T, variants ...[]string) {
	t.Helper()
	effort.Unraced(t, "it looks for verdicts, not for races")
	programs.Need(t, "the suite is NOT tried against the independent server", "python3")
	binary := build(t)
	for _, switches := range variants {
		t.Run(fmt.Sprintf("the server passes with %q", switches), func(t *testing.T) {
			if len(variants) > 1 {
				t.Parallel()
			}
			file, found := proxied(t, startIndependent(t, switches...))
			kept := filepath.Join(t.TempDir(), "report.json")
			code, out := conformAgainst(t, binary, file, "--report", "json="+kept)
			if judged, err := readReport(kept); err == nil {
				keepVerdicts(t, "independent "+strings.Join(switches, " "), judged)
			}
			switch {
			case code == 4 && !strings.Contains(out, "FAIL  ") && strings.Contains(out, "UNRELIABLE  "): // on a machine with much other work, a scenario may fail once
				t.Logf("nothing failed twice; it printed:\n%s", out)
			case code != 0:
				t.Errorf("exit code: got %d, want 0; it printed:\n%s", code, out)
			}
			for _, f := range found() {
				t.Errorf("the proxy found %s", f.String())
			}
		})
	}
}

// TestIndependentOddities checks that the independent server has at least 25 switches.
func TestIndependentOddities(t *testing.T) {
	t.Parallel()
	programs.Need(t, "the oddities of the independent server are NOT counted", "python3")
	list, err := exec.CommandContext(t.Context(), "python3", "-B", independent, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "=")
		names[name] = true
	}
	if len(names) < 25 {
		t.Errorf("switches: got %d, want at least 25", len(names))
	}
}

// withoutPrefix returns the target file of an independent server with a brand, without its
// header prefix.
func withoutPrefix(t *testing.T, brand string) target.Target {
	t.Helper()
	programs.Need(t, "the search for a brand's prefix is NOT tested", "python3")
	loaded, err := target.Load(startIndependent(t, "--brand="+brand))
	if err != nil {
		t.Fatal(err)
	}
	loaded.Bindings.BrandPrefix = ""
	loaded.Bindings.Publish["token_query"] = strings.ToLower(brand) + "_token" // a known brand may have another
	return *loaded
}

// TestBrandPrefixIsFound checks that a probe finds a known header prefix that the target
// file does not name, and that scenarios are inconclusive with an unknown one.
func TestBrandPrefixIsFound(t *testing.T) {
	t.Parallel()
	type outcome struct {
		brand   string
		verdict report.Verdict
		reason  report.Reason
	}
	cases := []outcome{{"Zebra", report.Inconclusive, report.BindingMissing}}
	for _, d := range spec.BuiltInDialects() {
		cases = append(cases, outcome{strings.TrimSuffix(d.HeaderPrefix, "-"), report.Pass, ""})
	}
	for _, c := range cases {
		t.Run("the prefix "+c.brand+" ends as "+string(c.verdict), func(t *testing.T) {
			t.Parallel()
			judged, err := conformance.Run(t.Context(), conformance.Config{
				Target: withoutPrefix(t, c.brand), Requirements: []string{"REQ-PUB-006", "REQ-RTY-002", "REQ-RST-005", "REQ-GRP-003"},
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range judged.Results {
				r := &judged.Results[i]
				if r.Verdict != c.verdict || r.Reason != c.reason {
					t.Errorf("%s %s: got %s %s (%s), want %s %s", r.Location, r.Name, r.Verdict, r.Reason, r.Detail, c.verdict, c.reason)
				}
			}
		})
	}
}

// TestDriverAnswers checks that the suite validates the answers of drivers before it uses them.
func TestDriverAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, made, want string }{
		{"an empty id addresses nothing", `{"id": ""}`, "driver search: the answer has no text at /id"},
		{"a missing id addresses nothing", `{}`, "driver search: the answer has no text at /id"},
		{"an id that is an object addresses nothing", `{"id": {}}`, "driver search: the answer has no text at /id"},
		{"a failed lookup does not prove absence", `{"id": "one"}`, "driver search_look"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var emptied atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case r.URL.Path == "/made":
					_, _ = io.WriteString(w, c.made)
				case r.URL.Path == "/looked":
					w.WriteHeader(http.StatusInternalServerError)
				case r.URL.Path == "/info":
					_, _ = io.WriteString(w, `{"result": {}}`)
				case r.Method == http.MethodDelete:
					emptied.Store(emptied.Load() || r.URL.Path == "/v2/search/")
					_, _ = io.WriteString(w, `"gone"`)
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			defer server.Close()
			var to target.Target
			to.Target.Name, to.Target.URLs.Base = "stub", server.URL
			to.Target.Auth.Basic.Username, to.Target.Auth.Basic.Password = "user", "password"
			to.Bindings.BrandPrefix = "Svc"
			to.Timing.SettleBudget = time.Second
			to.Drivers = map[string]target.Driver{
				"search":      {Kind: "http", URL: "{{base}}/made", Result: "/id"},
				"search_look": {Kind: "http", Method: http.MethodGet, URL: "{{base}}/looked?id={{id}}"},
			}
			judged, err := conformance.Run(t.Context(), conformance.Config{Target: to, Profiles: []string{"INDEX"}, Requirements: []string{"REQ-SRC-002"}, SkipCanary: true})
			if err != nil {
				t.Fatal(err)
			}
			for i := range judged.Results {
				r := &judged.Results[i]
				expect.True(t, fmt.Sprintf("%s: r.Verdict != report.Pass", r.Name), r.Verdict != report.Pass)
				expect.True(t, fmt.Sprintf("%s: r.Verdict != report.Fail", r.Name), r.Verdict != report.Fail)
				expect.Contains(t, fmt.Sprintf("%s: r.Detail", r.Name), r.Detail, c.want)
			}
			if emptied.Load() {
				t.Error("an index without an id was deleted")
			}
		})
	}
}
