package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/mockserver/gate"
	"github.com/understudy-mock/understudy/mockserver/saved"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/route"
)

// remote is the control API of a running stand-in.
type remote struct {
	URL     address `global:"" default:"http://127.0.0.1:8080" help:"Address of the stand-in."`
	Token   string  `global:"" name:"control-token" aliases:"token" placeholder:"T" help:"Token of the control API."`
	Account string  `global:"" placeholder:"ID" nonempty:"" help:"Account to act on. Default: the first. * means all, except for lists."`

	CAFile string `global:"" name:"ca-file" env:"UNDERSTUDY_CA_FILE" placeholder:"FILE" help:"Trust the certificates in this file (PEM) as well as those of the system; for the CA of serve --tls-self-signed."`

	header http.Header       // sent with the next calls
	flags  *strings.Replacer // the flags and arguments that places in errors of the server stand for; nil: none
	client *http.Client      // nil: the first call creates it
}

// address is the URL of a stand-in. Its scheme is http when the flag has none.
type address string

// UnmarshalText parses a flag.
func (a *address) UnmarshalText(text []byte) error {
	s := string(text)
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	if u, err := url.Parse(s); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("invalid value %q: must be the address of a server, such as http://127.0.0.1:8080", text)
	}
	*a = address(s)
	return nil
}

// base is the URL without a slash at its end.
func (a address) base() string { return strings.TrimRight(string(a), "/") }

// outputFlags say how answers are printed.
type outputFlags struct {
	Output   string `short:"o" global:"" default:"auto" enum:"auto,table,json" help:"Format of answers: table (tables and sentences), json (the answer of the control API), or auto (table on a terminal, else json)."`
	Absolute bool   `global:"" help:"Print times in UTC, not as distances from now."`
}

