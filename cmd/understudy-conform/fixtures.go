package main

import (
	"io"
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
	write := func(w io.Writer) error { return fixtures.New(k.Seed).WriteFile(w, size) }
	if k.Output == "" {
		return write(s.out)
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
