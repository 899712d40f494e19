package main

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	algorithm "github.com/understudy-mock/understudy/engine/ratelimit"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/ratelimit"
)

const pluginHost = "../../conformance/testdata/ratelimit/host.py"

// A plugin in another language is judged through the driver of the target file, which is a
// command or a service.
func TestConformPluginOfAnotherLanguage(t *testing.T) {
	effort.Unraced(t, "it takes real time")
	const python = "python3"
	programs.Need(t, "a plugin in another language is NOT tested", "python3")
	u, err := mockserver.Run(mockserver.Config{Log: quietLog(), Dialect: neutral()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Close() })
	for name, driver := range map[string]target.Driver{
		"a command": {Kind: "exec", Command: []string{python, pluginHost, "{{config}}", "{{upstream}}"}},
		"a service": {Kind: "http", URL: startPluginService(t, python), Body: `{"config": {{config}}, "upstream": "{{upstream}}"}`, Result: "/url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := unhurriedTarget(environment(u), false)
			to.Drivers["plugin"] = driver
			judged, err := conformance.Run(t.Context(), conformance.Config{Target: to, Profiles: []string{"RATELIMIT"}, Concurrency: 8})
			if err != nil {
				t.Fatal(err)
			}
			for i := range judged.Results {
				r := &judged.Results[i]
				if r.Verdict != report.Pass {
					t.Errorf("%s %s: %s %s %s", r.Location, r.Name, r.Verdict, r.Reason, r.Detail)
				}
			}
			if len(judged.Results) < 35 {
				t.Errorf("%d scenarios were judged, want at least 35", len(judged.Results))
			}
		})
	}
}

// A window that ends between two requests of a scenario is not a fault of the plugin.
func TestConformWindowEndsWithinAScenario(t *testing.T) {
	effort.Unraced(t, "it takes real time; TestConformOwn looks for races")
	effort.Unraced(t, "takes minutes with the race detector")
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Dialect: neutral()})
	judged := judge(t, conformance.Config{
		Target: unhurriedTarget(environment(u), true), Basis: everything, Profiles: []string{"RATELIMIT"}, Plugin: endingWindow,
	})
	if len(judged.Results) < 35 {
		t.Errorf("%d scenarios were judged, want at least 35", len(judged.Results))
	}
}

// endingWindow hosts the plugin as if a long window ended just before the first
// request that it would deny.
func endingWindow(ctx context.Context, config []byte, upstream string) (string, func(), error) {
	limited, stop, err := pluginInProcess(ctx, config, upstream)
	if err != nil {
		return "", nil, err
	}
	cfg, err := ratelimit.Parse(config)
	if err != nil {
		return "", nil, err
	}
	var addresses [2]*url.URL
	for i, text := range []string{limited, upstream} {
		if addresses[i], err = url.Parse(text); err != nil {
			return "", nil, err
		}
	}
	limit := cfg.Strategy[0].Limiter
	long := !strings.HasSuffix(limit.Window, "00ms") || limit.Window == "600000ms"
	var requests atomic.Int64
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		past := requests.Add(1) == limit.Tokens+1 && long && limit.Algorithm != algorithm.Bucket
		r.SetURL(addresses[map[bool]int{true: 1}[past]])
	}}
	server := httptest.NewServer(proxy)
	return server.URL, func() { server.Close(); stop() }, nil
}

