package client_test

import (
	"bytes"
	"encoding/json"
	"go/format"
	"os"
	"path/filepath"
	"testing"

	"github.com/understudy-mock/understudy/conformance/client"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
)

func TestAFirstAdapterFitsOnAScreen(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"go", "js", "python", "ruby", "sh"} {
		text, err := client.Skeleton(language)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n >= 70 {
			t.Errorf("%s: %d lines, want less than 70", language, n)
		}
		for _, word := range []string{"hello", "publish", "verify"} {
			expect.Contains(t, language, string(text), word)
		}
	}
}

func TestTheFirstAdapterInGoIsFormatted(t *testing.T) {
	t.Parallel()
	text, err := client.Skeleton("go")
	if err != nil {
		t.Fatal(err)
	}
	formatted, err := format.Source(text)
	if err != nil {
		t.Fatal(err)
	}
	expect.Equal(t, "the file", string(text), string(formatted))
}

func TestTheCasesAreJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := client.WriteCases(&b); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Operations map[string]any
		Cases      []struct{ ID, Requirement string }
	}
	if err := json.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	expect.True(t, "there are at least 450 cases", len(read.Cases) >= 450)
	expect.True(t, "publish is an operation", read.Operations["publish"] != nil)
}

func TestTheFirstAdapterInShellWorks(t *testing.T) {
	t.Parallel()
	programs.Need(t, "the first adapter in shell is NOT tried", "sh", "jq", "curl")
	text, err := client.Skeleton("sh")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "adapter.sh")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	session, err := client.Start(t.Context(), client.Config{Command: "sh " + file, CallTimeout: effort.Wait(client.DefaultCallTimeout), Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close(t.Context())
	var b bytes.Buffer
	works, err := session.Check(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	expect.True(t, "the sentinel works: "+b.String(), works)
}
