package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/understudy-mock/understudy/fixtures"
	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/spec"
)

// FixturesCmd generates fixture files.
type FixturesCmd struct {
	Generate fixturesGenerate `cmd:"" help:"Generate a fixture file from a seed; the same seed gives the same bytes." example:"understudy fixtures generate --seed 7 --messages 500 -o fixture.yaml"`
}

type fixturesGenerate struct {
	Seed     int64  `default:"1" help:"Seed of the data."`
	Messages int    `default:"100" help:"Number of messages."`
	DLQ      int    `default:"-1" help:"Number of DLQ entries; -1 for one per 100 messages."`
	Runs     int    `default:"-1" help:"Number of workflow runs; -1 for one per 100 messages."`
	Output   string `short:"o" placeholder:"FILE" help:"Output file, with fixture.schema.json beside it for editors. Default: standard output."`
}

// Run writes the file.
func (k *fixturesGenerate) Run(e *env) error {
	size := fixtures.Size{Messages: k.Messages, DLQ: k.DLQ, Runs: k.Runs}
	for _, n := range []*int{&size.DLQ, &size.Runs} {
		if *n == -1 {
			*n = (k.Messages + 99) / 100
		}
	}
	if size.Messages < 0 || size.DLQ < 0 || size.Runs < 0 {
		return usageError("fixtures generate: numbers must be 0 or more")
	}
	write := func(w io.Writer) error { return fixtures.New(k.Seed).WriteFile(w, size) }
	if k.Output == "" {
		return write(e.out)
	}
	file, err := os.Create(k.Output)
	if err != nil {
		return usageError("-o: %w", err)
	}
	err = write(file)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = command.WriteSchema(k.Output, "fixture", spec.FixtureSchema)
	}
	return err
}

type ctlFixture struct {
	File string `arg:"" help:"A YAML or JSON file."`
}

// Run loads a fixture.
func (k *ctlFixture) Run(e *env, c *cli) error {
	text, err := os.ReadFile(k.File)
	if err != nil {
		return usageError("fixture: %w", err)
	}
	var answer json.RawMessage
	if err := c.Ctl.call(e, http.MethodPost, "fixtures", url.Values{"name": {k.File}}, text, &answer); err != nil {
		return err
	}
	return c.Ctl.print(e, answer, words(`Loaded into {{count .accounts "account"}}.`))
}
