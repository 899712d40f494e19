package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// protocol is the version of the protocol between suite and adapter.
const protocol = 1

// What an adapter may do. The values are those of docs/conformance/judge-a-client.md.
const (
	helloTimeout = 30 * time.Second
	endTimeout   = 3 * time.Second // after the end of its input
	maxLine      = 16 << 20        // of its output, in bytes
	keptStderr   = 2 << 10         // in bytes
	keptNoise    = 100             // lines
)

// Hello is what an adapter says about its library.
type Hello struct {
	Protocol   int      `json:"protocol"`
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Language   string   `json:"language"`
	Dialect    string   `json:"dialect"` // of the library; "": that of the suite
	Operations []string `json:"operations"`
	Options    []string `json:"options"`
	Features   []string `json:"features"`
	Without    []string `json:"without"` // members of results that the library's types do not have: failureCallbackInfo@dlq.list
	Sentinel   string   `json:"sentinel"`
	FixedHost  string   `json:"fixed_host"`
	Depends    []string `json:"depends"`
}

// has reports whether the adapter declares an operation, an option or a feature: publish,
// option:delay:number@publish, feature:retry. An adapter may declare an option with the forms of its
// value and the operations that take it: delay:string@publish,batch.
func (h *Hello) has(what string) bool {
	list := h.Operations
	if name, ok := strings.CutPrefix(what, "option:"); ok {
		list, what = h.Options, name
	} else if name, ok := strings.CutPrefix(what, "feature:"); ok {
		list, what = h.Features, name
	}
	within := func(list, one string) bool {
		return one == "" || list == "" || slices.Contains(strings.Split(list, ","), one)
	}
	what, op, _ := strings.Cut(what, "@")
	name, form, _ := strings.Cut(what, ":")
	return slices.ContainsFunc(list, func(declared string) bool {
		declared, ops, _ := strings.Cut(declared, "@")
		known, forms, _ := strings.Cut(declared, ":")
		return known == name && within(forms, form) && within(ops, op)
	})
}

// lacks reports whether the adapter declares that results of an operation are without a member.
func (h *Hello) lacks(member, op string) bool {
	return slices.ContainsFunc(h.Without, func(declared string) bool {
		name, ops, limited := strings.Cut(declared, "@")
		return name == member && (!limited || slices.Contains(strings.Split(ops, ","), op))
	})
}

// offered is what a result must have, without the members that the library does not offer; nil if nothing is left.
func (h *Hello) offered(result any, op string) any {
	switch v := result.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			if !h.lacks(name, op) {
				if left := h.offered(member, op); left != nil || member == nil {
					out[name] = left
				}
			}
		}
		if len(out) == 0 && len(v) > 0 {
			return nil
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, one := range v {
			if left := h.offered(one, op); left != nil || one == nil {
				out = append(out, left)
			}
		}
		if len(out) < len(v) {
			return nil
		}
		return out
	}
	return result
}

// answer is a line of an adapter.
type answer struct {
	ID          *int64          `json:"id"`
	Result      json.RawMessage `json:"result"`
	Error       *callError      `json:"error"`
	Unsupported string          `json:"unsupported"`
	Broken      string          `json:"broken"`
	Hello

	line  string
	value any // of Result
}

// callError is an error that the library gave to its caller.
type callError struct {
	Class      string `json:"class"`
	Library    *bool  `json:"library"`
	Message    string `json:"message"`
	Status     *int   `json:"status"`
	Limit      any    `json:"limit"`
	Remaining  any    `json:"remaining"`
	Reset      any    `json:"reset"`
	RetryAfter any    `json:"retry_after"`
}

// errProtocol marks an adapter that breaks the protocol: no verdict about its library is possible.
var errProtocol = errors.New("the adapter breaks the protocol")

// errGone marks an adapter that ended, or did not answer in time.
var errGone = errors.New("the adapter")

// errSilent marks an adapter that did not answer in time: that is not known to be its library's fault.
var errSilent = fmt.Errorf("%w did not answer", errGone)

// adapter is a running adapter.
type adapter struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	ended  chan struct{} // closed when its output has ended
	exited chan struct{} // closed when the process has ended
	status error         // of the process
	hello  Hello

	mu      sync.Mutex
	next    int64
	pending map[int64]chan *answer
	fault   error // why it is of no further use
	noise   []string
	stderr  tail
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps the end of p.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if extra := len(t.text) - keptStderr; extra > 0 {
		t.text = slices.Clone(t.text[extra:])
	}
	return len(p), nil
}

// take returns what was kept and forgets it.
func (t *tail) take() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.ToValidUTF8(string(t.text), "?")
	t.text = nil
	return strings.TrimSpace(text)
}

