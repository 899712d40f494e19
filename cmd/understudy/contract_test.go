package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/spec"
)

// contractFlags start a server whose credentials never change, which delivers only to stubs
// and keeps every message.
var contractFlags = []string{
	"--dialect", "svc", "--seed", "1", "--account", "contract:contract-token", "--control-token", "contract-control",
	"--stub", "api/llm=200:{}", "--stub", "*=200", "--embed", "hash", "--max-backlog", "10000000", "--log-level", "error",
}

// contractLimit is the time limit for one document, in real time. There is no limit when
// CONTRACT sets a number of examples for each operation.
const contractLimit = 10 * time.Minute

// contracts are the documents, with the operations that are excluded from each and the
// reason.
var contracts = []struct {
	name     string
	flags    []string
	load     func() (*spec.Document, error)
	examples string
	excluded map[string]string
}{
	{"interface", nil, spec.Load, "4", nil},
}

// TestContract checks a server process against the documents that it prints: schemathesis
// makes valid and invalid requests from them and checks the answers.
func TestContract(t *testing.T) {
	t.Parallel()
	programs.Need(t, "the documents are NOT tested against the server", "python3")
	dir, err := filepath.Abs("../../conformance/contract")
	expect.NoError(t, err)
	modules, binary := installPython(t, dir), build(t)
	for _, c := range contracts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doc, err := c.load()
			expect.NoError(t, err)
			text, err := exec.CommandContext(t.Context(), binary, append([]string{"spec", "--format", "json"}, c.flags...)...).Output()
			expect.NoError(t, err)
			file := filepath.Join(t.TempDir(), "document.json")
			expect.NoError(t, os.WriteFile(file, text, 0o600))
			examples := c.examples
			if more := os.Getenv("CONTRACT"); more != "" {
				examples = more
			}
			server := serve(t, binary, contractFlags...)
			args := []string{"run", file, "--url", server.URL, "--no-color", "--max-examples", examples}
			for id, why := range c.excluded {
				t.Logf("left out: %s: %s", id, why)
				args = append(args, "--exclude-operation-id", id)
			}
			env := slices.Concat(server.Env, []string{"UNDERSTUDY_CONTROL_TOKEN=contract-control", "PYTHONPATH=" + modules + ":" + dir})
			found := schemathesis(t, modules, dir, env, args...)
			expect.Equal(t, "number of operations tested", found.Operations.Tested, len(doc.Operations())-len(c.excluded))
			t.Logf("%d operations, %d requests, %d findings", found.Operations.Tested, found.TestCases.Generated, found.TestCases.UniqueFailures)
		})
	}
}

// contractReport is the part of the report of a run that is read.
type contractReport struct {
	Operations struct{ Tested int }
	TestCases  struct {
		Generated      int
		UniqueFailures int `json:"unique_failures"`
	} `json:"test_cases"`
}

// schemathesis runs the tool in a temporary folder. It fails the test with the problems that
// the tool finds.
func schemathesis(t *testing.T, modules, config string, env []string, args ...string) (found contractReport) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), effort.Wait(contractLimit))
	defer cancel()
	if os.Getenv("CONTRACT") != "" {
		ctx = t.Context()
	}
	report := filepath.Join(t.TempDir(), "report.json")
	args = append([]string{filepath.Join(modules, "bin", "schemathesis"), "--config-file", filepath.Join(config, "schemathesis.toml")}, args...)
	run := exec.CommandContext(ctx, "python3", append(args, "--report", "json", "--report-json-path", report)...)
	run.Dir, run.Env = t.TempDir(), append(os.Environ(), append(env, "PYTHONDONTWRITEBYTECODE=1")...)
	out, err := run.CombinedOutput()
	text, unread := os.ReadFile(report)
	if unread == nil {
		unread = json.Unmarshal(text, &found)
	}
	if err != nil || unread != nil {
		t.Error(strings.TrimSpace(fmt.Sprintf("schemathesis: %v %v\n%s", err, unread, out)))
	}
	return found
}

