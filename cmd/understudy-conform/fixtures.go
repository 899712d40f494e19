package main

import (
	"errors"
	"os"

	"github.com/understudy-mock/understudy/fixtures"
	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/spec"
)

// Generate writes a fixture file.
func (s suite) Generate(k *command.Generate) error {
	size := fixtures.Size{Messages: k.Messages, DLQ: k.DLQ, Runs: k.Runs}
	for _, n := range []*int{&size.DLQ, &size.Runs} {
		if *n == -1 {
			*n = (k.Messages + 99) / 100
		}
	}
	if size.Messages < 0 || size.DLQ < 0 || size.Runs < 0 {
		return usageError("fixtures generate: numbers must be 0 or more")
	}
	if k.Output == "" {
		return fixtures.New(k.Seed).WriteFile(s.out, size)
	}
	file, err := os.Create(k.Output)
	if err != nil {
		return usageError("-o: %w", err)
	}
	if err := errors.Join(fixtures.New(k.Seed).WriteFile(file, size), file.Close()); err != nil {
		return err
	}
	return command.WriteSchema(k.Output, "fixture", spec.FixtureSchema)
}
