package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/internal/testkit/programs"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

// TestClientsAgents calls every tool for coding agents with the Python SDK, over stdio and HTTP.
func TestClientsAgents(t *testing.T) {
	t.Parallel()
	const dir = "../../conformance/clients/agents"
	programs.Need(t, "the Python client of the tools for coding agents is NOT tested", "python3")
	modules, binary := installPython(t, dir), build(t)
	server := serve(t, binary, "--clock", "manual")
	env := slices.Concat(server.Env, []string{"PYTHONPATH=" + modules, "PYTHONDONTWRITEBYTECODE=1", "UNDERSTUDY_BINARY=" + binary})
	runClient(t, dir, env, "python3", "-m", "unittest", "discover", "--verbose", "--buffer")
}

// TestMCPWithoutServer checks that a session starts before its server: the documentation works, and
// the other tools say what to do.
func TestMCPWithoutServer(t *testing.T) {
	t.Parallel()
	address := programs.FreeAddresses(t, 1)[0]
	command := exec.CommandContext(t.Context(), build(t), "mcp", "--url", "http://"+address)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
	expect.NoError(t, err)
	defer s.Close()
	call := func(name string, arguments map[string]any) (string, bool) {
		t.Helper()
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		expect.NoError(t, err)
		return result.Content[0].(*mcp.TextContent).Text, result.IsError
	}
	text, failed := call("docs_read", map[string]any{"page": "testing"})
	expect.True(t, "a page is read: "+text[:40], !failed)
	text, failed = call("overview", map[string]any{})
	expect.True(t, "overview fails", failed)
	expect.Contains(t, "error", text, "`understudy serve` starts one")
}

// TestMCPEnds checks that the process ends with its standard input, in the middle of a session.
func TestMCPEnds(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), build(t), "mcp")
	in, err := command.StdinPipe()
	expect.Nil(t, "input", err)
	out, err := command.StdoutPipe()
	expect.Nil(t, "output", err)
	expect.Nil(t, "start", command.Start())
	_, err = in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"))
	expect.Nil(t, "write", err)
	line, err := bufio.NewReader(out).ReadString('\n')
	expect.Nil(t, "answer", err)
	expect.Contains(t, "answer", line, `"serverInfo"`)
	expect.Nil(t, "close", in.Close())
	expect.Nil(t, "end", command.Wait())
}

const agentsPage = "../../docs/agents.md"

