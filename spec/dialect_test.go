package spec

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/internal/testkit/drift"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func brand(t testing.TB) *Dialect {
	t.Helper()
	d, err := LoadDialect("upstash")
	expect.NoError(t, err)
	return d
}

func TestHeadersOfABrandBecomeNeutralAndBack(t *testing.T) {
	t.Parallel()
	d := brand(t)
	cases := map[string]string{
		"Upstash-Retries":                                      "Svc-Retries",
		"Upstash-Forward-X-Mine":                               "Svc-Forward-X-Mine",
		"Upstash-Forward-Upstash-Workflow-Sdk-Version":         "Svc-Forward-Svc-Workflow-Sdk-Version",
		"Upstash-Callback-Forward-Upstash-Workflow-Stepid":     "Svc-Callback-Forward-Svc-Workflow-Stepid",
		"Upstash-Failure-Callback-Forward-Upstash-Workflow-Is": "Svc-Failure-Callback-Forward-Svc-Workflow-Is",
		"X-Upstash-Own":                                        "X-Upstash-Own",
		"Content-Type":                                         "Content-Type",
	}
	for in, want := range cases {
		got := d.NeutralHeader(http.Header{in: {"v"}})
		if !reflect.DeepEqual(got, http.Header{want: {"v"}}) {
			t.Errorf("%s becomes %v, want %s", in, got, want)
		}
		if back := d.BrandHeader(got); !reflect.DeepEqual(back, http.Header{in: {"v"}}) {
			t.Errorf("%s comes back as %v", in, back)
		}
	}
}

func TestRoundTripOfAnyHeader(t *testing.T) {
	t.Parallel()
	d := brand(t)
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"Upstash-", "Forward-", "Callback-", "Failure-", "X-", "Retries", "Label", "Own"})
		name := textproto.CanonicalMIMEHeaderKey(strings.Trim(strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "name"), ""), "-"))
		h := http.Header{name: {"v"}}
		if got := d.BrandHeader(d.NeutralHeader(maps.Clone(h))); !reflect.DeepEqual(got, h) {
			t.Fatalf("%v comes back as %v", h, got)
		}
	})
}

func TestQueryKeepsEverythingElse(t *testing.T) {
	t.Parallel()
	d := brand(t)
	in := "b=1&upstash-retries=3&qstash_token=a%2Fb&a=%7e&upstash-forward-x=1&&flag&x=%zz"
	want := "b=1&svc-retries=3&svc_token=a%2Fb&a=%7e&svc-forward-x=1&&flag&x=%zz"
	if got := d.NeutralQuery(in); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestJSONKeysAreRenamedAndNothingElse(t *testing.T) {
	t.Parallel()
	d := brand(t)
	in := `[ {"headers": {"upstash-retries":"Upstash-Retries", "a\"b": 1.50}, "body":"{\"Upstash-X\":1}"} ]`
	want := `[ {"headers": {"Svc-retries":"Upstash-Retries", "a\"b": 1.50}, "body":"{\"Upstash-X\":1}"} ]`
	if got := string(d.NeutralJSON([]byte(in))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	expect.Equal(t, "an escaped key", string(d.NeutralJSON([]byte(`{"he\u0061der":{"\u0055pstash-Label":["x"]}}`))), `{"he\u0061der":{"Svc-Label":["x"]}}`)
	out := string(d.BrandJSON([]byte(`{"daily_svc_messages":[],"header":{"Svc-Label":["Svc-Label"]}}`)))
	if want := `{"daily_qstash_messages":[],"header":{"Upstash-Label":["Svc-Label"]}}`; out != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
}

func TestNeutralNamesCostNothing(t *testing.T) { //nolint:paralleltest // counts allocations
	d, err := LoadDialect("svc")
	expect.NoError(t, err)
	h := http.Header{"Svc-Retries": {"1"}}
	body := []byte(`{"Svc-Retries":1}`)
	if n := testing.AllocsPerRun(100, func() {
		d.NeutralHeader(h)
		d.BrandHeader(h)
		d.NeutralQuery("a=1")
		d.NeutralJSON(body)
		d.BrandJSON(body)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestDialectFiles(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, text, want string }{
		{"a new brand", "name: acme\nheaderPrefix: Acme-\nqueryPrefix: acme-\ntokenQuery: acme_token\n", ""},
		{"an unknown key", "headerprefix: X-\n", `dialect.yaml:1: headerprefix: unknown key: must be one of currentSigningKey, env, fields, headerPrefix, issuer`},
		{"a prefix without hyphen", "headerPrefix: Acme\n", `dialect.yaml:1: headerPrefix: invalid value "Acme": must be letters, digits and hyphens, with a hyphen at the end`},
		{"a prefix that is not a header name", "headerPrefix: Acme Inc-\n", `dialect.yaml:1: headerPrefix: invalid value "Acme Inc-": must be`},
		{"a query prefix without hyphen", "headerPrefix: Acme-\nqueryPrefix: acme\n", `dialect.yaml:2: queryPrefix: invalid value "acme": must be`},
		{"no name for the token", "headerPrefix: Acme-\ntokenQuery: ''\n", `dialect.yaml:2: tokenQuery: invalid value "": must be`},
		{"the name of a built-in dialect", "name: upstash\nheaderPrefix: Acme-\n", `dialect.yaml:1: name: invalid value "upstash": must not be the name of a built-in dialect`},
		{"a list in place of a text", "headerPrefix: [Acme-]\n", "dialect.yaml:1: headerPrefix: invalid value [Acme-]: must be letters"},
		{"a list in place of the names", "- Acme-\n", "dialect.yaml:1: invalid value [Acme-]: must be a mapping with the names of a dialect"},
		{"two documents", "name: acme\n---\nname: b\n", "dialect.yaml:2: second document: the file must have one"},
		{"nothing", "", "the file is empty"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "dialect.yaml")
			expect.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
			d, err := LoadDialect(file)
			switch {
			case c.want == "" && (err != nil || d.HeaderPrefix != "Acme-" || d.Issuer != "Svc"):
				t.Errorf("%v %+v", err, d)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
	if _, err := LoadDialect("nonsense"); err == nil || !strings.Contains(err.Error(), "must be one of auto, svc, upstash, or a YAML file") {
		t.Error(err)
	}
}

// TestDialectSchemaHasTheKeysOfDialect compares the schema of dialect files with their type.
func TestDialectSchemaHasTheKeysOfDialect(t *testing.T) {
	t.Parallel()
	for _, problem := range drift.Between(DialectSchema, reflect.TypeFor[Dialect](), "yaml") {
		t.Error(problem)
	}
}

func FuzzNeutralJSON(f *testing.F) {
	f.Add([]byte(`{"upstash-a":{"Upstash-\u0041":[1,"x"]}}`))
	f.Add([]byte(`"\\"`))
	d := brand(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		out := d.NeutralJSON(body)
		if json.Valid(body) != json.Valid(out) {
			t.Fatalf("%q becomes %q", body, out)
		}
	})
}

func FuzzNeutralQuery(f *testing.F) {
	f.Add("upstash-a=1&qstash_token=%2")
	d := brand(f)
	f.Fuzz(func(t *testing.T, raw string) {
		if out := d.NeutralQuery(raw); strings.Count(out, "&") != strings.Count(raw, "&") {
			t.Fatalf("%q becomes %q", raw, out)
		}
	})
}
