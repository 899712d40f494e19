package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// share is what a module costs: seconds of CPU to compile it, bytes in the program, and
// milliseconds at each start.
type share struct{ seconds, bytes, start float64 }

// BenchmarkBuild builds the program with an empty cache and says which modules pay for what.
// DOCS=FILE writes the table there.
func BenchmarkBuild(b *testing.B) {
	var text string
	for b.Loop() {
		text = modulesTable(b)
	}
	fmt.Fprintln(os.Stderr, text)
	if file := os.Getenv("DOCS"); file != "" {
		writeBetween(b, file, "build", text)
	}
}

func modulesTable(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	graph, program := filepath.Join(dir, "graph.json"), filepath.Join(dir, "understudy")
	output := func(name string, args ...string) string {
		c := exec.CommandContext(b.Context(), name, args...)
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GODEBUG=inittrace=1", "GOCACHE="+filepath.Join(dir, "cache"))
		out, err := c.CombinedOutput()
		if err != nil {
			b.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	modules := map[string]string{}
	list := exec.CommandContext(b.Context(), "go", "list", "-deps", "-f", "{{.ImportPath}} {{with .Module}}{{.Path}}{{else}}standard library{{end}}", ".")
	packages, err := list.Output()
	expect.NoError(b, err)
	for line := range strings.Lines(string(packages)) {
		name, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		modules[name] = module
	}
	shares := map[string]*share{}
	of := func(name string) *share {
		module := modules[name]
		if module == "" {
			module = "link, and what belongs to no package"
		}
		if shares[module] == nil {
			shares[module] = &share{}
		}
		return shares[module]
	}
	output("go", "build", "-debug-actiongraph="+graph, "-o", program, ".")
	var actions []struct {
		Mode, Package   string
		CmdUser, CmdSys float64 // ns
	}
	file, err := os.ReadFile(graph)
	if err == nil {
		err = json.Unmarshal(file, &actions)
	}
	expect.NoError(b, err)
	for _, a := range actions {
		if a.Mode == "link" {
			a.Package = ""
		}
		of(a.Package).seconds += (a.CmdUser + a.CmdSys) / 1e9
	}
	for line := range strings.Lines(output("go", "tool", "nm", "-size", program)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !slices.Contains([]string{"T", "t", "R", "r", "d"}, fields[2]) {
			continue
		}
		size, _ := strconv.ParseFloat(fields[1], 64)
		of(packageOf(fields[3])).bytes += size
	}
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, (\S+) ms clock`).FindAllStringSubmatch(output(program, "version"), -1) {
		ms, _ := strconv.ParseFloat(m[2], 64)
		of(strings.ReplaceAll(m[1], "%2e", ".")).start += ms
	}
	return shareTable(shares)
}

// packageOf is the import path in the name of a symbol, such as "a.test/b.(*T).m" or "type:a.test/b.T".
func packageOf(symbol string) string {
	symbol = strings.TrimLeft(symbol[strings.LastIndex(symbol, ":")+1:], "*[]")
	symbol, _, _ = strings.Cut(symbol, "[")
	slash := strings.LastIndex(symbol, "/") + 1
	name, _, _ := strings.Cut(symbol[slash:], ".")
	return strings.ReplaceAll(symbol[:slash]+name, "%2e", ".")
}

func shareTable(shares map[string]*share) string {
	var text bytes.Buffer
	text.WriteString("\n| module | CPU s | KiB | ms |\n|---|--:|--:|--:|\n")
	var others, all share
	rows := slices.Collect(func(yield func(string) bool) {
		for name, s := range shares {
			all = share{all.seconds + s.seconds, all.bytes + s.bytes, all.start + s.start}
			if s.seconds < 1 && s.bytes < 400<<10 && s.start < 0.5 {
				others = share{others.seconds + s.seconds, others.bytes + s.bytes, others.start + s.start}
			} else if !yield(name) {
				return
			}
		}
	})
	slices.SortFunc(rows, func(x, y string) int { return int(1000 * (shares[y].seconds - shares[x].seconds)) })
	row := func(name string, s share) {
		fmt.Fprintf(&text, "| %s | %.1f | %.0f | %.1f |\n", name, s.seconds, s.bytes/1024, s.start)
	}
	for _, name := range rows {
		row(name, *shares[name])
	}
	row("others", others)
	row("all", all)
	return text.String()
}
