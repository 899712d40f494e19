// Package agent serves the control API and the documentation to coding agents, with the Model
// Context Protocol (MCP): tools, resources and prompts.
//
//	handler := agent.Handler(server)                        // any handler of the control API, over HTTP
//	err := agent.Serve(ctx, agent.Config{API: api}, in, out) // over two streams
//
// # A call
//
//	tools/call ── tool.go: the table of tools ── operation.go: arguments become a request ── API
//	                                             answer.go: the response becomes a bounded text
//
// The tools are a client of the control API, like the page: the package imports neither the engine
// nor the server. Arguments and their schemas come from the OpenAPI documents. All answers are
// masked like those of the page. Over HTTP, the gate of the control API has admitted each request
// before it arrives here, and nothing is kept between two requests.
package agent

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-mock/understudy/mockserver/help"
)

// Config is what a session can reach.
type Config struct {
	API        http.Handler // the control API
	Credential string       // for it: the Authorization header
	Base       string       // URL of the server, for links to the page
	Account    string       // "": the first one
	ReadOnly   bool         // only tools that change nothing
	Version    string
}

// instructions are what a model reads before it sees the tools.
const instructions = `Understudy is a local server that stands in for a QStash and Workflow service. It delivers messages to an application over HTTP, retries, runs workflows, and keeps what failed in the DLQ.
To find the cause of a failure: overview, then list (kind dlq, runs or messages), then why with the id. deliveries has the requests and responses with bodies.
Time is a clock of the server: advance moves a manual clock and waits until everything that became due has happened; clock makes it manual. Never wait in real time.
Times are Unix ms of that clock, with the same time in ISO 8601 beside them. An answer that is cut has a cursor: call the same tool again with it.`

// maxMessage is the largest message of a client, in bytes.
const maxMessage = 4 << 20

// The headers with which Handler passes to the tools what a request configures. A client cannot set
// them: Handler replaces them.
const (
	baseHeader    = "Understudy-Agent-Base"
	accountHeader = "Understudy-Agent-Account"
)

// Handler serves the control API of a server to agents, over HTTP and without sessions. The query
// parameters account and read-only configure a client.
func Handler(version string, api http.Handler) http.Handler {
	configured := func(r *mcp.CallToolRequest) *Config {
		h := r.Extra.Header
		return &Config{API: api, Credential: h.Get("Authorization"), Base: h.Get(baseHeader), Account: h.Get(accountHeader)}
	}
	all := sync.OnceValue(func() *mcp.Server { return newServer(version, false, configured) })
	reading := sync.OnceValue(func() *mcp.Server { return newServer(version, true, configured) })
	served := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		if r.URL.Query().Get("read-only") == "true" {
			return reading()
		}
		return all()
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxMessage,
		DisableLocalhostProtection: true, // the gate has checked the names
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.Header.Set(baseHeader, map[bool]string{true: "https://", false: "http://"}[r.TLS != nil]+r.Host)
		r.Header.Set(accountHeader, r.URL.Query().Get("account"))
		served.ServeHTTP(w, r)
	})
}

// Serve serves one session over two streams, until the client closes in or the context ends.
func Serve(ctx context.Context, cfg Config, in io.ReadCloser, out io.Writer) error {
	err := newServer(cfg.Version, cfg.ReadOnly, func(*mcp.CallToolRequest) *Config { return &cfg }).Run(ctx, &mcp.IOTransport{Reader: in, Writer: unclosed{out}, MaxLineLength: maxMessage})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // stopped by its user
	}
	return err
}

// unclosed is a stream that outlives the session.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// newServer is a server of the protocol. configured is what the session of a call can reach.
func newServer(version string, readOnly bool, configured func(*mcp.CallToolRequest) *Config) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "understudy", Title: "Understudy", Version: version}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{}}, // nothing changes during a session
	})
	for _, t := range tools() {
		if readOnly && t.effect != reads {
			continue
		}
		s.AddTool(t.described, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return (&visit{Config: configured(r), ctx: ctx}).call(t, r.Params.Arguments), nil
		})
	}
	for _, p := range help.Pages() {
		s.AddResource(&mcp.Resource{URI: pageURI + p.Name, Name: p.Name, Title: p.Title, MIMEType: "text/markdown", Size: int64(len(p.Text))},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: pageURI + p.Name, MIMEType: "text/markdown", Text: p.Text}}}, nil
			})
	}
	for _, p := range prompts {
		s.AddPrompt(&mcp.Prompt{Name: p.name, Title: p.title, Description: p.does, Arguments: []*mcp.PromptArgument{{Name: "id", Description: p.takes, Required: true}}}, p.get)
	}
	return s
}

// pageURI is the start of the URI of each page of the documentation.
const pageURI = "understudy://docs/"

// prompt is a text that starts a task. %s is the id that it is about.
type prompt struct{ name, title, does, takes, text string }

var prompts = []prompt{
	{"debug-run", "Debug this run", "Find out why a workflow run, a message or a DLQ entry failed, and how to repair it.", "id of the run, the message or the DLQ entry", `Find out why %s is in its state on the local Understudy server.
1. Call why with this id. It names the failed step, the last response, the stack trace in it, and what can be done.
2. If the cause is in a body, call deliveries with the messageId from that answer.
3. Find the place in the source of the application that produced this response.
4. Report the cause in two sentences with the file and the line, and propose a repair. After the repair, restart or resume repeats the run; advance moves the clock over its waits.`},
	{"write-test", "Write a test for this failure", "Turn a failure into a test that fails until it is repaired.", "id of the message, the run or the DLQ entry that failed", `Write a test that reproduces the failure of %s.
1. Call why with this id, then deliveries with its messageId: the test publishes the same body and headers to the same endpoint.
2. Call docs_read with page testing, then the page for the language of the application: testing-go, testing-javascript or testing-python. Use the helper that it describes: a server for each test, with a manual clock.
3. Stub the other destinations with the responses that deliveries shows. Do not sleep: advance the clock.
4. Run the test. It must fail with the same response before the repair, and pass after it.`},
}

func (p prompt) get(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	id := r.Params.Arguments["id"]
	if id == "" {
		return nil, fmt.Errorf("argument id: missing: must be the %s", p.takes)
	}
	return &mcp.GetPromptResult{Description: p.does, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprintf(p.text, id)}}}}, nil
}

// link is the URL of a view of the page.
func (c *Config) link(view string) string {
	link := c.Base + "/_understudy/ui/" + view
	if c.Account != "" {
		link += "?account=" + url.QueryEscape(c.Account)
	}
	return link
}
