package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"

	"github.com/understudy-mock/understudy/internal/command"
)

func FuzzSize(f *testing.F) {
	for _, seed := range []string{"1MiB", "512KiB", "65536", "0", "-1", "1.5MiB", "99999999999999999999", "B", "1GiB "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := byteCount(text)
		if err == nil {
			if expect.True(t, "a size greater than 0", n > 0) {
				expect.True(t, "a size of at most 1<<40", n <= 1<<40)
			}
		}
	})
}

// FuzzSettings: a settings file is read, or refused in one line with its name.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{"", "clock: manual", "- a", "a: [", "clok: x", "? {a: b}\n: c", "format: [1, 2]", "format: {a: 1}", "\xff"} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(dir, "settings.yaml")
		expect.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		var out, errs bytes.Buffer
		code := runProgram(context.Background(), []string{"version", "--config", name}, &out, &errs)
		if code != command.ExitFine {
			expect.Equal(t, "exit code", code, command.ExitUsage)
			expect.Equal(t, "lines of standard error", strings.Count(errs.String(), "\n"), 1)
		}
	})
}
