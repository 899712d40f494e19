package target

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/similar"
	"github.com/understudy-mock/understudy/internal/yamlfile"
)

// Known is an entry of a file of expected failures, or of flaky scenarios.
type Known struct {
	ID      string `yaml:"id"`      // REQ-..., the name of a scenario, or both with a colon between; * stands for any characters
	Reason  string `yaml:"reason"`  // reason
	Issue   string `yaml:"issue"`   // URL or number of the issue
	Depends string `yaml:"depends"` // of a client: the failure is that of this dependency, such as PyJWT 2.9.0; * stands for any characters
	Expires string `yaml:"expires"` // flaky only: 2026-12-31
	Line    int    // line in the file
}

// About reports whether the entry names a scenario: by its name or one of its requirements, in
// which * stands for any characters.
func (k *Known) About(name string, requirements []string) bool {
	fits := pattern(k.ID)
	return fits(name) || slices.ContainsFunc(requirements, func(id string) bool { return fits(id) || fits(id+":"+name) })
}

// With reports whether the entry is about a client with these dependencies.
func (k *Known) With(dependencies []string) bool {
	return k.Depends == "" || slices.ContainsFunc(dependencies, pattern(k.Depends))
}

// pattern matches a text in which * stands for any characters.
func pattern(text string) func(string) bool {
	parts := strings.Split(text, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString
}

// Baseline lists the known failures of a target. An expected failure does not fail
// the run. An entry whose scenarios all pass is stale, and so is a flaky one after its date.
type Baseline struct {
	File  string
	Known []Known
	Flaky bool
}

// Load reads the list of entries in File. For the file "" the list is empty.
func (b *Baseline) Load() error {
	if b.File == "" {
		return nil
	}
	text, err := os.ReadFile(b.File)
	if err != nil {
		return fmt.Errorf("%s: %w", map[bool]string{true: "known_flaky", false: "expected_failures"}[b.Flaky], err)
	}
	return b.Parse(text)
}

// Parse reads the text of a baseline.
func (b *Baseline) Parse(text []byte) error {
	file, err := yamlfile.Parse(b.File, text)
	if err != nil || file.Root == nil {
		return err
	}
	keys := []string{"id", "reason", "issue", "depends"}
	if b.Flaky {
		keys = append(keys, "expires")
	}
	if file.Root.Kind != yaml.SequenceNode {
		return file.Fault(file.Root, "", "must be a list of {"+strings.Join(keys, ", ")+"}")
	}
	for i, item := range file.Root.Content {
		at := "[" + strconv.Itoa(i) + "]"
		k := Known{Line: item.Line}
		if item.Kind != yaml.MappingNode {
			return file.Fault(item, at, "invalid value "+yamlfile.Written(at, item)+": must be {"+strings.Join(keys, ", ")+"}")
		}
		for j := 0; j+1 < len(item.Content); j += 2 {
			name, value := item.Content[j], item.Content[j+1]
			if !slices.Contains(keys, name.Value) {
				return file.Fault(name, at+"."+name.Value, "unknown key: must be one of "+strings.Join(keys, ", ")+similar.DidYouMean(name.Value, keys))
			}
			if value.Kind != yaml.ScalarNode {
				return file.Fault(value, at+"."+name.Value, "invalid value "+yamlfile.Written(at, value)+": must be a string")
			}
			*map[string]*string{"id": &k.ID, "reason": &k.Reason, "issue": &k.Issue, "depends": &k.Depends, "expires": &k.Expires}[name.Value] = value.Value
		}
		if err := b.check(file, item, at, k); err != nil {
			return err
		}
		b.Known = append(b.Known, k)
	}
	return nil
}

// check refuses an entry without what it must have.
func (b *Baseline) check(file *yamlfile.File, item *yaml.Node, at string, k Known) error {
	switch {
	case !b.Flaky && k.Reason == "":
		return file.Fault(item, at+".reason", "missing: must say why the failure is expected")
	case k.ID == "":
		return file.Fault(item, at+".id", "missing: must be a requirement such as REQ-DLQ-010, or the name of a scenario")
	case b.Flaky && k.Issue == "":
		return file.Fault(item, at+".issue", "missing: must be the URL or number of the issue that the flaky scenario is followed in")
	case b.Flaky && k.Expires == "":
		return file.Fault(item, at+".expires", "missing: must be a date such as 2026-12-31")
	}
	if _, err := time.Parse(time.DateOnly, k.Expires); b.Flaky && err != nil {
		return file.Fault(yamlfile.Child(item, "expires"), at+".expires", fmt.Sprintf("invalid value %q: must be a date such as 2026-12-31", k.Expires))
	}
	return nil
}
