package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/mockserver/explore"
)

// Process is a scenario whose application is a program.
type Process struct {
	File    *File
	Command []string
	Env     []string                             // for the program and for commands, in addition to that of this process
	Prepare func(c *exec.Cmd)                    // sets what ends the program with this process; nil: nothing
	End     func(p *os.Process, kill bool) error // asks it to end, or kills it

	starting atomic.Pointer[chan struct{}] // closed when the application has started again after a crash; nil: there was none
	running  *exec.Cmd
	ended    chan struct{} // closed when it has ended
	url      string
	port     string
	log      tail
}

// maxState is the largest answer of the application that is read, in bytes.
const maxState = 16 << 20

// stopLimit is how long the application may take to stop.
const stopLimit = 5 * time.Second

// Reset brings the application to its first state before each case, the first included: what an earlier search
// left in a database must not count. One that has ended starts again: the case in which it ended is a finding.
func (p *Process) Reset(ctx context.Context) error {
	reset := p.File.App.Reset
	restart := reset == "" || reset == "restart"
	for fresh := false; ; fresh = true {
		if restart || !p.alive() {
			p.Stop()
			if err := p.start(ctx); err != nil || restart {
				return err
			}
			fresh = true
		}
		_, err := p.Do(ctx, reset)
		if err == nil {
			return nil
		}
		if _ = clock.Pause(ctx, dying); fresh || p.alive() {
			return p.orEnded(ctx, err)
		}
	}
}

func (p *Process) alive() bool {
	if p.running == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Crash kills the application and starts it again, at the same address.
func (p *Process) Crash(ctx context.Context) error {
	started := make(chan struct{})
	p.starting.Store(&started)
	defer close(started)
	_ = p.End(p.running.Process, true) // it may have ended by itself
	<-p.ended
	return p.startAt(ctx, p.port)
}

// start starts the application and waits until it is ready.
func (p *Process) start(ctx context.Context) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	return p.startAt(ctx, port)
}

func (p *Process) startAt(ctx context.Context, port string) error {
	p.port = port
	p.url = strings.TrimSuffix(strings.ReplaceAll(p.File.App.URL, "{port}", port), "/")
	child := exec.Command(p.Command[0], p.Command[1:]...) //nolint:noctx // Stop ends it
	child.Stdout, child.Stderr = &p.log, &p.log
	child.Env = append(append(os.Environ(), p.Env...), "PORT="+port, "APP_URL="+p.url)
	child.WaitDelay = stopLimit
	if p.Prepare != nil {
		p.Prepare(child)
	}
	if err := child.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = child.Wait() // its log says why it ended
		close(ended)
	}()
	p.running, p.ended = child, ended
	limit, _ := duration(p.File.App.Start, 30*time.Second) // ReadFile has checked it
	return p.await(ctx, limit)
}

// await waits until the application is ready.
func (p *Process) await(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if p.ready(ctx) {
			return nil
		}
		select {
		case <-p.ended:
			return errors.New("the application ended before it was ready: " + p.log.last())
		case <-ctx.Done():
			return fmt.Errorf("the application was not ready after %s (app.start) at %s%s: %s", limit, p.url, p.File.App.Ready, p.log.last())
		default:
			_ = clock.Pause(ctx, 10*time.Millisecond)
		}
	}
}

func (p *Process) ready(ctx context.Context) bool {
	if p.File.App.Ready == "" {
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(strings.TrimPrefix(p.url, "http://"), "https://"), time.Second)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}
	_, err := p.request(ctx, step{method: http.MethodGet, path: p.File.App.Ready})
	return err == nil
}

// Stop ends the application and waits for its end.
func (p *Process) Stop() {
	if !p.alive() {
		return
	}
	_ = p.End(p.running.Process, false) // it may have ended meanwhile
	limited, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	select {
	case <-p.ended:
	case <-limited.Done():
		_ = p.End(p.running.Process, true)
		<-p.ended
	}
}

// URL is the address of the application.
func (p *Process) URL() string { return p.url }

