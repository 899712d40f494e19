package report

import (
	"io"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/spec"
)

// published is the short form of a report, for a registry of implementations.
type published struct {
	Kind string `yaml:"kind"`
	Spec struct {
		Revision string `yaml:"revision"`
		SHA256   string `yaml:"sha256"`
	} `yaml:"spec"`
	Suite struct {
		Version        string `yaml:"version"`
		Commit         string `yaml:"commit"`
		RequirementSet string `yaml:"requirement_set"`
	} `yaml:"suite"`
	Implementation struct {
		Name    string `yaml:"name"`
		Version string `yaml:"version"`
	} `yaml:"implementation"`
	Run struct {
		ID       string `yaml:"id"`
		Started  string `yaml:"started"`
		Duration string `yaml:"duration"`
		Mode     string `yaml:"mode"`
		Receiver string `yaml:"receiver"`
	} `yaml:"run"`
	Claimed          []string            `yaml:"claimed"`
	Selection        []string            `yaml:"selection"`
	Flags            []string            `yaml:"flags"`
	Bindings         map[string]string   `yaml:"bindings"`
	TargetFile       string              `yaml:"target_file"`
	Verdict          string              `yaml:"verdict"`
	Profiles         []publishedProfile  `yaml:"profiles"`
	Failed           []publishedOpen     `yaml:"failed,omitempty"`
	Observations     map[string][]string `yaml:"observations"`
	ExpectedFailures []string            `yaml:"expected_failures"`
}

type publishedProfile struct {
	Name         string          `yaml:"name"`
	Result       string          `yaml:"result"`
	Stated       map[string]int  `yaml:"stated"`
	Implied      map[string]int  `yaml:"implied"`
	Inconclusive []publishedOpen `yaml:"inconclusive,omitempty"`
}

type publishedOpen struct {
	Requirement string `yaml:"req"`
	Scenario    string `yaml:"scenario"`
	Reason      Reason `yaml:"reason,omitempty"`
	Detail      string `yaml:"detail"`
}

// writeYAML writes the publishable form.
func writeYAML(w io.Writer, r *Report) error {
	p := published{Kind: "ConformanceReport", Verdict: r.verdictLine(), Observations: r.Observations, ExpectedFailures: []string{}}
	if register, err := spec.LoadRequirements(); err == nil {
		p.Spec.Revision, p.Spec.SHA256, p.Suite.RequirementSet = register.Revision, register.Document.SHA256, register.Revision
	}
	p.Claimed, p.Selection, p.Flags, p.Bindings, p.TargetFile = r.Claimed, r.Selection, r.Flags, r.Bindings, r.TargetFile
	p.Suite.Version, p.Suite.Commit = r.Suite, r.Commit
	p.Implementation.Name, p.Implementation.Version = r.Target.Name, r.Target.Version
	p.Run.ID, p.Run.Started, p.Run.Duration = r.Run, r.Started.UTC().Format(time.RFC3339), r.Duration.String()
	p.Run.Mode, p.Run.Receiver = r.Target.Mode, r.Target.Receiver
	for _, profile := range r.Profiles {
		p.Profiles = append(p.Profiles, r.publishedProfile(profile))
	}
	for i := range r.Results {
		x := &r.Results[i]
		if x.Verdict == Fail || x.Verdict == Unreliable || x.Verdict == HarnessError {
			p.Failed = append(p.Failed, open(x))
		}
		if x.Expected {
			p.ExpectedFailures = append(p.ExpectedFailures, x.Name)
		}
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(p); err != nil {
		return err
	}
	return encoder.Close()
}

func open(x *Result) publishedOpen {
	id := ""
	if len(x.Requirements) > 0 {
		id = x.Requirements[0]
	}
	return publishedOpen{id, x.Name, x.Reason, x.Detail}
}

func (r *Report) publishedProfile(profile Profile) publishedProfile {
	p := publishedProfile{Name: profile.Name, Result: profile.Verdict, Stated: map[string]int{}, Implied: map[string]int{}}
	for i := range r.Results {
		x := &r.Results[i]
		if len(x.Profiles) == 0 || x.Profiles[0] != profile.Name {
			continue
		}
		switch x.Basis {
		case spec.Stated:
			p.Stated[string(x.Verdict)]++
		case spec.Implied:
			p.Implied[string(x.Verdict)]++
		}
		if x.Verdict == Inconclusive {
			p.Inconclusive = append(p.Inconclusive, open(x))
		}
	}
	return p
}
