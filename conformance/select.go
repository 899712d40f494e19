package conformance

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cucumber/godog"
	messages "github.com/cucumber/messages/go/v21"

	"github.com/understudy-mock/understudy/conformance/client"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/features"
	"github.com/understudy-mock/understudy/internal/similar"
	"github.com/understudy-mock/understudy/spec"
)

// picked is a selected scenario.
type picked struct {
	key      string
	file     string
	area     string // publish, dlq ...
	last     bool
	due      bool           // the current pass runs it
	needs    []string       // capabilities
	result   report.Result  // as far as it is known before the run
	judged   *report.Result // of all runs so far; nil: none has ended
	ofClient *client.Case   // nil: a scenario of the features
}

// Listed is a scenario as `conform --list` prints it.
type Listed struct {
	Name, Location, Feature, Rule string
	Tags, Requirements, Profiles  []string
	Basis                         spec.Basis
}

// selection describes, for the report, options that select less than what the target
// claims; nil for none.
func (c *Config) selection() []string {
	var words []string
	add := func(flag string, values ...string) {
		for _, v := range values {
			if strings.ContainsAny(v, " '\"$()*") {
				v = "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
			}
			words = append(words, flag+" "+v)
		}
	}
	claims := c.Target.Profiles
	if len(claims) == 0 {
		claims = target.ProfileNames
	}
	if len(c.Profiles) > 0 && c.Client == nil && slices.ContainsFunc(claims, func(p string) bool { return !slices.Contains(c.Profiles, p) && p != "EXT" }) {
		add("--profile", c.Profiles...)
	}
	if len(c.Basis) > 0 && !(slices.Contains(c.Basis, spec.Stated) && slices.Contains(c.Basis, spec.Implied)) {
		for _, b := range c.Basis {
			add("--basis", string(b))
		}
	}
	add("--area", c.Areas...)
	add("--requirement", c.Requirements...)
	add("--scenario", c.Names...)
	if c.Tags != "" {
		add("--tags", c.Tags)
	}
	return words
}

// flags are the options that change how results are made or judged, for the report.
func (c *Config) flags() []string {
	var words []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{fmt.Sprintf("--repeat %d", c.Repeat), c.Repeat > 1}, {"--strict", c.Strict}, {"--accept-partial", c.Accept}, {fmt.Sprintf("--concurrency %d", c.Concurrency), c.Concurrency > 0},
		{fmt.Sprintf("--seed %d", c.Worlds.Seed), c.Worlds.Count > 0},
	} {
		if f.set {
			words = append(words, f.name)
		}
	}
	for _, b := range c.Basis {
		words = append(words, "--basis "+string(b))
	}
	for _, p := range c.Profiles {
		words = append(words, "--profile "+p)
	}
	return words
}

// List returns every scenario that a configuration selects.
func List(cfg Config) ([]Listed, error) {
	selection, _, err := choose(cfg)
	if err != nil {
		return nil, err
	}
	list := make([]Listed, len(selection))
	for i := range selection {
		r := &selection[i].result
		list[i] = Listed{r.Name, r.Location, r.Feature, r.Rule, r.Tags, r.Requirements, r.Profiles, r.Basis}
	}
	return list, nil
}

// selects reports whether all options except the tags select a scenario. An empty list
// selects all, except that of Basis.
func (c *Config) selects(p *picked) bool {
	return (len(c.Names) == 0 || slices.Contains(c.Names, p.result.Name)) &&
		(len(c.Requirements) == 0 || overlap(c.Requirements, p.result.Requirements)) &&
		(len(c.Areas) == 0 || slices.Contains(c.Areas, p.area)) &&
		(len(c.Profiles) == 0 || overlap(c.Profiles, p.result.Profiles)) &&
		slices.Contains(c.Basis, p.result.Basis) && (c.Worlds.Count > 0 || p.area != "worlds")
}

// scenarios returns the scenarios of all features.
func scenarios(from fs.FS) ([]picked, error) {
	parsed, err := godog.TestSuite{
		Name:    "understudy",
		Options: &godog.Options{Format: "progress", Output: io.Discard, FS: from, Paths: []string{"."}},
	}.RetrieveFeatures()
	if err != nil {
		return nil, fmt.Errorf("%w: features: %w", ErrUsage, err)
	}
	var all []picked
	for _, f := range parsed {
		for _, pickle := range f.Pickles {
			all = append(all, pick(f.Feature, f, pickle))
		}
	}
	return all, nil
}

// baselines reads the files of expected failures and of flaky scenarios. An entry that names
// no scenario is an error.
func (c *Config) baselines(all []picked) (read []*target.Baseline, err error) {
	for _, b := range []*target.Baseline{{File: c.Target.ExpectedFailures}, {File: c.Target.KnownFlaky, Flaky: true}} {
		if err := b.Load(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUsage, err)
		}
		for i := range b.Known {
			k, names := &b.Known[i], []string{}
			if !slices.ContainsFunc(all, func(p picked) bool {
				names = append(append(names, p.result.Name), p.result.Requirements...)
				return k.About(p.result.Name, p.result.Requirements) ||
					slices.ContainsFunc(p.result.Requirements, func(id string) bool { return k.About(report.Unbroken(id), []string{id}) })
			}) {
				return nil, fmt.Errorf("%w: %s:%d: [%d].id: invalid value %q: must be a requirement or the name of a scenario, as `conform --list` prints them, in which * stands for any characters%s", ErrUsage, b.File, k.Line, i, k.ID, similar.DidYouMean(k.ID, names))
			}
		}
		read = append(read, b)
	}
	return read, nil
}

