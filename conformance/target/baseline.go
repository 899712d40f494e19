package target

import (
	"os"
	"time"

	"gopkg.in/yaml.v3"
)

// Known is an entry of a file of expected failures, or of flaky scenarios.
type Known struct {
	ID      string `yaml:"id"`      // REQ-..., or the name of a scenario
	Reason  string `yaml:"reason"`  // why
	Issue   string `yaml:"issue"`   // where it is followed
	Expires string `yaml:"expires"` // flaky only: 2026-12-31
	Line    int    // of the file
}

// Baseline is what a target is known to fail. A failure that is in it is no news;
// an entry whose scenarios all pass is stale, and so is a flaky one past its date.
type Baseline struct {
	File  string
	Known []Known
	Flaky bool
}

// LoadBaseline reads a list of entries; "" is an empty one.
func LoadBaseline(file string, flaky bool) (*Baseline, error) {
	b := &Baseline{File: file, Flaky: flaky}
	if file == "" {
		return b, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := b.Parse(text); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Baseline) Parse(text []byte) error {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return atLine(b.File, err)
	}
	if len(root.Content) == 0 {
		return nil
	}
	list := root.Content[0]
	if list.Kind != yaml.SequenceNode {
		return fault(b.File, list, "", "accepted is a list of {id, reason, issue%s}", map[bool]string{true: ", expires"}[b.Flaky])
	}
	for _, item := range list.Content {
		k := Known{Line: item.Line}
		for i := 0; item.Kind == yaml.MappingNode && i+1 < len(item.Content); i += 2 {
			fields := map[string]*string{"id": &k.ID, "reason": &k.Reason, "issue": &k.Issue}
			if b.Flaky {
				fields["expires"] = &k.Expires
			}
			into := fields[item.Content[i].Value]
			if into == nil {
				return fault(b.File, item.Content[i], item.Content[i].Value, "unknown key")
			}
			*into = item.Content[i+1].Value
		}
		if k.ID == "" {
			return fault(b.File, item, "id", "the key is missing: a requirement such as REQ-DLQ-010, or the name of a scenario")
		}
		if b.Flaky {
			if k.Issue == "" {
				return fault(b.File, item, "issue", "the key is missing: a flaky scenario links to where it is followed")
			}
			if _, err := time.Parse(time.DateOnly, k.Expires); err != nil {
				return fault(b.File, item, "expires", "%q: accepted is a date such as 2026-12-31", k.Expires)
			}
		}
		b.Known = append(b.Known, k)
	}
	return nil
}