// Quiet is how long the application must not call before a case ends: always, if the file says it.
func (p *Process) Quiet() (time.Duration, bool) { return p.File.quiet() }

// Play does the steps of the file.
func (p *Process) Play(ctx context.Context, c *explore.Case) error {
	if p.File.Scenario.Command != "" {
		return c.Do(ctx, func() error {
			_, err := p.shell(ctx, p.File.Scenario.Command)
			return err
		})
	}
	for _, text := range p.File.Scenario.Steps {
		s, err := parseStep(text)
		if err != nil {
			return err
		}
		if s.method == "" {
			err = c.Advance(ctx, s.advance)
		} else {
			err = c.Do(ctx, func() error {
				_, err := p.request(ctx, s)
				return err
			})
		}
		if err != nil {
			return p.orEnded(ctx, err)
		}
	}
	return nil
}

// State is the final state of the application, which must not have ended.
func (p *Process) State(ctx context.Context) (text []byte, err error) {
	if p.File.State != "" {
		text, err = p.Do(ctx, p.File.State)
	}
	return text, p.orEnded(ctx, err)
}

// orEnded returns an error, or that the application has ended, which explains it.
func (p *Process) orEnded(ctx context.Context, err error) error {
	if err != nil {
		_ = clock.Pause(ctx, dying)
	}
	if !p.alive() {
		return errors.New("the application ended by itself: " + p.log.last())
	}
	return err
}

// dying is how long the end of a process may take after its connections are closed.
const dying = 200 * time.Millisecond

// Check runs the user's check.
func (p *Process) Check(ctx context.Context, _ *explore.Observation) error {
	if p.File.Check == "" {
		return nil
	}
	_, err := p.Do(ctx, p.File.Check)
	return err
}

// Do makes a request to the application, or runs a command.
func (p *Process) Do(ctx context.Context, what string) ([]byte, error) {
	if isRequest(what) {
		s, err := parseStep(what)
		if err != nil {
			return nil, err
		}
		return p.request(ctx, s)
	}
	return p.shell(ctx, what)
}

// request makes a request to the application; an answer that is not 2xx is an error.
func (p *Process) request(ctx context.Context, s step) ([]byte, error) {
	if started := p.starting.Load(); started != nil && s.path != p.File.App.Ready { // that path asks whether it has started
		select {
		case <-*started:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r, err := http.NewRequestWithContext(ctx, s.method, p.url+s.path, strings.NewReader(s.body))
	if err != nil {
		return nil, err
	}
	r.Close = true // an application may close a connection that it kept, after an error
	if s.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", s.method, s.path, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxState))
	if answer.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: the application answered %s: %s", s.method, s.path, answer.Status, explore.Clip(string(body)))
	}
	return body, err
}

// shell runs a command of the user, in a shell, with the addresses of the case.
func (p *Process) shell(ctx context.Context, text string) ([]byte, error) {
	name, flag := "sh", "-c"
	if os.PathSeparator == '\\' {
		name, flag = "cmd", "/c"
	}
	c := exec.CommandContext(ctx, name, flag, text)
	c.Env = append(append(os.Environ(), p.Env...), "APP_URL="+p.url)
	c.WaitDelay = stopLimit
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", text, err, explore.Clip(strings.TrimSpace(errs.String()+out.String())))
	}
	return out.Bytes(), nil
}

// freePort is a port on which nothing listens.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// tail keeps the end of a log.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is how much of a log is kept, in bytes.
const maxTail = 64 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if len(t.text) > 2*maxTail {
		t.text = append([]byte(nil), t.text[len(t.text)-maxTail:]...)
	}
	return len(b), nil
}

// complaint is a line that says what went wrong.
var complaint = regexp.MustCompile(`(?i)(error|exception|panic|fatal)\b.`)

// last is the last line that says what went wrong, otherwise the last one.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	last := lines[len(lines)-1]
	for _, line := range slices.Backward(lines) {
		if complaint.MatchString(line) {
			last = line
			break
		}
	}
	if last = strings.TrimSpace(last); last != "" {
		return "it printed: " + explore.Clip(last)
	}
	return "it printed nothing"
}
