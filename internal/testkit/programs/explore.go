package programs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
)

// Planted is a defect of an example of explore: what finds it, and what the report says.
type Planted struct {
	Name, Fault, Says string
	Faults            int // of the smallest plan that shows it
}

// ShopBugs are the planted bugs of the shops with deliveries.
var ShopBugs = []Planted{
	{"not-idempotent", "repeat", "duplicated effect: payments", 1},
	{"effect-before-lost-answer", "lost-answer", "duplicated effect: payments", 1},
	{"order-assumed", "lost-request", "lost effect: mail", 1},
	{"swallowed-error", "refuse-call", "lost effect: mail", 1},
	{"no-failure-callback", "lost-request", "nobody knows it", 1},
	{"two-faults", "lost-answer", "duplicated effect: payments", 2},
}

// Post makes a call as an application does: to the service, with the token, or to an outside service.
// Each header is "NAME: VALUE". An answer other than 2xx is an error.
func Post(url, token, body string, headers ...string) error {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	for _, h := range append(headers, "Authorization: Bearer "+token) {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s: %s", url, answer.Status, text)
	}
	return err
}

// exploreLimit is the time limit for one search, in real time.
const exploreLimit = 3 * time.Minute

// Explored is a search of `understudy explore` that has ended.
type Explored struct {
	Code     int
	Said     string // all output
	Findings []struct {
		Plan     []struct{ Fault string }
		Breaches []struct{ Text string }
	}
}

// Has reports whether a finding shows a bug.
func (e *Explored) Has(b Planted) bool {
	for _, f := range e.Findings {
		fits := len(f.Plan) == b.Faults && len(f.Breaches) > 0 && strings.Contains(f.Breaches[0].Text, b.Says)
		for _, choice := range f.Plan {
			fits = fits && choice.Fault == b.Fault
		}
		if fits {
			return true
		}
	}
	return false
}

// Explore runs `understudy explore` in the folder of an example with planted bugs.
func Explore(t TB, binary, dir, bugs string, flags []string, command ...string) *Explored {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.json")
	ctx, cancel := context.WithTimeout(context.Background(), effort.Wait(exploreLimit))
	defer cancel()
	args := append([]string{"explore", "--config", "explore.yaml", "--budget", "2m", "--out", "", "--report", "json=" + report}, flags...)
	c := exec.CommandContext(ctx, binary, append(append(args, "--"), command...)...)
	c.Dir, c.Env = dir, append(os.Environ(), "BUGS="+bugs)
	said, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatalf("explore: %v", err)
	}
	out := &Explored{Code: c.ProcessState.ExitCode(), Said: string(said)}
	if text, err := os.ReadFile(report); err == nil {
		if err := json.Unmarshal(text, out); err != nil {
			t.Fatalf("explore: report: %v", err)
		}
	}
	return out
}

// FindBugs explores an example: without bugs nothing is found, however often it is explored, each bug is one finding with as
// many faults as it needs, and one that needs two is not found with one.
func FindBugs(t TB, binary, dir string, bugs []Planted, command ...string) {
	t.Helper()
	for n := range effort.Amount(t, "EXPLORED", 1, 1) - 1 {
		if e := Explore(t, binary, dir, "", []string{"--depth", "1"}, command...); e.Code != 0 {
			t.Errorf("%s without a bug, time %d: exit code %d:\n%s", dir, n+1, e.Code, e.Said)
		}
	}
	if e := Explore(t, binary, dir, "", []string{"--cases", "150"}, command...); e.Code != 0 {
		t.Errorf("%s without a bug: exit code %d:\n%s", dir, e.Code, e.Said)
	}
	for _, b := range bugs {
		single := Explore(t, binary, dir, b.Name, []string{"--depth", "1"}, command...)
		switch {
		case b.Faults == 1 && (single.Code != 1 || !single.Has(b) || len(single.Findings) != 1):
			t.Errorf("%s with %s: exit code %d, %d findings, want one %q by %s:\n%s", dir, b.Name, single.Code, len(single.Findings), b.Says, b.Fault, single.Said)
		case b.Faults == 2:
			if single.Code != 0 {
				t.Errorf("%s with %s: found with one fault: exit code %d:\n%s", dir, b.Name, single.Code, single.Said)
			}
			if e := Explore(t, binary, dir, b.Name, []string{"--cases", "150"}, command...); e.Code != 1 || !e.Has(b) {
				t.Errorf("%s with %s: exit code %d, and no finding %q by two times %s:\n%s", dir, b.Name, e.Code, b.Says, b.Fault, e.Said)
			}
		}
	}
}
