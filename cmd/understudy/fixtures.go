package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
)

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