// CtlCmd talks to the control API of a running stand-in.
type CtlCmd struct {
	remote      `embed:""`
	outputFlags `embed:""`

	Health   ctlHealth   `cmd:"" help:"Show whether the stand-in is running, and its clock." example:"understudy ctl health\nunderstudy ctl health -o json"`
	Reset    ctlReset    `cmd:"" help:"Forget everything except the configuration." example:"understudy ctl reset"`
	Clock    ctlClock    `cmd:"" help:"Show the clock, set its mode, or correct it." example:"understudy ctl clock\nunderstudy ctl clock manual"`
	Advance  ctlAdvance  `cmd:"" ids:"next,idle" help:"Advance a manual clock, and wait for everything that becomes due." example:"understudy ctl advance 24h\nunderstudy ctl advance next\nunderstudy ctl advance idle"`
	Settle   ctlSettle   `cmd:"" help:"Wait until no attempt is ready or in flight." example:"understudy ctl settle --timeout 30s"`
	Messages ctlMessages `cmd:"" help:"List messages, or show one with its attempts and the body of its answer." example:"understudy ctl messages --state failed\nunderstudy ctl messages msg_01J8Z"`
	Runs     ctlRuns     `cmd:"" help:"List workflow runs with the step that failed and why, or show the steps of one." example:"understudy ctl runs --state failed\nunderstudy ctl runs wfr_01J8Z"`
	DLQ      struct {
		List    ctlDLQ   `cmd:"" default:"withargs" help:"List the dead letter queue, or show an entry." example:"understudy ctl dlq\nunderstudy ctl dlq --destination https://app.example.com/"`
		Retry   ctlVerbs `cmd:"" ids:"dlq" do:"retryDLQMessage" says:"{{.id}} is retried as message {{.messageId}}." help:"Publish messages of the DLQ again." example:"understudy ctl dlq retry 1795426105180-2"`
		Delete  ctlVerbs `cmd:"" ids:"dlq" do:"deleteDLQMessage" undo:"delete DLQ entries" says:"{{.id}} deleted." help:"Delete entries of the DLQ." example:"understudy ctl dlq delete 1795426105180-2"`
		Restart ctlVerbs `cmd:"" ids:"dlq" do:"restartWorkflowRunAlias" says:"{{.id}} is restarted as run {{.workflowRunId}}." help:"Restart failed workflow runs from their first step." example:"understudy ctl dlq restart 1795426105180-2"`
		Resume  ctlVerbs `cmd:"" ids:"dlq" do:"resumeWorkflowRunAlias" says:"{{.id}} is resumed as run {{.workflowRunId}}." help:"Resume failed workflow runs at the step that failed." example:"understudy ctl dlq resume wfr_01J8Z"`
	} `cmd:"" name:"dlq" help:"List the dead letter queue, and retry, delete, restart or resume its entries."`
	Cancel    ctlVerbs  `cmd:"" ids:"messages,runs" do:"cancelMessage" undo:"cancel" run:"endWorkflowRun" says:"{{.id}} cancelled." help:"Cancel messages or workflow runs." example:"understudy ctl cancel msg_01J8Z\nunderstudy ctl cancel wfr_01J8Z"`
	Family    ctlVerb   `cmd:"" name:"cancel-family" ids:"messages" do:"controlCancelFamily" undo:"cancel with descendants" says:"{{count .cancelled \"message\"}} cancelled." help:"Cancel a message with all messages that follow from it by deliveries of the server to itself." example:"understudy ctl cancel-family msg_01J8Z"`
	Now       ctlVerb   `cmd:"" name:"deliver-now" ids:"messages" do:"controlHurry" says:"{{.id}} is being delivered." help:"Make the next attempt of a message now." example:"understudy ctl deliver-now msg_01J8Z"`
	Search    ctlSearch `cmd:"" help:"Find messages, runs, DLQ entries and log events by words and filters." example:"understudy ctl search order state:failed since:1h"`
	Schedules struct {
		List   ctlNoun `cmd:"" default:"1" help:"List schedules with their next times." example:"understudy ctl schedules"`
		Run    ctlVerb `cmd:"" ids:"schedules" do:"controlRunSchedule" says:"Published {{range .messageIds}}{{.}} {{end}}by schedule {{.id}}." help:"Run a schedule now; its next run time stays the same." example:"understudy ctl schedules run nightly"`
		Pause  ctlVerb `cmd:"" ids:"schedules" do:"pauseSchedule" says:"Schedule {{.id}} paused." help:"Pause a schedule." example:"understudy ctl schedules pause nightly"`
		Resume ctlVerb `cmd:"" ids:"schedules" do:"resumeSchedule" says:"Schedule {{.id}} resumed." help:"Resume a paused schedule." example:"understudy ctl schedules resume nightly"`
		Delete ctlVerb `cmd:"" ids:"schedules" do:"deleteSchedule" undo:"delete the schedule" scope:"schedule" says:"Schedule {{.id}} deleted." help:"Delete a schedule." example:"understudy ctl schedules delete nightly"`
	} `cmd:"" aliases:"schedule" help:"List schedules, and run, pause, resume or delete one."`
	Queues struct {
		List   ctlNoun `cmd:"" default:"1" help:"List queues." example:"understudy ctl queues"`
		Pause  ctlVerb `cmd:"" ids:"queues" do:"pauseQueue" says:"Queue {{.id}} paused." help:"Pause a queue." example:"understudy ctl queues pause emails"`
		Resume ctlVerb `cmd:"" ids:"queues" do:"resumeQueue" says:"Queue {{.id}} resumed." help:"Resume a paused queue." example:"understudy ctl queues resume emails"`
	} `cmd:"" aliases:"queue" help:"List queues, and pause or resume one."`
	Keys struct {
		List   ctlNoun `cmd:"" default:"1" help:"List flow-control keys." example:"understudy ctl keys"`
		Pause  ctlVerb `cmd:"" ids:"keys" do:"pauseFlowControlKey" says:"Key {{.id}} paused." help:"Pause a flow-control key: no attempt with it starts." example:"understudy ctl keys pause tenant-7"`
		Resume ctlVerb `cmd:"" ids:"keys" do:"resumeFlowControlKey" says:"Key {{.id}} resumed." help:"Resume a paused flow-control key." example:"understudy ctl keys resume tenant-7"`
	} `cmd:"" aliases:"key,flow" help:"List flow-control keys, and pause or resume one."`
	Groups     ctlNoun     `cmd:"" help:"List URL groups with their endpoints." example:"understudy ctl groups"`
	Waiters    ctlNoun     `cmd:"" help:"List the workflow runs that wait for an event." example:"understudy ctl waiters"`
	Events     ctlEvents   `cmd:"" set:"follow=false" help:"List the events of the log, or follow them." example:"understudy ctl events --state attempt-failed\nunderstudy ctl events --follow"`
	Tail       ctlEvents   `cmd:"" set:"follow=true" set:"count=10" help:"Print the latest events of the log, and then each as it happens: events --follow." example:"understudy ctl tail\nunderstudy ctl tail --state failed"`
	Undo       ctlUndo     `cmd:"" help:"List the undo points of an account, go back to one, or create one." example:"understudy ctl undo --keep 'cancel all'\nunderstudy ctl undo undo_1"`
	Publish    ctlPublish  `cmd:"" help:"Publish a message." example:"understudy ctl publish http://localhost:3000/api/hook '{\"order\":7}' --retries 1\nunderstudy ctl publish http://localhost:3000/api/hook --file order.json"`
	Notify     ctlNotify   `cmd:"" help:"Notify the workflow runs that wait for an event." example:"understudy ctl notify shipped '{\"by\":\"ship\"}'"`
	Restart    ctlVerbs    `cmd:"" ids:"dlq" do:"restartWorkflowRunAlias" says:"{{.id}} is restarted as run {{.workflowRunId}}." help:"Restart failed workflow runs from their first step." example:"understudy ctl restart wfr_01J8Z"`
	Pause      ctlPause    `cmd:"" verb:"pause" help:"Pause a flow-control key, a queue or a schedule." example:"understudy ctl pause queue emails"`
	Resume     ctlResume   `cmd:"" ids:"dlq" verb:"resume" do:"resumeWorkflowRunAlias" says:"{{.id}} is resumed as run {{.workflowRunId}}." help:"Resume failed workflow runs at the step that failed, or a paused key, queue or schedule." example:"understudy ctl resume wfr_01J8Z\nunderstudy ctl resume queue emails"`
	Requests   ctlJournal  `cmd:"" help:"List the journal of API requests." example:"understudy ctl requests --limit 20\nunderstudy ctl requests --follow"`
	Deliveries ctlJournal  `cmd:"" help:"List the journal of deliveries." example:"understudy ctl deliveries --match msg_01J8Z\nunderstudy ctl deliveries --har out.har"`
	Stub       ctlStub     `cmd:"" aliases:"stubs" help:"List stubs, add one (URL STATUS[:BODY]...), or clear them." example:"understudy ctl stub 'https://app.example.com/*' 503 200:ok\nunderstudy ctl stub --clear"`
	Fault      ctlFault    `cmd:"" aliases:"faults" help:"List faults, add one (api or delivery), or clear them." example:"understudy ctl fault api --operation publishMessage --status 500 --times 1\nunderstudy ctl fault delivery --drop --probability 0.1"`
	Rewrites   ctlRewrites `cmd:"" help:"List rewrites, or set them (FROM=TO ...)." example:"understudy ctl rewrites https://app.example.com=http://127.0.0.1:3000"`
	Fixture    ctlFixture  `cmd:"" aliases:"seed" help:"Load a fixture file: URL groups, messages, runs, DLQ entries and history." example:"understudy ctl fixture fixture.yaml"`
	Fleet      ctlNoun     `cmd:"" help:"Show the servers of the fleet, and which server has each account." example:"understudy ctl fleet"`
	Journal    ctlKept     `cmd:"" help:"Export the journal."`
	Snapshot   ctlSnapshot `cmd:"" help:"Save the whole state to a file, or load it."`
}