// kvCommands are commands that depend on each other in this order, with the result of each.
var kvCommands = []struct{ command, result string }{
	{`["SET","greeting","hello","EX",60]`, `"OK"`},
	{`["GET","greeting"]`, `"hello"`},
	{`["APPEND","greeting"," you"]`, `9`},
	{`["STRLEN","greeting"]`, `9`},
	{`["INCRBY","counter",41]`, `41`},
	{`["INCR","counter"]`, `42`},
	{`["TTL","counter"]`, `-1`},
	{`["GET","none"]`, `null`},
	{`["MSET","a",1,"b",true]`, `"OK"`},
	{`["MGET","a","b","none"]`, `["1","true",null]`},
	{`["HSET","user","name","Ada","age",36]`, `2`},
	{`["HGET","user","name"]`, `"Ada"`},
	{`["RPUSH","list","x","y","z"]`, `3`},
	{`["LRANGE","list",0,-1]`, `["x","y","z"]`},
	{`["SADD","set","m"]`, `1`},
	{`["SISMEMBER","set","m"]`, `1`},
	{`["ZADD","rank",1,"one",2,"two"]`, `2`},
	{`["ZRANGE","rank",0,-1,"WITHSCORES"]`, `["one","1","two","2"]`},
	{`["EVAL","return redis.call('INCR', KEYS[1])",1,"counter"]`, `43`},
	{`["EXISTS","counter","none"]`, `1`},
	{`["DEL","counter","none"]`, `1`},
}

// TestContractCommands sends kvCommands to the key-value store: one by one, in the path, as a
// pipeline and as a transaction. It checks every answer against the document.
func TestContractCommands(t *testing.T) {
	t.Parallel()
	doc, err := spec.Load()
	expect.NoError(t, err)
	server := serve(t, build(t), contractFlags...)
	token := ""
	for _, v := range server.Env {
		if value, ok := strings.CutPrefix(v, "UNDERSTUDY_KV_TOKEN="); ok {
			token = value
		}
	}
	send := func(t *testing.T, operation, method, path, body, want string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		expect.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		expect.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		got, err := io.ReadAll(response.Body)
		expect.NoError(t, err)
		op := doc.Operation(operation)
		if problems := op.CheckResponse(response.StatusCode, response.Header, got); len(problems) > 0 || !op.Declares(response.StatusCode) {
			t.Errorf("%s %s %s: status %d: %v", method, path, body, response.StatusCode, problems)
		}
		if string(got) != want {
			t.Errorf("%s %s %s: got %s, want %s", method, path, body, got, want)
		}
	}
	for _, form := range []struct{ operation, path string }{{"kvPipeline", "/kv/pipeline"}, {"kvTransaction", "/kv/multi-exec"}} {
		var commands, results []string
		for _, c := range kvCommands {
			commands, results = append(commands, c.command), append(results, `{"result":`+c.result+`}`)
		}
		send(t, "kvCommand", http.MethodPost, "/kv", `["FLUSHALL"]`, `{"result":"OK"}`)
		send(t, form.operation, http.MethodPost, form.path, "["+strings.Join(commands, ",")+"]", "["+strings.Join(results, ",")+"]")
	}
	send(t, "kvCommand", http.MethodPost, "/kv", `["FLUSHALL"]`, `{"result":"OK"}`)
	for _, c := range kvCommands {
		send(t, "kvCommand", http.MethodPost, "/kv", c.command, `{"result":`+c.result+`}`)
	}
	send(t, "kvPathGet", http.MethodGet, "/kv/set/path/value/ex/60", "", `{"result":"OK"}`)
	send(t, "kvPathPost", http.MethodPost, "/kv/append/path", "d", `{"result":6}`)
	send(t, "kvPathPut", http.MethodPut, "/kv/get/path", "", `{"result":"valued"}`)
	send(t, "kvCommand", http.MethodPost, "/kv", `["HGET","path","x"]`, `{"error":"WRONGTYPE Operation against a key holding the wrong kind of value"}`)
}
