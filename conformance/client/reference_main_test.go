package client_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"
)

// TestMain also runs the reference client: the test binary with the argument
// reference-client is an adapter of the suite. The reference client is correct. With
// --mutant ID it has one defect of reference_mutants_test.go, and with --latitude NAME it
// does something unusual that is allowed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "reference-client" {
		var s switches
		flags := flag.NewFlagSet("reference-client", flag.ExitOnError)
		flags.StringVar(&s.mutant, "mutant", "", "defect")
		flags.StringVar(&s.latitude, "latitude", "", "unusual behavior that is allowed")
		_ = flags.Parse(os.Args[2:]) // it ends the process on an error
		newReference(s).run(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// switches are the defect and the latitude of a reference client.
type switches struct{ mutant, latitude string }

// broken reports whether the client has a defect.
func (s switches) broken(mutant string) bool { return s.mutant == mutant }

// does reports whether the client uses a latitude.
func (s switches) does(latitude string) bool { return s.latitude == latitude }

// reference is an adapter and a client in one program.
type reference struct {
	switches
	ca        string // file with the certificate authority of the run
	mu        sync.Mutex
	clients   map[string]*referenceClient // by the JSON of their configuration
	endpoints []*endpoint
	trace     []string
}

func newReference(s switches) *reference {
	return &reference{switches: s, clients: map[string]*referenceClient{}}
}

// line is a line from the suite.
type line struct {
	ID     json.RawMessage `json:"id"`
	Op     string          `json:"op"`
	CAFile string          `json:"ca_file"` //nolint:tagliatelle // the protocol's name
	Client json.RawMessage `json:"client"`
	Args   values          `json:"args"`
	Times  int             `json:"times"`
}

// run answers lines until its input ends: one after the other, or those that have arrived
// together from the last to the first.
func (r *reference) run(in io.Reader, out io.Writer) {
	lines := bufio.NewReader(in)
	for {
		var waiting []line
		for len(waiting) == 0 || r.does("out-of-order") && lines.Buffered() > 0 {
			text, err := lines.ReadBytes('\n')
			if err != nil {
				r.close()
				return
			}
			var c line
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			if err := d.Decode(&c); err != nil {
				fmt.Fprintf(os.Stderr, "not JSON: %v\n", err)
				continue
			}
			waiting = append([]line{c}, waiting...)
		}
		for i := range waiting {
			answer := r.answer(&waiting[i])
			answer["id"] = waiting[i].ID
			text, _ := json.Marshal(answer) // maps of plain values
			if r.does("noise") {
				fmt.Fprintf(out, "a line of a log\n{\"level\":\"info\"}\nsome text\x1e")
			}
			fmt.Fprintf(out, "%s\n", text)
		}
	}
}

func (r *reference) close() {
	for _, e := range r.endpoints {
		e.close()
	}
}

func (r *reference) answer(c *line) map[string]any {
	switch c.Op {
	case "hello":
		r.ca = c.CAFile
		return r.hello()
	case "verify":
		return outcome(r.verify(c.Args))
	case "trace":
		r.mu.Lock()
		defer r.mu.Unlock()
		steps := append([]string{}, r.trace...)
		r.trace = nil
		return map[string]any{"result": steps}
	}
	client, err := r.client(c.Client)
	if err != nil {
		return map[string]any{"broken": err.Error()}
	}
	switch c.Op {
	case "serve":
		return outcome(r.serve(client, c.Args))
	case "limit":
		return outcome(client.limit(c.Args))
	}
	build, known := operations[c.Op]
	if !known {
		return map[string]any{"unsupported": "operation " + c.Op}
	}
	var answer map[string]any
	for range max(c.Times, 1) {
		answer = outcome(client.call(c.Op, build, c.Args))
	}
	return answer
}

// hello declares everything that the client offers.
func (r *reference) hello() map[string]any {
	names := []string{"verify", "serve", "trace", "limit"}
	for name := range operations {
		names = append(names, name)
	}
	slices.Sort(names)
	hello := map[string]any{
		"protocol": 1, "name": "reference-client", "version": "1.0.0", "language": "Go", "operations": names,
		"options": append(slices.Sorted(optionNames()), "method", "headers", "filters", "redact", "flow_control", "callback_options", "failure_callback_options"),
		"features": []string{
			"base_url", "path_prefix", "env", "retry", "timeout", "tls", "plain", "bytes", "json.any", "verify.bytes", "tolerance", "error.status", "error.rate_limit", "both_destinations", "iterate", "no_redirect",
			"result", "lazy_fetch", "detect_trigger", "public_url", "step.run", "step.parallel", "step.sleep", "step.call", "step.wait", "step.notify", "step.invoke",
			"step.fail", "step.cancel", "step.early", "step.guarded",
		},
		"sentinel": "dlq.list", "depends": []string{},
	}
	if r.does("repeat-on-503") {
		features, _ := hello["features"].([]string)
		hello["features"] = append(features, "retries_status:503")
	}
	return hello
}

// outcome is the answer for what a call of the client returned.
func outcome(result any, err error) map[string]any {
	if err == nil {
		return map[string]any{"result": result}
	}
	e := map[string]any{"class": "ReferenceError", "library": true, "message": err.Error()}
	if f, ok := err.(*failure); ok { //nolint:errorlint // the client does not wrap it
		for name, value := range map[string]string{"limit": f.limit, "remaining": f.remaining, "reset": f.reset, "retry_after": f.retryAfter} {
			if value != "" {
				e[name] = value
			}
		}
		if f.status != 0 {
			e["status"] = f.status
		}
		if f.kind != "" {
			e["class"], e["library"] = f.kind, f.kind != "KeyError"
		}
	}
	return map[string]any{"error": e}
}