// startAdapter starts an adapter and shakes hands.
func startAdapter(ctx context.Context, command []string, env []string, hello map[string]any) (*adapter, error) {
	a := &adapter{pending: map[int64]chan *answer{}, ended: make(chan struct{}), exited: make(chan struct{})}
	a.cmd = exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
	a.cmd.Env, a.cmd.Stderr = env, &a.stderr
	ownGroup(a.cmd)
	in, err := a.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	a.in = in
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	a.cmd.Stdout, a.cmd.WaitDelay = w, endTimeout
	if err := a.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("the adapter cannot be started: %w", err), r.Close(), w.Close())
	}
	_ = w.Close() // the child has its own
	go a.read(r)
	go func() {
		defer close(a.exited)
		a.status = a.cmd.Wait()
	}()
	hello["op"], hello["protocols"] = "hello", []int{protocol}
	got, err := a.call(ctx, hello, helloTimeout)
	switch {
	case err == nil && got.Broken+got.Unsupported != "":
		err = fmt.Errorf("%w: hello: %s", errProtocol, got.line)
	case err == nil && got.Protocol != protocol:
		err = fmt.Errorf("%w: hello: protocol: got %d, want %d", errProtocol, got.Protocol, protocol)
	case err == nil && (got.Name == "" || len(got.Operations) == 0):
		err = fmt.Errorf("%w: hello: name and operations must be present: %.200s", errProtocol, got.line)
	}
	if err != nil {
		a.kill()
		return nil, err
	}
	a.hello = got.Hello
	return a, nil
}

// call sends one line and waits for its answer.
func (a *adapter) call(ctx context.Context, line map[string]any, timeout time.Duration) (*answer, error) {
	a.mu.Lock()
	if a.fault != nil {
		defer a.mu.Unlock()
		return nil, a.fault
	}
	a.next++
	id, got := a.next, make(chan *answer, 1)
	a.pending[id] = got
	a.mu.Unlock()
	line["id"] = id
	text, err := encode(line)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	go func() { _, _ = a.in.Write(append(text, '\n')) }() // an adapter that does not read must not stop the suite; its end is seen below
	select {
	case x := <-got:
		return x, nil
	case <-a.ended:
		select {
		case x := <-got:
			return x, nil
		default:
		}
		return nil, a.give(fmt.Errorf("%w ended: %s", errGone, a.last()))
	case <-ctx.Done():
		if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
			return nil, cause
		}
		return nil, a.give(fmt.Errorf("%w %s within %s%s", errSilent, line["op"], timeout, after("; its standard error: ", a.stderr.take())))
	}
}

// give records why the adapter is of no further use; the first reason counts.
func (a *adapter) give(why error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fault == nil {
		a.fault = why
	}
	return a.fault
}

// last says how the process ended. One that has only closed its output is ended.
func (a *adapter) last() string {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	select {
	case <-a.exited:
	case <-ctx.Done():
		a.kill()
	}
	status := "exit status 0"
	if a.status != nil {
		status = a.status.Error()
	}
	return status + after("; its standard error: ", a.stderr.take())
}

func after(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// read takes in what the adapter writes, until it ends or breaks the protocol.
func (a *adapter) read(r *os.File) {
	defer close(a.ended)
	defer r.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		if err := a.take(lines.Bytes()); err != nil {
			_ = a.give(err)
			break
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		_ = a.give(fmt.Errorf("%w: it wrote a line of more than %d MiB", errProtocol, maxLine>>20))
	}
	a.mu.Lock()
	broken := a.fault != nil
	a.mu.Unlock()
	if broken {
		_ = a.cmd.Process.Kill()
	}
}

// take takes in one line: an answer, or noise.
func (a *adapter) take(line []byte) error {
	before, text, marked := bytes.Cut(line, []byte{0x1e})
	if !marked {
		before, text = nil, line
	}
	a.hear(before)
	var x answer
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err := d.Decode(&x)
	if rest := bytes.TrimSpace(text[min(int(d.InputOffset()), len(text)):]); err == nil && len(rest) > 0 {
		err = fmt.Errorf("text after the JSON value: %.100s", rest)
	}
	if err != nil && bytes.HasPrefix(bytes.ReplaceAll(bytes.TrimSpace(text), []byte(" "), nil), []byte(`{"id":`)) {
		return fmt.Errorf("%w: it wrote an answer that is not valid: %w: %.200s", errProtocol, err, text)
	}
	if err != nil || x.ID == nil {
		a.hear(text)
		return nil
	}
	x.line = string(text)
	if x.Result != nil {
		if x.value, err = decode(x.Result); err != nil {
			return fmt.Errorf("%w: %w", errProtocol, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	waiting := a.pending[*x.ID]
	if waiting == nil {
		if *x.ID > 0 && *x.ID <= a.next {
			return fmt.Errorf("%w: it answered the call %d twice: %.200s", errProtocol, *x.ID, text)
		}
		return fmt.Errorf("%w: it answered a call that was not made: %.200s", errProtocol, text)
	}
	if *x.ID > 1 && x.Result == nil && x.Error == nil && x.Unsupported+x.Broken == "" {
		return fmt.Errorf("%w: an answer must have result, error, unsupported or broken: %.200s", errProtocol, text)
	}
	delete(a.pending, *x.ID)
	waiting <- &x
	return nil
}

// hear keeps a line that is no answer.
func (a *adapter) hear(line []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if text := strings.TrimSpace(string(line)); text != "" && len(a.noise) < keptNoise {
		a.noise = append(a.noise, fmt.Sprintf("%.200s", text))
	}
}

// heard returns the lines that were no answers.
func (a *adapter) heard() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.noise)
}

// kill ends the process and its children at once.
func (a *adapter) kill() {
	_ = a.in.Close()
	killGroup(a.cmd)
	<-a.exited
}

// close ends the input and waits for the adapter, which has a limited time to end.
func (a *adapter) close(ctx context.Context) {
	_ = a.in.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	select {
	case <-a.exited:
	case <-ctx.Done():
	}
	a.kill()
}