type (
	ctlHealth struct{}
	ctlReset  struct {
		Yes bool `short:"y" env:"-" help:"Do not ask, as on a terminal."`
	}
	ctlClock struct {
		Mode    string `arg:"" optional:"" ids:"real,manual,auto" help:"real, manual or auto."`
		Correct bool   `env:"-" help:"Set a real clock that is ahead to the clock of the machine. All times of the state move back by the same amount; nothing is lost."`
	}
	ctlStub struct {
		URL     string   `arg:"" optional:"" help:"A URL with *, or /expression/."`
		Answers []string `arg:"" optional:"" help:"STATUS[@DELAY][:BODY], one after the other; the last one repeats."`
		Delay   string   `placeholder:"DURATION" help:"How long each answer without @DELAY takes on the clock of the account, such as 3s."`
		File    string   `placeholder:"FILE" help:"Replace all stubs by the list in this YAML or JSON file ('spec --schema stubs' describes it)."`
		Clear   bool     `help:"Remove all stubs."`
	}
	ctlRewrites struct {
		Pairs []string `arg:"" optional:"" help:"FROM=TO."`
		Clear bool     `help:"Remove all rewrites."`
	}
	ctlUndo struct {
		ID   string `arg:"" optional:"" help:"The undo point to go back to, such as undo_1. Without it, the points are listed, newest first."`
		Keep string `env:"-" placeholder:"LABEL" help:"Create an undo point now, labelled with the action that follows, such as 'reset'."`
	}
	// ctlPause and ctlResume pause and resume a noun with this verb.
	ctlPause struct {
		Kind string `arg:"" enum:"key,queue,schedule" help:"key, queue or schedule."`
		Name string `arg:"" help:"Its name."`
	}
	ctlResume struct {
		IDs []string `arg:"" name:"id" help:"Ids of DLQ entries or of failed workflow runs; or key, queue or schedule, and its name."`
	}
)

