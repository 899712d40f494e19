package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func FuzzDialect(f *testing.F) {
	for _, seed := range []string{"", "headerPrefix: Acme-\nqueryPrefix: acme-\ntokenQuery: acme_token\n", "headerPrefix: '-'", "colour: red", "[", "headerPrefix: \"\\xff-\"\n", "fields: {a: b}\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name := filepath.Join(t.TempDir(), "d.yaml")
		expect.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		d, err := LoadDialect(name)
		if err != nil {
			return
		}
		_ = d.NeutralQuery("acme-retries=3&svc-retries=4")
		_ = d.NeutralJSON([]byte(`{"a": 1}`))
		_ = d.BrandJSON([]byte(`{"a": 1}`))
		_ = d.BrandHeader(d.NeutralHeader(map[string][]string{"Acme-Retries": {"3"}, "Svc-Retries": {"4"}, "X": nil}))
	})
}

func FuzzRegister(f *testing.F) {
	f.Add(string(requirementsYAML[:min(len(requirementsYAML), 2000)]))
	for _, seed := range []string{"", "requirements: [{id: REQ-PUB-001}]", "requirements: 3", strings.Repeat("[", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRegister([]byte(text))
		if err == nil && r.ByID("nobody") != nil {
			t.Error("found a requirement with the invalid id nobody")
		}
	})
}
