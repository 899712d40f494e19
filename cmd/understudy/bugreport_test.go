package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/mockserver"
)

// reported runs the command and returns what it prints.
func reported(t *testing.T, args ...string) (out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	if code := runProgram(t.Context(), append([]string{"bug-report"}, args...), &o, &e); code != 0 {
		t.Fatalf("exit code %d: %s", code, &e)
	}
	return o.String(), e.String()
}

// secret is in everything that the user of the test sends.
const secret = "zebra"

// publishSecrets publishes a message in which every part has the secret.
func publishSecrets(t *testing.T, u *mockserver.TestServer, to string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, u.URL()+"/v2/publish/"+to, strings.NewReader(`{"zebra":"zebra"}`))
	expect.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+u.Token())
	for _, name := range []string{"Svc-Forward-Zebra", "Svc-Label", "Svc-Flow-Control-Key", "Cookie", "X-Zebra", "User-Agent"} {
		r.Header.Set(name, secret)
	}
	r.Header.Set("Svc-Deduplication-Id", secret+to)
	r.Header.Set("Svc-Flow-Control-Value", "parallelism=1")
	answer, err := http.DefaultClient.Do(r)
	expect.NoError(t, err)
	_ = answer.Body.Close() // nothing is read
}

// A report says what happened, and has nothing of what its user has sent.
func TestBugReport(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://zebra.test/fails*", 500)
	u.Stub("https://zebra.test/*", 200)
	publishSecrets(t, u, "https://zebra.test/zebra?zebra=zebra")
	publishSecrets(t, u, "https://zebra.test/fails/zebra")
	publishSecrets(t, u, "zebra://zebra:zebra@zebra")
	u.Settle()
	out, errs := reported(t, "--url", u.URL())
	expect.Equal(t, "the warnings", errs, "")
	var r bugReport
	expect.NoError(t, json.Unmarshal([]byte(out), &r))
	t.Run("nothing of the user leaves", func(t *testing.T) {
		for _, text := range []string{secret, "Zebra", u.Token(), strings.TrimPrefix(u.URL(), "http://"), "msg_", "parallelism"} {
			expect.Lacks(t, "the report", out, text)
		}
	})
	t.Run("it has the requests with their statuses", func(t *testing.T) {
		expect.Equal(expect.Now(t), "the number of requests", len(r.Requests), 3)
		expect.Equal(t, "the status of the first", r.Requests[0]["status"], any(200.0))
		expect.Equal(t, "the operation of the first", r.Requests[0]["operationId"], any("publishMessage"))
		expect.Equal(t, "the status of a request with a wrong URL", r.Requests[2]["status"], any(400.0))
	})
	t.Run("it has the deliveries, whose message is the same number as in the events", func(t *testing.T) {
		expect.True(expect.Now(t), "two deliveries or more", len(r.Deliveries) >= 2)
		expect.Equal(t, "the status of the first", r.Deliveries[0]["status"], any(200.0))
		states := map[any]bool{}
		for _, e := range r.Events {
			if e["message"] == r.Deliveries[0]["message"] {
				states[e["state"]] = true
			}
		}
		expect.True(t, "the state DELIVERED of its message", states["DELIVERED"])
	})
	t.Run("it has versions and platform", func(t *testing.T) {
		expect.Contains(t, "the report", out, `"platform": "`)
		expect.Equal(t, "the version of the server", r.Server["version"], any(mockserver.Version))
	})
	t.Run("a file, which only its user can read", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "report.json")
		said, _ := reported(t, "--url", u.URL(), file)
		expect.Contains(t, "the output", said, "bytes written to")
		info, err := os.Stat(file)
		expect.Nil(expect.Now(t), "the file", err)
		expect.Equal(t, "its mode", info.Mode().Perm(), 0o600)
	})
}

// However much happened, a report has the latest entries only.
func TestBugReportIsBounded(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://a.test/*", 200)
	for range reportEntries + 20 {
		u.Publish("https://a.test/b", []byte("c"))
	}
	u.Settle()
	out, _ := reported(t, "--url", u.URL())
	var r bugReport
	expect.NoError(t, json.Unmarshal([]byte(out), &r))
	for name, n := range map[string]int{"requests": len(r.Requests), "deliveries": len(r.Deliveries), "events": len(r.Events)} {
		expect.True(t, name+" of at most 500 entries", n <= reportEntries)
	}
	expect.Equal(t, "the deliveries", len(r.Deliveries), reportEntries)
	expect.True(t, "less than a megabyte", len(out) < 1<<20)
}

// A server that does not answer may be what is reported.
func TestBugReportWithoutServer(t *testing.T) {
	t.Parallel()
	out, errs := reported(t, "--url", "http://127.0.0.1:1")
	expect.Contains(t, "the warning", errs, "nothing about the server")
	expect.Contains(t, "the report", out, `"version"`)
	expect.Lacks(t, "the report", out, `"server"`)
}

// The flags of the server are named; values that its user has chosen are not.
func TestBugReportFlags(t *testing.T) {
	t.Parallel()
	s := programs.Serve(t, programs.Build(t), "--clock", "manual", "--max-body", "1MiB", "--account", "zebra:12345", "--control-token", "12345",
		"--stub", "https://zebra.test/*=200", "--rewrite", "https://zebra.test=http://127.0.0.1:1", "--strict-options")
	out, _ := reported(t, "--url", s.URL, "--control-token", "12345")
	var r bugReport
	expect.NoError(t, json.Unmarshal([]byte(out), &r))
	flags, err := json.Marshal(r.Server["flags"])
	expect.Nil(t, "the flags", err)
	for _, want := range []string{"--clock=manual", "--max-body=1MiB", "--account=…", "--control-token=***", "--stub=…", "--rewrite=…", "--strict-options"} {
		expect.Contains(t, "the flags", string(flags), `"`+want+`"`)
	}
	for _, text := range []string{secret, "12345"} {
		expect.Lacks(t, "the report", out, text)
	}
}