// Run prints the health of the stand-in.
func (*ctlHealth) Run(e *env, c *CtlCmd) error {
	return c.show(e, words("health"), nil, route.ControlHealth)
}

// Run resets the stand-in, after a question on a terminal, and keeps an undo point of each
// account.
func (k *ctlReset) Run(e *env, c *CtlCmd) error {
	all := struct{ Accounts []string }{[]string{c.Account}}
	if c.Account == "*" {
		if err := c.call(e, http.MethodGet, "accounts", nil, nil, &all); err != nil {
			return err
		}
	}
	if !k.Yes && command.IsTerminal(e.out) && term.IsTerminal(int(os.Stdin.Fd())) {
		if err := c.confirmReset(e, all.Accounts); err != nil {
			return err
		}
	}
	for _, account := range all.Accounts {
		if err := c.keepUndo(e, account, "reset", "account", ""); err != nil {
			return err
		}
	}
	return c.show(e, words("Everything is forgotten, except the configuration."), nil, route.ControlReset)
}

// confirmReset says what the accounts forget, and asks for a yes.
func (c *CtlCmd) confirmReset(e *env, accounts []string) error {
	for _, account := range accounts {
		one := c.remote
		one.Account = account
		var now struct{ Account, Forgets string }
		if err := one.call(e, http.MethodGet, "overview", nil, nil, &now); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(e.err, "Account %s forgets %s. Its clock returns to its start.\n", now.Account, now.Forgets)
	}
	_, _ = fmt.Fprint(e.err, "Reset? [y/N] ")
	answer, _ := bufio.NewReader(os.Stdin).ReadString('\n') // without an answer, it is no
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return command.Fail(command.ExitFailed, errors.New("reset: not confirmed: nothing was changed"))
	}
	return nil
}

// keepUndo keeps an undo point before something is removed, as the page does, and says so to
// people. What is too large to keep is removed all the same, with a line that says so.
func (c *CtlCmd) keepUndo(e *env, account, label, scope, id string) error {
	one := c.remote
	one.Account = account
	body := struct {
		Label string `json:"label"`
		Scope string `json:"scope"`
		ID    string `json:"id,omitempty"`
	}{label, scope, id}
	var kept struct{ ID string }
	err := one.call(e, http.MethodPost, "undo", nil, body, &kept)
	if err != nil && strings.Contains(err.Error(), "cannot be undone") {
		_, _ = fmt.Fprintf(e.err, "understudy: warning: %v\n", err)
		return nil
	}
	if err == nil && c.forPeople(e) {
		_, _ = fmt.Fprintf(e.err, "`understudy ctl undo %s` takes it back.\n", kept.ID)
	}
	return err
}

// Run shows or sets the clock.
func (k *ctlClock) Run(e *env, c *CtlCmd) error {
	body := map[string]any{}
	if k.Mode != "" {
		body["mode"] = k.Mode
	}
	if k.Correct {
		body["correct"] = true
	}
	if len(body) == 0 {
		return c.show(e, words("clock"), nil, route.ControlClock)
	}
	return c.show(e, words("clock"), body, route.ControlSetClock)
}

// Run lists the undo points, creates one, or goes back to one.
func (k *ctlUndo) Run(e *env, c *CtlCmd) error {
	switch {
	case k.ID != "" && k.Keep != "":
		return usageError("--keep: must be without the id of a point")
	case k.Keep != "":
		return c.show(e, words("Undo point {{.id}} created. `understudy ctl undo {{.id}}` goes back to it."), map[string]string{"label": k.Keep}, route.ControlKeepUndo)
	case k.ID != "":
		return c.show(e, words(`Back at undo point {{.id}}, before "{{plain .label}}".`), nil, route.ControlUndo, k.ID)
	}
	return c.show(e, tables["undo"], nil, route.ControlUndos)
}

