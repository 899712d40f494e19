package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

const (
	resultsBegin = "<!-- results -->\n"
	resultsEnd   = "<!-- /results -->\n"
)

// adapters are the programs of examples/clients for published clients. install returns the command
// of an adapter; each has its known failures in a file beside it.
var adapters = []struct {
	file, known string
	install     func(t *testing.T, dir string) string
}{
	{"js/qstash.mjs", "js/qstash.known.yaml", installedNode},
	{"js/workflow.mjs", "js/workflow.known.yaml", installedNode},
	{"python/qstash_adapter.py", "python/qstash.known.yaml", installedPython},
	{"python/workflow_adapter.py", "python/workflow.known.yaml", installedPython},
	{"go/main.go", "go/known.yaml", builtGo},
}

func installedNode(t *testing.T, dir string) string {
	t.Helper()
	install(t, dir)
	return "node"
}

func installedPython(t *testing.T, dir string) string {
	t.Helper()
	modules := installPython(t, "../../conformance/clients/python") // its requirements.txt has the same packages
	return "env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + modules + " python3"
}

func builtGo(t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "adapter")
	c := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		skipLoud(t, fmt.Sprintf("go build in %s: %v: %s", dir, err, out))
	}
	return program
}

// TestGeneratedClientResults judges the published clients. Each must fail exactly as its file of
// known failures says. The table in examples/clients/README.md shows the results.
func TestGeneratedClientResults(t *testing.T) {
	t.Parallel()
	programs.Need(t, "the published clients are NOT judged, and the table of their results is NOT compared", "node", "npm", "python3")
	binary := build(t)
	var reports []*report.Report
	for _, a := range adapters { // one after the other: a requirement has a time limit
		file := filepath.Join("../../examples/clients", a.file)
		command := a.install(t, filepath.Dir(file))
		if filepath.Ext(file) != ".go" {
			command += " " + file
		}
		reports = append(reports, judge(t, binary, command, filepath.Join("../../examples/clients", a.known)))
	}
	if !t.Failed() {
		expect.GeneratedPart(t, "../../examples/clients/README.md", resultsBegin, resultsEnd, resultTable(reports))
	}
}

// judge runs the suite over a client, and returns its report.
func judge(t *testing.T, binary, command, known string) *report.Report {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	c := exec.CommandContext(t.Context(), binary, "conform", "--client", command, "--expected-failures", known, "--call-timeout", effort.Wait(time.Minute).String(), "--report", "json="+file)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return nil
	}
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Error(err)
	}
	return &r
}

// marks are the verdicts in the table, the worst first.
var marks = []struct {
	verdict report.Verdict
	mark    string
}{{report.Fail, "✗"}, {report.Inconclusive, "?"}, {report.Warn, "!"}, {report.Pass, "✓"}, {report.Observed, "o"}, {report.NotApplicable, ""}}

// resultTable is a row for each requirement that a client was judged by.
func resultTable(reports []*report.Report) string {
	var out strings.Builder
	out.WriteString("\n| requirement | basis |")
	for _, r := range reports {
		fmt.Fprintf(&out, " %s %s |", r.Target.Name, r.Target.Version)
	}
	out.WriteString("\n|---|---|" + strings.Repeat(":-:|", len(reports)) + "\n")
	totals := make([]map[string]int, len(reports))
	for i := range totals {
		totals[i] = map[string]int{}
	}
	for _, q := range reports[0].Requirements {
		row, offered := "", false
		for i, r := range reports {
			mark := markOf(r, q.ID)
			totals[i][mark]++
			offered = offered || mark != ""
			row += " " + mark + " |"
		}
		if offered {
			fmt.Fprintf(&out, "| %s: %s | %s |%s\n", q.ID, strings.ReplaceAll(strings.TrimSuffix(q.Text, "."), "|", "\\|"), q.Basis, row)
		}
	}
	out.WriteString("| held, failed, warned | |")
	for _, n := range totals {
		fmt.Fprintf(&out, " %d, %d, %d |", n["✓"], n["✗"], n["!"])
	}
	return out.String() + "\n\n"
}

// markOf is the worst verdict about one requirement.
func markOf(r *report.Report, id string) string {
	for _, m := range marks {
		if slices.ContainsFunc(r.Results, func(x report.Result) bool { return x.Verdict == m.verdict && slices.Contains(x.Requirements, id) }) {
			return m.mark
		}
	}
	return ""
}

func TestAdaptersUseTheVersionsThatTheTestsOfClientsUse(t *testing.T) {
	t.Parallel()
	pins := regexp.MustCompile(`"@upstash/(?:qstash|workflow)": "[^"]+"|(?m)^(?:qstash|upstash-workflow)==.*|upstash/qstash-go v\S+`)
	for adapter, tests := range map[string]string{"js/package.json": "workflow/package.json", "python/requirements.txt": "python/requirements.txt", "go/go.mod": "qstash-go/go.mod"} {
		t.Run(adapter, func(t *testing.T) {
			t.Parallel()
			have, err := os.ReadFile(filepath.Join("../../examples/clients", adapter))
			expect.NoError(t, err)
			want, err := os.ReadFile(filepath.Join("../../conformance/clients", tests))
			expect.NoError(t, err)
			if a, b := pins.FindAllString(string(have), -1), pins.FindAllString(string(want), -1); len(b) == 0 || !slices.Equal(a, b) {
				t.Errorf("got %q, want those of conformance/clients/%s, %q", a, tests, b)
			}
		})
	}
}

// adapterLines is the promise of the documentation: an adapter is a program of about 100 lines.
const adapterLines = 150

func TestAdaptersAreSmall(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/clients/*/*.*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no adapters found: %v", err)
	}
	for _, file := range files {
		if !slices.Contains([]string{".mjs", ".py", ".go", ".sh"}, filepath.Ext(file)) {
			continue
		}
		text, err := os.ReadFile(file)
		expect.NoError(t, err)
		if n := strings.Count(string(text), "\n"); n >= adapterLines {
			t.Errorf("%s: %d lines, want fewer than %d", file, n, adapterLines)
		}
	}
}
