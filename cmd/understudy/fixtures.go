package main

import (
	"net/url"
	"os"

	"github.com/understudy-mock/understudy/spec/route"
)

type ctlFixture struct {
	File string `arg:"" help:"A YAML or JSON file."`
}

// Run loads a fixture.
func (k *ctlFixture) Run(e *env, c *CtlCmd) error {
	text, err := os.ReadFile(k.File)
	if err != nil {
		return usageError("fixture: %w", err)
	}
	answer, err := c.ask(e, route.ControlFixtures, nil, url.Values{"name": {k.File}}, text)
	return c.print(e, answer, err, words(`Loaded into {{count .accounts "account"}}.`))
}