// Run pauses a key, queue or schedule.
func (k *ctlPause) Run(e *env, c *CtlCmd, at *kong.Context) error {
	return c.actOn(e, verbOf(at, k.Kind).Tag, k.Name)
}

// Run resumes runs, or a key, queue or schedule.
func (k *ctlResume) Run(e *env, c *CtlCmd, at *kong.Context) error {
	if len(k.IDs) == 2 && slices.Contains([]string{"key", "queue", "schedule"}, k.IDs[0]) {
		return c.actOn(e, verbOf(at, k.IDs[0]).Tag, k.IDs[1])
	}
	err := (&ctlVerbs{k.IDs}).Run(e, c, at)
	if failure, ok := errors.AsType[*command.Failure](err); ok && len(k.IDs) == 1 {
		failure.Err = fmt.Errorf("%w; for what is paused, type key, queue or schedule before its name", failure.Err)
	}
	return err
}

// Run lists, adds or clears stubs.
func (k *ctlStub) Run(e *env, c *CtlCmd) error {
	switch {
	case k.File != "" && (k.Clear || k.URL != "" || k.Delay != ""):
		return usageError("--file: must be used without a URL, --delay and --clear: the file has all stubs")
	case k.File != "":
		return k.load(e, c)
	case k.Clear:
		return c.clear(e, "stubs", route.ControlClearStubs)
	case k.URL == "":
		return c.show(e, tables["stub"], nil, route.ControlStubs)
	}
	if _, err := strconv.Atoi(k.URL); err == nil {
		return usageError("<url>: invalid value %q: must be a URL, and the statuses come after it", k.URL)
	}
	if len(k.Answers) == 0 {
		return usageError("<answers>: missing: must be one or more of STATUS[:BODY], such as 503 or 200:ok")
	}
	answers := []stub.Answer{}
	for _, text := range k.Answers {
		answer := stub.ParseAnswer(text)
		answer.Delay = cmp.Or(answer.Delay, k.Delay)
		answers = append(answers, answer)
	}
	return c.show(e, tables["stub"], stub.Stub{URL: k.URL, Answers: answers}, route.ControlAddStub)
}

// load replaces all stubs by the stubs in a file.
func (k *ctlStub) load(e *env, c *CtlCmd) error {
	text, err := os.ReadFile(k.File)
	if err != nil {
		return usageError("--file: %w", err)
	}
	list, err := saved.ReadStubs(k.File, text)
	if err != nil {
		return usageError("--file %w", err)
	}
	return c.show(e, tables["stub"], list, route.ControlSetStubs)
}

// Run lists, sets or clears rewrites.
func (k *ctlRewrites) Run(e *env, c *CtlCmd) error {
	switch {
	case k.Clear:
		return c.clear(e, "rewrites", route.ControlClearRewrites)
	case len(k.Pairs) == 0:
		return c.show(e, words("rewrites"), nil, route.ControlRewrites)
	}
	m := map[string]string{}
	for _, pair := range k.Pairs {
		from, to, ok := strings.Cut(pair, "=")
		if !ok {
			return usageError("rewrite: invalid value %q: must be FROM=TO", pair)
		}
		m[from] = to
	}
	return c.show(e, words("rewrites"), m, route.ControlSetRewrites)
}

// clear removes all stubs, faults or rewrites, and keeps an undo point.
func (c *CtlCmd) clear(e *env, rules string, r route.Route) error {
	if err := c.keepUndo(e, c.Account, "remove all "+rules, "rules", ""); err != nil {
		return err
	}
	return c.show(e, words("No "+rules+"."), nil, r)
}

// show calls an operation and prints the answer.
func (c *CtlCmd) show(e *env, v view, body any, r route.Route, values ...string) error {
	answer, err := c.ask(e, r, values, nil, body)
	return c.print(e, answer, err, v)
}

// forPeople reports whether answers are printed as tables and sentences.
func (c *CtlCmd) forPeople(e *env) bool {
	return c.Output == "table" || c.Output == "auto" && command.IsTerminal(e.out)
}

