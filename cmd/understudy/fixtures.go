package main

import (
	"net/http"
	"net/url"
	"os"
)

type ctlSeed struct {
	File string `arg:"" help:"A YAML or JSON file."`
}

// Run loads a fixture.
func (k *ctlSeed) Run(e *env, c *cli) error {
	text, err := os.ReadFile(k.File)
	if err != nil {
		return usage("seed: %w", err)
	}
	return c.Ctl.show(e, http.MethodPost, "fixtures", url.Values{"name": {k.File}}, text)
}
