package command

import (
	"time"

	"github.com/understudy-mock/understudy/spec"
)

// SuiteCommands are the commands of the contract test suite. Both programs have them: one
// runs them, the other hands over to it.
type SuiteCommands struct {
	Conform Conform `cmd:"" help:"Run the contract test suite against a target, or against a stand-in that it starts." example:"understudy conform\nunderstudy conform --target target.yaml --report junit=report.xml"`
	Report  Report  `cmd:"" help:"Merge JSON reports of the suite, or compare two."`

	Fixtures struct {
		Generate Generate `cmd:"" help:"Generate a fixture file from a seed; the same seed gives the same bytes." example:"understudy fixtures generate --seed 7 --messages 500 -o fixture.yaml"`
	} `cmd:"" help:"Generate fixture files from a seed."`
}

// Suite runs the commands of the suite.
type Suite interface {
	Conform(c *Conform) error
	Merge(c *Merge) error
	Diff(c *Diff) error
	Generate(c *Generate) error
}

// Generate generates a fixture file. The suite has the generator: the server never loads its data.
type Generate struct {
	Seed     int64  `default:"1" help:"Seed of the data."`
	Messages int    `default:"100" help:"Number of messages."`
	DLQ      int    `default:"-1" help:"Number of DLQ entries; -1 for one per 100 messages."`
	Runs     int    `default:"-1" help:"Number of workflow runs; -1 for one per 100 messages."`
	Output   string `short:"o" placeholder:"FILE" help:"Output file, with fixture.schema.json beside it for editors. Default: standard output."`
}

// Run is what kong calls.
func (c *Generate) Run(s Suite) error { return s.Generate(c) }

// Conform has the flags of conform.
type Conform struct {
	Target           string        `placeholder:"FILE" help:"Target file. Without it, the suite starts a stand-in and judges that."`
	Client           string        `placeholder:"COMMAND" help:"Judge a client library instead of a server: the command starts its adapter, see docs/conformance/judge-a-client.md. 'sh:' before it is for a shell."`
	Profile          []string      `aliases:"profiles" placeholder:"P" help:"Only these profiles: MSG, GROUP, WF-READ, WF-RECOVER, FLOW, USAGE, INDEX, RATELIMIT, EXT; of a client: BASE, PUB, GRP, QUE, DLQ, LOG, FLC, STA, VEC, RCV, WFC, WFE, LIM."`
	Basis            []spec.Basis  `enum:"stated,implied,de-facto,single-source,open,extension" help:"Which requirements: stated, implied, open, extension; of a client also de-facto, single-source. Default: stated and implied, of a client all."`
	Repeat           int           `placeholder:"N" help:"Run each scenario N times, and list those with different verdicts."`
	Strict           bool          `help:"Count violated implied requirements as failures."`
	Tags             string        `placeholder:"EXPR" help:"Only scenarios whose tags match, such as '@area-dlq and not @time-long'."`
	Area             []string      `placeholder:"AREA" help:"Only scenarios of these areas: auth, dlq, publish and so on."`
	Requirement      []string      `placeholder:"ID" help:"Only scenarios of these requirements."`
	Scenario         []string      `sep:"none" placeholder:"NAME" help:"Only the scenarios with these names."`
	AcceptPartial    bool          `help:"Exit 0 even if something could not be judged."`
	Report           []string      `placeholder:"FORMAT=FILE" help:"Write a report; repeatable. Formats: cucumber, github, html, json, junit, markdown."`
	Concurrency      int           `help:"Number of scenarios at a time; 0 for that of the target file."`
	Worlds           int           `default:"2" placeholder:"N" help:"Number of generated worlds of each kind; 0 leaves them out."`
	WorldSize        int           `placeholder:"N" help:"Number of things in a world; 0 for 40."`
	Seed             uint64        `default:"1" placeholder:"N" help:"Seed of the first world. The same seed makes the same world."`
	Clock            string        `default:"manual" enum:"manual,real" help:"Clock of the stand-in that the suite starts."`
	List             bool          `help:"List the scenarios that would run, and stop."`
	ListSteps        bool          `help:"List the steps that scenarios can use, and stop."`
	DryRun           bool          `help:"Read all files, select scenarios, and stop before the first request."`
	CheckTarget      bool          `help:"Try every driver and binding of the target file once, report the results, and stop."`
	Coverage         bool          `help:"List every requirement and whether a scenario judges it; with --target, whether the run did."`
	Init             string        `placeholder:"URL" help:"Ask the server at URL a few harmless questions, write a commented target file to --target or standard output, and stop. TARGET_TOKEN and the other variables of that file are sent."`
	Dialect          string        `placeholder:"NAME" help:"With --client, the names on the wire unless the adapter says it: svc, upstash, or a YAML file."`
	CallTimeout      time.Duration `default:"10s" help:"With --client, how long one call may take."`
	ClientEnv        []string      `sep:"none" placeholder:"NAME=VALUE" help:"With --client, a variable for the adapter; repeatable."`
	ClientListen     string        `placeholder:"ADDR" help:"With --client and a library whose host is fixed and that honours no proxy, the address to listen at, such as 127.0.0.1:443."`
	ClientHost       string        `placeholder:"NAME" help:"With --client-listen, that host, which you map to this machine."`
	ExpectedFailures string        `placeholder:"FILE" help:"With --client, the file of its known failures."`
	UpdateBaseline   bool          `help:"With --client, write the failures of this run to --expected-failures."`
	Slow             bool          `help:"With --client, also run the cases in which the library waits between repeats."`
	ClientInit       bool          `help:"Print a commented first adapter, in JavaScript."`
	Explain          string        `placeholder:"ID" help:"Print a requirement with its source, its scenarios and the mutants that they catch, and stop."`
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
	Report []string `placeholder:"FORMAT=FILE" help:"Write a report; repeatable. Formats: cucumber, github, html, json, junit, markdown."`
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