// choose selects the scenarios of a configuration, and reads its baselines. An empty selection
// is an error.
func choose(cfg Config) ([]picked, []*target.Baseline, error) {
	if cfg.FS == nil {
		cfg.FS = features.FS
	}
	wanted, err := parseTags(cfg.Tags)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: tags %q: %w", ErrUsage, cfg.Tags, err)
	}
	if len(cfg.Profiles) == 0 {
		cfg.Profiles = cfg.Target.Profiles
	}
	if len(cfg.Basis) == 0 {
		cfg.Basis = []spec.Basis{spec.Stated, spec.Implied}
		if cfg.Client != nil {
			cfg.Basis = spec.Bases
		}
	}
	profiles := target.ProfileNames
	every, err := scenarios(cfg.FS)
	if cfg.Client != nil {
		profiles = target.ClientProfiles
		every, err = clientScenarios()
	}
	if err != nil {
		return nil, nil, err
	}
	var all []picked
	known, judged := map[string]bool{}, []string{}
	for _, p := range every {
		for _, tag := range p.result.Tags {
			known[tag] = true
		}
		judged = append(judged, p.result.Requirements...)
		if cfg.selects(&p) && wanted(p.result.Tags) {
			all = append(all, p)
		}
	}
	for _, tag := range namesIn(cfg.Tags) {
		if !known[tag] {
			return nil, nil, fmt.Errorf("%w: tags: no scenario has %s; known are those of `conform --list`", ErrUsage, tag)
		}
	}
	for _, id := range cfg.Requirements {
		if !slices.Contains(judged, id) {
			return nil, nil, fmt.Errorf("%w: requirement: no scenario judges %s; known are those of `conform --coverage`%s", ErrUsage, id, similar.DidYouMean(id, judged))
		}
	}
	for _, p := range cfg.Profiles {
		if !slices.Contains(profiles, p) {
			return nil, nil, fmt.Errorf("%w: profile: invalid value %q: must be one of %s", ErrUsage, p, strings.Join(profiles, ", "))
		}
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("%w: no scenario is selected, so there is nothing to judge", ErrUsage)
	}
	baselines, err := cfg.baselines(every)
	return all, baselines, err
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

// syntaxTree is a parsed feature file.
type syntaxTree interface {
	FindRule(scenario string) *messages.Rule
	FindScenario(id string) *messages.Scenario
	FindExample(row string) (*messages.Examples, *messages.TableRow)
}

// pick reads the tags and names of a pickle.
func pick(f *messages.Feature, in syntaxTree, pickle *messages.Pickle) picked {
	file := path.Base(pickle.Uri)
	p := picked{key: pickleKey(pickle), file: file, result: report.Result{Feature: f.Name, Name: pickle.Name}}
	rule, line := place(in, pickle)
	p.result.Rule, p.result.Location = rule, fmt.Sprintf("%s:%d", file, line)
	for _, tag := range pickle.Tags {
		name := tag.Name
		p.result.Tags = append(p.result.Tags, name)
		switch basis := spec.Basis(name[1:]); {
		case strings.HasPrefix(name, "@REQ-"):
			if !slices.Contains(p.result.Requirements, name[1:]) {
				p.result.Requirements = append(p.result.Requirements, name[1:])
			}
			if profile := target.ProfileOf(name[1:]); !slices.Contains(p.result.Profiles, profile) {
				p.result.Profiles = append(p.result.Profiles, profile)
			}
		case strings.HasPrefix(name, "@area-"):
			p.area = name[len("@area-"):]
		case strings.HasPrefix(name, "@cap-"):
			p.needs = append(p.needs, name[len("@cap-"):])
		case name == "@last":
			p.last = true
		case basis == spec.Stated || basis == spec.Implied || basis == spec.Open || basis == spec.Extension:
			p.result.Basis = basis
		}
	}
	return p
}

// place finds the rule and the line of a pickle. With an example, the line is that of the row.
func place(in syntaxTree, pickle *messages.Pickle) (rule string, line int64) {
	scenario, last := pickle.AstNodeIds[0], pickle.AstNodeIds[len(pickle.AstNodeIds)-1]
	line = in.FindScenario(scenario).Location.Line
	if r := in.FindRule(scenario); r != nil {
		rule = r.Name
	}
	if _, row := in.FindExample(last); row != nil {
		line = row.Location.Line
	}
	return rule, line
}

// pickleKey identifies a scenario when the features are parsed again.
func pickleKey(p *messages.Pickle) string {
	var b strings.Builder
	b.WriteString(p.Uri + "\x00" + p.Name)
	for _, s := range p.Steps {
		b.WriteString("\x00" + s.Text)
	}
	return b.String()
}
