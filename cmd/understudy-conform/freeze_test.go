package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-mock/understudy/conformance"
	"github.com/understudy-mock/understudy/conformance/report"
)

// keeping guards the file of keep.
var keeping sync.Mutex

// keep adds a line to the file VERDICTS, if it is set: `make compare` compares two of them.
func keep(t *testing.T, format string, args ...any) {
	t.Helper()
	name := os.Getenv("VERDICTS")
	if name == "" {
		return
	}
	keeping.Lock()
	defer keeping.Unlock()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, format+"\n", args...)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// keepVerdicts keeps the verdict of each scenario against a server.
func keepVerdicts(t *testing.T, server string, r *report.Report) {
	t.Helper()
	for i := range r.Results {
		x := &r.Results[i]
		keep(t, "%s: %s: %s %s", server, x.Name, x.Verdict, x.Reason)
	}
}

// keepKillers keeps the scenarios that fail for a mutant, and their requirements.
func keepKillers(t *testing.T, m *mutant, killers []string, others map[string][]string) {
	t.Helper()
	names := slices.Sorted(slices.Values(killers))
	keep(t, "mutant %s: %s; also %s", m.ID, strings.Join(names, " | "), strings.Join(slices.Sorted(maps.Keys(others)), " "))
}

// TestVerdicts keeps the verdicts against the stand-in, with a manual clock.
func TestVerdicts(t *testing.T) {
	if os.Getenv("VERDICTS") == "" {
		t.Skip("only make compare needs it, which sets VERDICTS to a file")
	}
	judged, err := conformance.Run(t.Context(), ownSuite(t))
	if err != nil {
		t.Fatal(err)
	}
	keepVerdicts(t, "stand-in", judged)
}
