package client_test

import (
	"os"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/conformance/client"
	"github.com/understudy-mock/understudy/conformance/report"
)

// judged are the verdicts of the suite about the reference client, for the cases of one
// requirement, or of all.
func judged(t *testing.T, s switches, requirement string) []report.Result {
	t.Helper()
	cases, err := client.Cases()
	if err != nil {
		t.Fatal(err)
	}
	lanes := 1
	if requirement == "" {
		lanes = 4
	}
	session, err := client.Start(t.Context(), client.Config{
		Command: "'" + os.Args[0] + "' reference-client --mutant '" + s.mutant + "' --latitude '" + s.latitude + "'", Dialect: "svc", Concurrency: lanes,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close(t.Context())
	var results []report.Result
	for i := range cases {
		if requirement == "" || strings.TrimPrefix(cases[i].Requirement.ID, "REQ-CLI-") == requirement {
			results = append(results, session.Run(t.Context(), &cases[i]))
		}
	}
	return results
}

func TestTheReferenceClientHoldsEveryRequirement(t *testing.T) {
	t.Parallel()
	for _, r := range judged(t, switches{}, "") {
		if r.Verdict != report.Pass && r.Verdict != report.Observed {
			t.Errorf("%s: %s: %s", r.Name, r.Verdict, r.Detail)
		}
	}
}

func TestEachDefectIsFoundByItsOwnRequirement(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.id+" "+m.defect, func(t *testing.T) {
			t.Parallel()
			requirement, _, _ := strings.Cut(m.id, ".")
			for _, r := range judged(t, switches{mutant: m.id}, requirement) {
				if r.Verdict == report.Fail || r.Verdict == report.Warn {
					return
				}
			}
			t.Errorf("no case of REQ-CLI-%s finds it", requirement)
		})
	}
}

func TestEachLatitudeIsRight(t *testing.T) {
	t.Parallel()
	for _, l := range latitudes {
		t.Run(l.does, func(t *testing.T) {
			t.Parallel()
			for _, r := range judged(t, switches{latitude: l.name}, "") {
				if r.Verdict == report.Fail || r.Verdict == report.Inconclusive || r.Verdict == report.HarnessError {
					t.Errorf("%s: %s: %s", r.Name, r.Verdict, r.Detail)
				}
			}
		})
	}
}