// CheckTarget distinguishes a plugin driver that works from one that does not.
func TestCheckTargetTriesThePlugin(t *testing.T) {
	t.Parallel()
	const python = "python3"
	programs.Need(t, "a plugin in another language is NOT tested", "python3")
	u := mockserver.RunT(t, mockserver.Config{Dialect: neutral()})
	for _, c := range []struct {
		name   string
		driver target.Driver
		works  bool
	}{
		{"a host that serves", target.Driver{Kind: "exec", Command: []string{python, pluginHost, "{{config}}", "{{upstream}}"}}, true},
		{"a command that prints no address", target.Driver{Kind: "exec", Command: []string{python, "-c", "print('ready')"}}, false},
		{"a command that refuses every configuration", target.Driver{Kind: "exec", Command: []string{python, "-c", "exit(3)"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			to := unhurriedTarget(environment(u), true)
			to.Drivers = map[string]target.Driver{"clock": to.Drivers["clock"], "plugin": c.driver}
			list, err := conformance.CheckTarget(t.Context(), conformance.Config{Target: to})
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(list, func(one conformance.Checked) bool { return one.Entry == "drivers.plugin" })
			if at < 0 {
				t.Fatal("drivers.plugin: not tried")
			}
			if got := list[at]; !got.Tried || got.Works != c.works {
				t.Errorf("got %+v, want tried, and works %v", got, c.works)
			}
		})
	}
}

// A profile that the target does not claim is nothing that does not work.
func TestCheckTargetDoesNotTryWhatIsNotClaimed(t *testing.T) {
	t.Parallel()
	effort.Unraced(t, "it looks for requests, not for races")
	to := unhurriedTarget(environment(mockserver.RunT(t, mockserver.Config{Dialect: neutral()})), true)
	to.Profiles = []string{"MSG", "WF-READ"}
	list, err := conformance.CheckTarget(t.Context(), conformance.Config{Target: to})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(list, func(one conformance.Checked) bool { return one.Entry == "drivers.group" })
	if at < 0 {
		t.Fatal("drivers.group: missing")
	}
	want := conformance.Checked{Entry: "drivers.group", Detail: "the target does not claim the profile GROUP"}
	if list[at] != want {
		t.Errorf("got %+v, want %+v", list[at], want)
	}
}

// startPluginService starts the service that runs plugin hosts, and returns its URL.
func startPluginService(t *testing.T, python string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), python, pluginHost, "--admin", "0")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// Windows are judged by requests that fell into them, however slow the storage is: mutants of the
// algorithms fail, and the plugin itself passes.
func TestConformJudgesWindowsOfASlowStorage(t *testing.T) {
	effort.Unraced(t, "it takes real time")
	effort.Long(t, "windows pass in real time")
	t.Parallel()
	const latency = 100 * time.Millisecond
	slow := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			timer := time.NewTimer(latency)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			return next.RoundTrip(r)
		})
	}
	healthy := mutant{ID: "none", Build: func(func()) mutantParts { return mutantParts{} }}
	for _, m := range append(allMutants(), healthy) {
		if !slices.Contains([]string{"none", "RLP-011.1", "RLP-012.1", "RLP-012.2"}, m.ID) {
			continue
		}
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			parts := m.Build(func() {})
			parts.Storage = slow
			cfg := conformance.Config{
				Target: unhurriedTarget(environment(mockserver.RunT(t, mockserver.Config{Dialect: neutral()})), true), Profiles: []string{"RATELIMIT"}, Tags: "@time-window and @last", Plugin: mutatedPlugin(parts),
			}
			if m.Breaks() != "" {
				cfg.Requirements = []string{"REQ-" + m.Breaks()}
			}
			judged, err := conformance.Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			none(t, judged, report.Inconclusive, report.HarnessError)
			expect.Equal(t, "whether it fails", len(failed(judged)) > 0, m.Breaks() != "")
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A plugin may admit everything while its storage fails, so nothing follows for its limits.
func TestConformDoesNotJudgeAPluginWithoutItsStorage(t *testing.T) {
	t.Parallel()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	t.Cleanup(broken.Close)
	to := unhurriedTarget(environment(mockserver.RunT(t, mockserver.Config{Dialect: neutral()})), true)
	delete(to.Drivers, "account")
	to.Target.URLs.KV = broken.URL
	judged, err := conformance.Run(t.Context(), conformance.Config{Target: to, Profiles: []string{"RATELIMIT"}, Requirements: []string{"REQ-RLP-002"}, Plugin: pluginInProcess})
	if err != nil {
		t.Fatal(err)
	}
	none(t, judged, report.Fail, report.Warn, report.HarnessError)
	expect.Equal(t, "scenarios whose plugin lacked its storage", reasons(judged)[report.TransportFailed], 2)
}
