package client_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/understudy-mock/understudy/conformance/client"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

// TestLinesFitTheSchemaOfTheProtocol compares what suite and adapter write with
// spec/client-protocol.schema.json, from which authors write adapters.
func TestLinesFitTheSchemaOfTheProtocol(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		programs.SkipHere(t, "sh and tee are not here: the lines of the protocol are NOT compared with its schema")
	}
	text, err := os.ReadFile("../../spec/client-protocol.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("mem://protocol", bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	schema := c.MustCompile("mem://protocol")
	calls, answers := filepath.Join(t.TempDir(), "calls"), filepath.Join(t.TempDir(), "answers")
	session, err := client.Start(t.Context(), client.Config{Command: "sh:tee " + calls + " | '" + os.Args[0] + "' reference-client | tee " + answers, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	cases, err := client.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		if slices.Contains([]string{"REQ-CLI-020", "REQ-CLI-048", "REQ-CLI-071", "REQ-CLI-120", "REQ-CLI-150", "REQ-CLI-182"}, cases[i].Requirement.ID) {
			session.Run(t.Context(), &cases[i])
		}
	}
	session.Close(t.Context())
	for _, file := range []string{calls, answers} {
		lines, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for line := range strings.Lines(string(lines)) {
			var v any
			if err := json.Unmarshal([]byte(strings.TrimLeft(line, "\x1e")), &v); err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s: %v: %.300s", filepath.Base(file), err, line)
			}
			count++
		}
		expect.True(t, filepath.Base(file)+" has lines", count > 50)
	}
}
