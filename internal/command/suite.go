package command

import "github.com/understudy-mock/understudy/spec"

// SuiteCommands are the commands of the contract test suite. Both programs have
// them: one runs them, the other starts that one.
type SuiteCommands struct {
	Conform Conform `cmd:"" help:"Run the contract test suite against a target, or against a stand-in of its own."`
	Report  Report  `cmd:"" help:"Merge JSON reports of the suite, or compare two."`
}

// Suite runs the commands of the suite.
type Suite interface {
	Conform(c *Conform) error
	Merge(c *Merge) error
	Diff(c *Diff) error
}

// Conform has the flags of conform.
type Conform struct {
	Target        string       `placeholder:"FILE" help:"Target file; without one a stand-in of our own is started and judged."`
	Profile       []string     `placeholder:"P" help:"Only these profiles: MSG, GROUP, WF-READ, WF-RECOVER, FLOW, USAGE, INDEX, RATELIMIT, EXT."`
	Basis         []spec.Basis `enum:"stated,implied,open,extension" help:"Which requirements: stated, implied, open, extension. Default: stated and implied."`
	Strict        bool         `help:"An implied requirement that does not hold fails."`
	Tags          string       `placeholder:"EXPR" help:"Only scenarios whose tags fit, such as '@area-dlq and not @time-long'."`
	Area          []string     `placeholder:"AREA" help:"Only scenarios of these areas: auth, dlq, publish and so on."`
	Requirement   []string     `placeholder:"ID" help:"Only scenarios of these requirements."`
	Scenario      []string     `sep:"none" placeholder:"NAME" help:"Only the scenarios with these names."`
	AcceptPartial bool         `help:"Exit 0 although something could not be judged."`
	Report        []string     `placeholder:"FORMAT=FILE" help:"Write a report; repeatable. Formats: badge, cucumber, html, json, junit, yaml."`
	Concurrency   int          `help:"Scenarios at a time; 0: as the target file says."`
	Clock         string       `default:"manual" enum:"manual,real" help:"Clock of our own stand-in."`
	List          bool         `help:"List the scenarios that would run, and stop."`
	ListSteps     bool         `help:"List the steps that a scenario can use, and stop."`
	DryRun        bool         `help:"Read everything, select, and stop before the first request."`
	CheckTarget   bool         `help:"Try every driver and binding of the target file once, say what each did, and stop."`
	Coverage      bool         `help:"List every requirement and whether it is judged; with --target, after the run, by the run."`
	Init          string       `placeholder:"URL" help:"Ask the server at URL a few harmless questions, write a commented target file to --target or standard output, and stop. TARGET_TOKEN and the other variables of that file are sent."`
	Explain       string       `placeholder:"ID" help:"Print a requirement: the sentence of the document, its scenarios, the mutants that prove them; and stop."`
}

// Run is what kong calls.
func (c *Conform) Run(s Suite) error { return s.Conform(c) }

// Report works on reports that `conform --report json=FILE` has written.
type Report struct {
	Merge Merge `cmd:"" help:"Put JSON reports of one target together, such as one of each profile."`
	Diff  Diff  `cmd:"" help:"Compare two JSON reports, regressions first; exit 1 when there are any."`
}

// Merge makes one report of several.
type Merge struct {
	Files  []string `arg:"" name:"file" help:"JSON reports."`
	Report []string `placeholder:"FORMAT=FILE" help:"Write a report; repeatable. Formats: badge, cucumber, html, json, junit, yaml."`
}

// Run is what kong calls.
func (c *Merge) Run(s Suite) error { return s.Merge(c) }

// Diff compares two reports.
type Diff struct {
	Before string `arg:"" help:"The older JSON report."`
	After  string `arg:"" help:"The newer JSON report."`
	Output string `short:"o" default:"table" enum:"table,json" help:"Form of the output: table or json."`
}

// Run is what kong calls.
func (c *Diff) Run(s Suite) error { return s.Diff(c) }
