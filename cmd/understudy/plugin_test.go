package main

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/mockserver"
)

const pluginHost = "../../conformance/testdata/ratelimit/host.py"

// A plugin in another language is judged through the driver of the target file,
// be it a command or a service.
func TestConformPluginOfAnotherLanguage(t *testing.T) {
	if raced {
		t.Skip("it takes real time")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		skipLoud(t, "python3 is not installed: a plugin in another language is NOT tested")
		return
	}
	u, err := mockserver.Run(mockserver.Config{Log: quietLog()})
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
			to := ownTarget(u.Env(), false)
			to.Drivers["plugin"] = driver
			judged, err := conformance.Run(t.Context(), conformance.Config{Target: to, Profiles: []string{"RATELIMIT"}, Concurrency: 8})
			if err != nil {
				t.Fatal(err)
			}
			for i := range judged.Results {
				r := &judged.Results[i]
				if r.Reason != report.BudgetExhausted && r.Verdict != report.Pass {
					t.Errorf("%s %s: %s %s %s", r.Location, r.Name, r.Verdict, r.Reason, r.Detail)
				}
			}
			if len(judged.Results) < 50 {
				t.Errorf("%d scenarios were judged, want at least 50", len(judged.Results))
			}
		})
	}
}

// startPluginService starts the service that starts hosts.
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