// print writes the answer of a call that has not failed: for people on a terminal, as JSON for
// scripts.
func (c *CtlCmd) print(e *env, answer json.RawMessage, failed error, v view) error {
	if failed != nil {
		return failed
	}
	if c.forPeople(e) {
		return e.show(&c.remote, &c.outputFlags, answer, v)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, answer, "", "  "); err != nil {
		return fmt.Errorf("answer is not JSON: %w", err)
	}
	_, err := fmt.Fprintln(e.out, pretty.String())
	return err
}

// done prints what a command has done: a sentence, also for scripts, unless -o asks for JSON.
func (c *CtlCmd) done(e *env, did map[string]any, sentence string) error {
	answer, err := json.Marshal(did)
	return c.say(e, answer, err, words(sentence))
}

// say is print in words, also for scripts, unless -o asks for JSON.
func (c *CtlCmd) say(e *env, answer json.RawMessage, failed error, v view) error {
	if c.Output == "auto" {
		c.Output = "table"
	}
	return c.print(e, answer, failed, v)
}

// show shows an answer to people.
func (e *env) show(c *remote, o *outputFlags, answer json.RawMessage, v view) error {
	var value any
	if err := json.Unmarshal(answer, &value); err != nil {
		return fmt.Errorf("answer is not JSON: %w", err)
	}
	now := sync.OnceValues(func() (int64, bool) {
		if own, ok := within(value, "now").(float64); ok {
			return int64(own), true
		}
		var clock struct{ Now int64 }
		err := c.call(e, http.MethodGet, "clock", nil, nil, &clock)
		return clock.Now, err == nil
	})
	return v.show(e.screen(c, o, now), value)
}

// streamedTypes are the content types of answers that call copies while they arrive.
var streamedTypes = []string{"application/json", "application/x-ndjson"}

// verbOf is the verb of a command for a noun, such as `keys pause` for `pause key`.
func verbOf(at *kong.Context, kind string) *kong.Node {
	noun, _ := command.Find(at.Model.Node, []string{"ctl", kind, at.Selected().Tag.Get("verb")})
	return noun
}

// call sends a request and decodes the JSON answer into answer, or copies it to an io.Writer.
// An error has the server's text.
func (c *remote) call(e *env, method, path string, q url.Values, body, answer any) error {
	var reader io.Reader = http.NoBody
	switch raw := body.(type) {
	case nil:
	case []byte:
		reader = bytes.NewReader(raw)
	case io.Reader:
		reader = raw
	default:
		b, err := json.Marshal(body)
		if err != nil {
			return usageError("%w", err)
		}
		reader = bytes.NewReader(b)
	}
	r, err := c.request(e, method, path, q, reader)
	if err != nil {
		return err
	}
	response, err := c.do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if to, ok := answer.(io.Writer); ok && response.StatusCode == http.StatusOK && slices.Contains(streamedTypes, response.Header.Get("Content-Type")) {
		if _, err := io.Copy(to, response.Body); err != nil {
			return command.Fail(command.ExitUnreachable, err)
		}
		return nil
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return command.Fail(command.ExitUnreachable, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return c.refusal(response, text)
	}
	for name, values := range response.Header {
		if strings.HasSuffix(name, "-Warning") { // with the dialect's prefix
			_, _ = fmt.Fprintln(e.err, "understudy: warning: "+strings.Join(values, "; "))
		}
	}
	if len(text) == 0 {
		text = []byte("{}")
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return command.Fail(command.ExitUnreachable, fmt.Errorf("%s is not a stand-in: its answer is not JSON", c.URL))
	}
	return nil
}

// request is a request to the control API, for the account and with the token.
func (c *remote) request(e *env, method, path string, q url.Values, body io.Reader) (*http.Request, error) {
	if q == nil {
		q = url.Values{}
	}
	if c.Account != "" {
		q.Set("account", c.Account)
	}
	r, err := http.NewRequestWithContext(e.ctx, method, strings.TrimSuffix(c.URL.base()+"/_understudy/"+path+"?"+q.Encode(), "?"), body)
	if err != nil {
		return nil, usageError("--url: invalid value %q: %w", c.URL, err)
	}
	maps.Copy(r.Header, c.header)
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	return r, nil
}

// refusal is the error for a response that refuses a request.
func (c *remote) refusal(response *http.Response, text []byte) error {
	var refused struct{ Error string }
	if why := spec.WrongScheme(response.Request.URL.String(), string(text)); why != "" {
		return command.Fail(command.ExitUnreachable, fmt.Errorf("stand-in unreachable at %s: %w", c.URL, wrongScheme(why)))
	}
	if json.Unmarshal(text, &refused) != nil || refused.Error == "" {
		return command.Fail(command.ExitUnreachable, fmt.Errorf("%s is not a stand-in: it answers %s", c.URL, response.Status))
	}
	code := command.ExitFailed
	if response.StatusCode == http.StatusBadRequest || response.StatusCode == http.StatusUnauthorized {
		code = command.ExitUsage
	}
	if c.flags != nil {
		refused.Error = c.flags.Replace(refused.Error)
	}
	return command.Fail(code, errors.New(refused.Error+c.helpOn(response)))
}

// helpOn is " (see URL)" with the documentation of a refusal that the response links to, ""
// without a link.
func (c *remote) helpOn(r *http.Response) string {
	section, ok := strings.CutSuffix(r.Header.Get("Link"), `>; rel="help"`)
	if !ok {
		return ""
	}
	return " (see " + c.URL.base() + strings.TrimPrefix(section, "<") + ")"
}

// do sends a request to the stand-in. Its error says what the user can do.
func (c *remote) do(r *http.Request) (*http.Response, error) {
	if c.client == nil {
		transport, err := trustingTransport(c.CAFile)
		if err != nil {
			return nil, usageError("--ca-file: %w", err)
		}
		c.client = &http.Client{Transport: transport}
	}
	if c.Token == "" && namesLoopback(r.Context(), r.URL.Hostname()) {
		r.Host = "localhost" // another name does not open the control API without a token
	}
	response, err := c.client.Do(r)
	if err == nil {
		return response, nil
	}
	hint := "`understudy serve` starts one"
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		hint = "--ca-file FILE names the CA to trust; a server with --tls-self-signed prints its own"
	}
	if why := spec.WrongSchemeOf(r.Context(), r.URL.String(), err); why != "" {
		return nil, command.Fail(command.ExitUnreachable, fmt.Errorf("stand-in unreachable at %s: %w", c.URL, wrongScheme(why)))
	}
	return nil, command.Fail(command.ExitUnreachable, fmt.Errorf("stand-in unreachable at %s: %w; %s", c.URL, urlCause(err), hint))
}

