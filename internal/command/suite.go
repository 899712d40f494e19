package command

import "github.com/understudy-mock/understudy/spec"

// SuiteCommands are the commands of the contract test suite. Both programs have them: one
// runs them, the other hands over to it.
type SuiteCommands struct {
	Conform Conform `cmd:"" help:"Run the contract test suite against a target, or against a stand-in that it starts." example:"understudy conform\nunderstudy conform --target target.yaml --report junit=report.xml"`
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
	Target        string       `placeholder:"FILE" help:"Target file. Without it, the suite starts a stand-in and judges that."`
	Profile       []string     `placeholder:"P" help:"Only these profiles: MSG, GROUP, WF-READ, WF-RECOVER, FLOW, USAGE, INDEX, RATELIMIT, EXT."`
	Basis         []spec.Basis `enum:"stated,implied,open,extension" help:"Which requirements: stated, implied, open, extension. Default: stated and implied."`
	Repeat        int          `placeholder:"N" help:"Run each scenario N times, and list those with different verdicts."`
	Strict        bool         `help:"Count violated implied requirements as failures."`
	Tags          string       `placeholder:"EXPR" help:"Only scenarios whose tags match, such as '@area-dlq and not @time-long'."`
	Area          []string     `placeholder:"AREA" help:"Only scenarios of these areas: auth, dlq, publish and so on."`
	Requirement   []string     `placeholder:"ID" help:"Only scenarios of these requirements."`
	Scenario      []string     `sep:"none" placeholder:"NAME" help:"Only the scenarios with these names."`
	AcceptPartial bool         `help:"Exit 0 even if something could not be judged."`
	Report        []string     `placeholder:"FORMAT=FILE" help:"Write a report; repeatable. Formats: badge, cucumber, exchanges, github, html, json, junit, markdown, sarif, yaml."`
	Concurrency   int          `help:"Number of scenarios at a time; 0 for that of the target file."`
	Clock         string       `default:"manual" enum:"manual,real" help:"Clock of the stand-in that the suite starts."`
	List          bool         `help:"List the scenarios that would run, and stop."`
	ListSteps     bool         `help:"List the steps that scenarios can use, and stop."`
	DryRun        bool         `help:"Read all files, select scenarios, and stop before the first request."`
	CheckTarget   bool         `help:"Try every driver and binding of the target file once, report the results, and stop."`
	Coverage      bool         `help:"List every requirement and whether a scenario judges it; with --target, whether the run did."`
	Init          string       `placeholder:"URL" help:"Ask the server at URL a few harmless questions, write a commented target file to --target or standard output, and stop. TARGET_TOKEN and the other variables of that file are sent."`
	Explain       string       `placeholder:"ID" help:"Print a requirement with its source, its scenarios and the mutants that they catch, and stop."`
}

// Run is what kong calls.
func (c *Conform) Run(s Suite) error { return s.Conform(c) }

// Report works on reports that `conform --report json=FILE` has written.
type Report struct {
	Merge Merge `cmd:"" help:"Merge JSON reports of one target, such as one for each profile." example:"understudy report merge msg.json workflow.json --report html=all.html"`
	Diff  Diff  `cmd:"" help:"Compare two JSON reports, regressions first; exit 1 if there are any." example:"understudy report diff before.json after.json"`
}

// Merge merges several reports into one.
type Merge struct {
	Files  []string `arg:"" name:"file" help:"JSON reports."`
	Report []string `placeholder:"FORMAT=FILE" help:"Write a report; repeatable. Formats: badge, cucumber, exchanges, github, html, json, junit, markdown, sarif, yaml."`
}

// Run is what kong calls.
func (c *Merge) Run(s Suite) error { return s.Merge(c) }

// Diff compares two reports.
type Diff struct {
	Before string `arg:"" help:"The older JSON report."`
	After  string `arg:"" help:"The newer JSON report."`
	Output string `short:"o" default:"table" enum:"table,json" help:"Output format: table or json."`
}

// Run is what kong calls.
func (c *Diff) Run(s Suite) error { return s.Diff(c) }
