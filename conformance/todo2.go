package conformance

import (
	"errors"
	"fmt"
	"io"
)

// LoadTarget reads a target file.
func LoadTarget(string) (*Target, error) { return nil, errors.New("not yet") }

// WriteReport writes a report.
func WriteReport(_ string, w io.Writer, r *Report) error {
	count := map[Verdict]int{}
	for i := range r.Results {
		x := &r.Results[i]
		count[x.Verdict]++
		if x.Verdict != Pass && x.Verdict != Observed {
			fmt.Fprintf(w, "%s %s %s\n   %s %s\n", x.Verdict, x.Location, x.Name, x.Reason, x.Detail)
			if x.Verdict == Fail || x.Verdict == Warn || x.Verdict == HarnessError {
				for _, e := range x.Exchanges {
					fmt.Fprintf(w, "      %s -> %d %s\n", e.Curl, e.Status, e.Answer)
				}
			}
		}
	}
	fmt.Fprintln(w, count, r.Duration)
	return nil
}