// namesLoopback reports whether a name has only addresses of loopback, for example because of
// a line in the hosts file.
func namesLoopback(ctx context.Context, name string) bool {
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	return err == nil && !slices.ContainsFunc(list, func(a netip.Addr) bool { return !a.Unmap().IsLoopback() })
}

// trustingTransport is the default transport, or one that also trusts the certificates in a
// file.
func trustingTransport(file string) (http.RoundTripper, error) {
	if file == "" {
		return http.DefaultTransport, nil
	}
	roots, err := trustedRoots(file)
	if err != nil {
		return nil, err
	}
	return &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}, nil
}

// trustedRoots are the certificates of the system and of a file.
func trustedRoots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil { // the system has none
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate: must be PEM", file)
	}
	return roots, nil
}

// wrongScheme is the error for HTTP sent to a TLS port, or TLS sent to a port of plain HTTP.
type wrongScheme string

func (w wrongScheme) Error() string { return string(w) }

// urlCause is the error inside a *url.Error, because the text of the latter repeats the URL.
func urlCause(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// HealthCmd is for container health checks.
type HealthCmd struct {
	URL address `default:"http://127.0.0.1:8080" help:"Address of the stand-in, over http or https."`
}

// Run succeeds when the stand-in is ready. The health check of an image cannot depend on the
// flags of its server: when a port on loopback answers plain HTTP with a TLS error, Run asks
// again over TLS. It sends no secret, so it accepts any certificate.
func (h *HealthCmd) Run(e *env) error {
	anyone := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	c := remote{URL: h.URL, client: &http.Client{Transport: anyone}}
	var answer json.RawMessage
	err := c.call(e, http.MethodGet, "readyz", nil, nil, &answer)
	_, other := errors.AsType[wrongScheme](err)
	if host, plain := strings.CutPrefix(h.URL.base(), "http://"); other && plain && gate.LocalHost(host) {
		c.URL = address("https://" + host)
		return c.call(e, http.MethodGet, "readyz", nil, nil, &answer)
	}
	return err
}
