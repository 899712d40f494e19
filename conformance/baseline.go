package conformance

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// known is an entry of a file of expected failures, or of flaky scenarios.
type known struct {
	ID      string `yaml:"id"`      // REQ-..., or the name of a scenario
	Reason  string `yaml:"reason"`  // why
	Issue   string `yaml:"issue"`   // where it is followed
	Expires string `yaml:"expires"` // flaky only: 2026-12-31
	line    int
}

// baseline is what a target is known to fail. A failure that is in it is no news;
// an entry whose scenarios all pass is stale, and so is a flaky one past its date.
type baseline struct {
	file  string
	known []known
	flaky bool
}

// loadBaseline reads a list of entries; "" is an empty one.
func loadBaseline(file string, flaky bool) (*baseline, error) {
	b := &baseline{file: file, flaky: flaky}
	if file == "" {
		return b, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if err := b.parse(text); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return b, nil
}

func (b *baseline) parse(text []byte) error {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return atLine(b.file, err)
	}
	if len(root.Content) == 0 {
		return nil
	}
	list := root.Content[0]
	if list.Kind != yaml.SequenceNode {
		return fault(b.file, list, "", "accepted is a list of {id, reason, issue%s}", map[bool]string{true: ", expires"}[b.flaky])
	}
	for _, item := range list.Content {
		k := known{line: item.Line}
		for i := 0; item.Kind == yaml.MappingNode && i+1 < len(item.Content); i += 2 {
			fields := map[string]*string{"id": &k.ID, "reason": &k.Reason, "issue": &k.Issue}
			if b.flaky {
				fields["expires"] = &k.Expires
			}
			into := fields[item.Content[i].Value]
			if into == nil {
				return fault(b.file, item.Content[i], item.Content[i].Value, "unknown key")
			}
			*into = item.Content[i+1].Value
		}
		if k.ID == "" {
			return fault(b.file, item, "id", "the key is missing: a requirement such as REQ-DLQ-010, or the name of a scenario")
		}
		if b.flaky {
			if k.Issue == "" {
				return fault(b.file, item, "issue", "the key is missing: a flaky scenario links to where it is followed")
			}
			if _, err := time.Parse(time.DateOnly, k.Expires); err != nil {
				return fault(b.file, item, "expires", "%q: accepted is a date such as 2026-12-31", k.Expires)
			}
		}
		b.known = append(b.known, k)
	}
	return nil
}

// about reports whether an entry is about a result.
func (k *known) about(x *Result) bool {
	if k.ID == x.Name {
		return true
	}
	return slices.Contains(x.Requirements, k.ID)
}

// apply marks what was expected and tells what is stale.
func (b *baseline) apply(r *Report, today time.Time) {
	for i := range b.known {
		k := &b.known[i]
		judged, failed := 0, 0
		for j := range r.Results {
			x := &r.Results[j]
			if !k.about(x) {
				continue
			}
			switch x.Verdict {
			case Fail:
				failed++
				x.Expected = true
			case Pass, Warn:
				judged++
			}
		}
		where := fmt.Sprintf("%s:%d: %s", b.file, k.line, k.ID)
		if b.flaky {
			if until, _ := time.Parse(time.DateOnly, k.Expires); today.After(until.AddDate(0, 0, 1)) {
				r.Stale = append(r.Stale, strings.TrimSpace(where+": expired on "+k.Expires))
			}
		} else if judged > 0 && failed == 0 {
			r.Stale = append(r.Stale, where+": it was expected to fail, and passes")
		}
	}
}