// TestGeneratedTranscript records a session for the documentation: the cause of a planted failure in
// two calls, an event for a run that waits, and a stubbed provider.
func TestGeneratedTranscript(t *testing.T) {
	u := mockserver.RunT(t, mockserver.Config{Seed: 7, Clock: "manual"})
	u.Stub("https://app.test/*", 200)
	u.Script(stub.Stub{URL: "https://shop.test/*", Answers: []stub.Answer{{Status: "500", Body: "TypeError: Cannot read properties of undefined (reading 'price')\n    at total (/app/src/cart.js:41:18)\n    at checkout (/app/src/checkout.js:12:9)"}}})
	expect.Nil(t, "fixture", u.Load(mockserver.Fixture{Name: "run.yaml", Text: []byte("runs: [{id: wfr_order, url: https://app.test/order, state: RUN_STARTED, steps: [{name: reserve}], waits: [{event: paid, timeout: 1d}]}]")}))
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: u.URL() + "/_understudy/mcp", DisableStandaloneSSE: true}, nil)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(); http.DefaultTransport.(*http.Transport).CloseIdleConnections() })
	var b strings.Builder
	show := func(name string, arguments any, text string) {
		said, _ := json.Marshal(arguments)
		b.WriteString("**" + name + "** `" + string(said) + "`\n\n```json\n" + strings.ReplaceAll(text, u.URL(), "http://127.0.0.1:8080") + "\n```\n\n")
	}
	call := func(name string, arguments map[string]any, shown bool) (answer struct{ Result any }, text string) {
		t.Helper()
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil || result.IsError {
			t.Fatal(name, err, result)
		}
		text = result.Content[0].(*mcp.TextContent).Text
		expect.Nil(t, "answer", json.Unmarshal([]byte(text), &answer))
		if shown {
			show(name, arguments, text)
		}
		return answer, text
	}
	call("trigger", map[string]any{"workflowUrl": "https://shop.test/checkout", "body": map[string]any{"items": []any{map[string]any{"sku": "blue-shoes"}}}, "options": map[string]any{"Retries": "0"}}, false)
	call("settle", map[string]any{}, false)
	began, err := json.Marshal(s.InitializeResult())
	expect.Nil(t, "initialize", err)
	show("initialize", map[string]any{"protocolVersion": s.InitializeResult().ProtocolVersion}, string(began))

	b.WriteString("Why did the checkout fail?\n\n")
	_, runs := call("list", map[string]any{"kind": "runs", "state": "RUN_FAILED"}, true)
	_, why := call("why", map[string]any{"id": regexp.MustCompile(`wfr_\w+`).FindString(runs)}, true)
	expect.Contains(t, "cause", why, "/app/src/cart.js:41:18")

	b.WriteString("The order waits for its payment. `why` names the tool that ends the wait, with its arguments:\n\n")
	waits, _ := call("why", map[string]any{"id": "wfr_order"}, true)
	next := waits.Result.(map[string]any)["next"].([]any)[0].(map[string]any)
	expect.Equal[any](t, "tool", next["tool"], "notify")
	call("notify", next["arguments"].(map[string]any), true)
	call("settle", map[string]any{}, false)
	_, run := call("get", map[string]any{"id": "wfr_order"}, false)
	expect.Contains(t, "waiters", run, `"waiters":[]`)

	b.WriteString("The provider is down once, and then answers:\n\n")
	call("stub", map[string]any{"url": "https://payments.test/*", "answers": []any{503, 200}}, true)
	_, sent := call("publish", map[string]any{"destination": "https://payments.test/charge", "body": map[string]any{"order": 7}}, true)
	call("advance", map[string]any{"by": "1h"}, true)
	_, made := call("deliveries", map[string]any{"messageId": regexp.MustCompile(`msg_\w+`).FindString(sent)}, false)
	expect.Contains(t, "request", made, `{\"order\":7}`)
	expect.Equal(t, "statuses", strings.Join(regexp.MustCompile(`"status":\d+`).FindAllString(made, -1), " "), `"status":503 "status":200`)

	tools, err := s.ListTools(t.Context(), nil)
	expect.Nil(t, "tools", err)
	var rows strings.Builder
	rows.WriteString("\n| tool | what it does | effect |\n|---|---|---|\n")
	for _, tool := range tools.Tools {
		effect := "changes"
		switch {
		case tool.Annotations.ReadOnlyHint:
			effect = "reads"
		case *tool.Annotations.DestructiveHint:
			effect = "removes"
		}
		rows.WriteString("| `" + tool.Name + "` | " + tool.Description + " | " + effect + " |\n")
	}
	expect.GeneratedPart(t, agentsPage, "<!-- tools -->\n", "<!-- end of tools -->", rows.String()+"\n")
	expect.GeneratedPart(t, agentsPage, "<!-- session -->\n", "<!-- end of session -->", "\n"+b.String())
}

// TestEditorConfigurations starts the command, or reaches the address, of each configuration for an
// editor in the documentation.
func TestEditorConfigurations(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(agentsPage)
	expect.NoError(t, err)
	binary, server := build(t), serve(t, build(t))
	blocks := regexp.MustCompile("(?s)\n`([^`]+\\.json)`[^\n]*\n\n```json\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	expect.Equal(t, "configurations", len(blocks), 4)
	for _, block := range blocks {
		t.Run(block[1], func(t *testing.T) {
			t.Parallel()
			var file map[string]map[string]struct {
				Type, Command, URL string
				Args               []string
			}
			expect.NoError(t, json.Unmarshal([]byte(block[2]), &file))
			for _, servers := range file {
				own := servers["understudy"]
				var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: strings.Replace(own.URL, "http://127.0.0.1:8080", server.URL, 1), DisableStandaloneSSE: true}
				if own.URL == "" {
					expect.Equal(t, "command", filepath.Base(own.Command), "understudy")
					transport = &mcp.CommandTransport{Command: exec.CommandContext(t.Context(), binary, append(own.Args, "--url", server.URL)...)}
				}
				s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
				expect.NoError(t, err)
				tools, err := s.ListTools(t.Context(), nil)
				expect.Nil(t, "tools", err)
				expect.True(t, "it has tools", tools != nil && len(tools.Tools) > 5)
				_ = s.Close()
			}
		})
	}
}
