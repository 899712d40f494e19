package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/mockserver/explore"
	"github.com/understudy-mock/understudy/mockserver/explore/program"
)

// watched is a scenario that a person plays: the requests to the application, in their order.
type watched struct {
	mu    sync.Mutex
	steps []string
}

// maxWatched bounds the steps of a file.
const maxWatched = 100

// through records the requests and passes them to the application.
func (w *watched) through(to *url.URL) http.Handler {
	proxy := httputil.NewSingleHostReverseProxy(to)
	return http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(answer, r.Body, 64<<10))
		if err != nil {
			http.Error(answer, "explore --init: body: "+err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		w.mu.Lock()
		if len(w.steps) < maxWatched {
			w.steps = append(w.steps, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+clip.Line(string(body))))
		}
		w.mu.Unlock()
		proxy.ServeHTTP(answer, r)
	})
}

// init starts the application behind a proxy, and writes a configuration file with the
// requests that it gets until Ctrl-C or the end of standard input.
func (c *ExploreCmd) init(e *env, words []string) error {
	name := e.flags.Config
	if name == "" {
		name = "explore.yaml"
	}
	if _, err := os.Stat(name); err == nil {
		return usageError("explore --init: %s exists", name)
	}
	file := &program.File{Version: 1, Outside: map[string]program.OutsideService{}}
	file.App.URL = "http://127.0.0.1:{port}"
	for service, variable := range c.Outside {
		file.Outside[service] = program.OutsideService{Env: variable}
	}
	x, err := newExplored(file, words, nil)
	if err != nil {
		return err
	}
	defer x.close()
	if err := x.app.Reset(e.ctx); err != nil {
		return err
	}
	app, err := url.Parse(x.app.URL())
	if err != nil {
		return err
	}
	w := &watched{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	front := &http.Server{Handler: w.through(app)} //nolint:gosec // on loopback, for one person
	defer front.Close()                            //nolint:errcheck // nothing is kept
	go front.Serve(l)                              //nolint:errcheck // Close ends it
	_, _ = fmt.Fprintf(e.out, "The application is at http://%s. Make the requests of your scenario, then press Enter.\n", l.Addr())
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(os.Stdin); scanner.Scan(); {
			select {
			case lines <- strings.TrimSpace(scanner.Text()):
			case <-e.ctx.Done():
				return
			}
		}
	}()
	next := func() string { // "" at the end of standard input
		select {
		case line := <-lines:
			return line
		case <-e.ctx.Done():
			return ""
		}
	}
	next()
	settled, cancel := context.WithTimeout(e.ctx, 5*time.Second)
	defer cancel()
	_ = x.worker.Service.Account.Settle(settled) // what is still in flight is only missing in a comment
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.steps) == 0 {
		return errors.New("explore --init: no request was made: nothing is written")
	}
	file.App.Reset = asked(e, x.app, next, "Reset before each case, such as POST /test/reset or a command; Enter restarts the application, which is slower: ")
	file.State = asked(e, x.app, next, "Final state, such as GET /test/state or a command; Enter for none: ")
	if err := os.WriteFile(name, []byte(initialFile(file, w.steps, x.worker.Service.Conductor.Called())), 0o600); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.out, "%s has the scenario. Now run: understudy explore --config %s -- %s\n", name, name, strings.Join(words, " "))
	return err
}

// asked asks for a request or a command until one works, or the answer is empty.
func asked(e *env, app *program.Process, next func() string, question string) string {
	for {
		_, _ = fmt.Fprint(e.out, question)
		what := next()
		if what == "" {
			_, _ = fmt.Fprintln(e.out)
			return ""
		}
		shown, err := app.Do(e.ctx, what)
		if err == nil {
			_, _ = fmt.Fprintf(e.out, "works: %s\n", cmp.Or(explore.Clip(strings.TrimSpace(string(shown))), "no output"))
			return what
		}
		_, _ = fmt.Fprintf(e.out, "failed: %v\n", err)
	}
}

// initialFile is a configuration file with comments.
func initialFile(file *program.File, steps []string, called map[string]bool) string {
	quoted := func(text string) string {
		written, _ := yaml.Marshal(text) // texts always marshal
		return strings.TrimSpace(string(written))
	}
	var b strings.Builder
	b.WriteString(`version: 1
app:
  url: "http://127.0.0.1:{port}"   # {port} is also PORT in the environment of the application
  # ready: /health                 # answers 2xx when the application is ready
  reset: ` + quoted(cmp.Or(file.App.Reset, "restart")) + "   # before each case; a request such as POST /test/reset is faster than restart\n")
	if len(file.Outside) == 0 {
		b.WriteString("# outside:                         # services that the application calls, answered and recorded\n#   payments: {env: PAYMENTS_URL, answer: {status: 201, body: '{\"id\":\"ch_1\"}'}}\n")
	} else {
		b.WriteString("outside:\n")
		for _, name := range slices.Sorted(maps.Keys(file.Outside)) {
			variable, note := file.Outside[name].Env, ""
			if !called[name] {
				note = "   # was not called"
			}
			fmt.Fprintf(&b, "  %s: {env: %s, answer: {status: 200, body: '{}'}}%s\n", name, variable, note)
		}
	}
	b.WriteString("scenario:\n")
	for _, s := range steps {
		b.WriteString("  - " + quoted(s) + "\n")
	}
	b.WriteString("  - advance 1d                     # retries, sleeps and delays\n")
	if file.State == "" {
		b.WriteString("# state: GET /test/state           # the final state of the application, compared as JSON\n")
	} else {
		b.WriteString("state: " + quoted(file.State) + "\n")
	}
	b.WriteString("# keys: [/order]                   # members of bodies that identify what they are about\n")
	return b.String()
}
