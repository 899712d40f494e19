package saved

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/usage"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/stub"
	"github.com/understudy-mock/understudy/mockserver/tenant"
)

// Fixture is a fixture file: YAML or JSON, described by
// spec/schema.json. Errors begin with its name.
type Fixture struct {
	Name string
	Text []byte
}

// Load adds the contents of a fixture to the server. An invalid fixture changes
// nothing; the error names the line and the key.
func (s *States) Load(f Fixture) error {
	_, err := s.addFixture(s.Tenants.First(), cmp.Or(f.Name, "fixture"), f.Text)
	return err
}

// fixtures loads a fixture into the account of the call. The name in the
// query is used in errors only.
func (s *States) fixtures(c *request.Call) (any, error) {
	name := c.Query.Get("name")
	if name == "" {
		name = "body"
	}
	n, err := s.addFixture(c.Tenant, name, c.Body)
	return map[string]int{"accounts": n}, err
}

// fixtureTarget is one account with the parts of the fixture that it receives.
type fixtureTarget struct {
	tenant  *tenant.Tenant
	pointer string
	things  engine.Fixture
	stubs   []stub.Stub
}

// addFixture reads and checks the whole file before it changes anything. It
// returns how many accounts received a part of it.
func (s *States) addFixture(w *tenant.Tenant, name string, text []byte) (int, error) {
	f, plain, err := ReadFixture(name, text)
	if err != nil {
		return 0, err
	}
	var file FixtureFile
	if err := json.Unmarshal(plain, &file); err != nil {
		return 0, f.At("", err)
	}
	var made []tenant.Credentials
	var trials []*tenant.Tenant
	defer func() {
		for _, w := range trials {
			_, _ = w.Account.Close(), w.KV.Close() // trial accounts make no attempts
		}
	}()
	all := []fixtureTarget{{tenant: w, stubs: file.Stubs}}
	if all[0].things, err = s.fixtureOf(f, "", w.Account.Now(), &file.Things); err != nil {
		return 0, err
	}
	seen := map[string]bool{}
	for i := range file.Accounts {
		one, pointer := &file.Accounts[i], fmt.Sprint("/accounts/", i)
		known := s.Tenants.Find(func(w *tenant.Tenant) bool { return w.ID == one.ID })
		a := tenant.Credentials{ID: one.ID, Token: cmp.Or(one.Token, tenant.DerivedSecret(one.ID, "token")), Password: one.Password}
		if err := s.mayMake(known, a, seen); err != nil {
			return 0, f.At(pointer, err)
		}
		if known == nil {
			made = append(made, a)
			known = s.Tenants.Trial(a) // not registered: no request reaches it yet
			trials = append(trials, known)
		} else if err := known.Here(); err != nil {
			return 0, f.At(pointer, err)
		}
		things, err := s.fixtureOf(f, pointer, known.Account.Now(), &one.Things)
		if err != nil {
			return 0, err
		}
		all = append(all, fixtureTarget{known, pointer, things, one.Stubs})
	}
	for _, one := range all {
		if err := one.tenant.Account.CheckFixture(one.things); err != nil {
			return 0, f.At(one.pointer, err)
		}
	}
	for _, a := range made {
		if _, err := s.Tenants.Put(a); err != nil {
			return 0, err
		}
	}
	for _, one := range all {
		target := s.Tenants.Find(func(w *tenant.Tenant) bool { return w.ID == one.tenant.ID })
		if err := target.Here(); err != nil { // it has moved after the check
			return 0, f.At(one.pointer, err)
		}
		target.Stubs.AddLast(one.stubs)                               // before the first message is delivered
		if err := target.Account.AddFixture(one.things); err != nil { // the account changed after the check
			return 0, f.At(one.pointer, err)
		}
		for i := range one.things.Vectors {
			target.OpenIndex(one.things.Vectors[i].Name)
		}
	}
	return len(all), nil
}

// mayMake refuses an account whose id or token is given twice, or whose token
// opens another account.
func (s *States) mayMake(known *tenant.Tenant, a tenant.Credentials, seen map[string]bool) error {
	owner := s.Tenants.Owner(a.Token)
	switch {
	case seen[a.ID] || seen["\x00"+a.Token]:
		return response.Invalid("account " + strconv.Quote(a.ID) + ": id and token: must be given once each")
	case known != nil && a.Token != known.Token && a.Token != tenant.DerivedSecret(a.ID, "token"):
		return response.Invalid("token: the account exists with another token: must be that one, or absent")
	case known == nil && owner != nil:
		return response.Invalid("token: account " + strconv.Quote(owner.ID) + " has it: must be unique")
	}
	seen[a.ID], seen["\x00"+a.Token] = true, true
	return nil
}

// fixtureOf converts one account's part of a fixture into values of the engine.
func (s *States) fixtureOf(f *Source, pointer string, now time.Time, t *Things) (engine.Fixture, error) {
	r := &fixtureReader{states: s, file: f, now: now}
	var things engine.Fixture
	for i, g := range t.Groups {
		r.pointer = fmt.Sprint(pointer, "/groups/", i)
		things.Groups = append(things.Groups, r.group(g))
	}
	for _, q := range t.Queues {
		things.Queues = append(things.Queues, engine.Queue{Name: q.Name, Parallelism: max(q.Parallelism, 1), Paused: q.Paused})
	}
	for _, k := range t.FlowKeys {
		things.FlowKeys = append(things.FlowKeys, engine.FlowKey{Key: k.Key, Parallelism: k.Parallelism, Rate: k.Rate, Period: optionalDuration(k.Period), Paused: k.Paused,
			PinnedParallelism: k.Pinned && k.Parallelism > 0, PinnedRate: k.Pinned && k.Rate > 0})
	}
	for i, one := range t.Schedules {
		r.pointer = fmt.Sprint(pointer, "/schedules/", i)
		things.Schedules = append(things.Schedules, engine.Schedule{ID: one.ID, Cron: one.Cron, Paused: one.Paused, Request: r.message(&one.Message)})
	}
	for i := range t.Messages {
		r.pointer = fmt.Sprint(pointer, "/messages/", i)
		things.Messages = append(things.Messages, r.message(&t.Messages[i]))
	}
	for i := range t.DLQ {
		r.pointer = fmt.Sprint(pointer, "/dlq/", i)
		things.DLQ = append(things.DLQ, r.failure(&t.DLQ[i]))
	}
	for i := range t.Runs {
		r.pointer = fmt.Sprint(pointer, "/runs/", i)
		things.Runs = append(things.Runs, r.run(&t.Runs[i]))
	}
	for i := range t.Usage {
		r.pointer = fmt.Sprint(pointer, "/usage/", i)
		things.Usage = append(things.Usage, r.usage(&t.Usage[i])...)
	}
	for i, x := range t.Search {
		r.pointer = fmt.Sprint(pointer, "/search/", i)
		things.Search = append(things.Search, search.Index{ID: x.ID, Name: x.Name, Region: cmp.Or(x.Region, "eu-west-1"), Type: cmp.Or(x.Type, "free"), CreatedAt: r.time("createdAt", x.CreatedAt)})
	}
	for i := range t.Stubs {
		r.pointer = fmt.Sprint(pointer, "/stubs/", i)
		r.fail("", t.Stubs[i].Check())
	}
	for i := range t.Vectors {
		things.Vectors = append(things.Vectors, vectorsOf(&t.Vectors[i]))
	}
	return things, r.err
}

// fixtureReader converts the contents of a fixture into values of the engine,
// and keeps the first error.
type fixtureReader struct {
	states  *States
	file    *Source
	now     time.Time
	pointer string
	err     error
}

// fail keeps the first error: later ones often follow from it.
func (r *fixtureReader) fail(key string, err error) {
	if r.err == nil && err != nil {
		if known, ok := errors.AsType[*response.Error](err); ok && len(known.Problems) == 1 && known.Problems[0].In == "body" {
			value := known.Problems[0]
			value.In, value.Name = "", "" // the file has another place for it
			err = errors.New(strings.TrimPrefix(value.String(), ": "))
		}
		r.err = r.file.At(r.pointer+key, err)
	}
}

// time parses a time; an absent one is the zero time. The schema has checked
// the form.
func (r *fixtureReader) time(key string, raw json.RawMessage) (t time.Time) {
	var text string
	var n int64
	switch {
	case len(raw) == 0:
	case json.Unmarshal(raw, &n) == nil:
		t = time.UnixMilli(n)
	case json.Unmarshal(raw, &text) == nil:
		var err error
		t, err = ParseMoment(text, r.now)
		r.fail("/"+key, err)
	}
	return t.Truncate(time.Millisecond)
}

// optionalDuration parses a duration that the schema has checked; an absent one
// is 0.
func optionalDuration(text string) time.Duration {
	d, _ := response.Duration(text)
	return d
}

// headers builds a call from header fields with the names of any dialect.
func (r *fixtureReader) headers(fields Headers) *request.Call {
	texts := make(map[string]json.RawMessage, len(fields))
	for name, raw := range fields {
		if raw[0] != '"' && raw[0] != '[' { // numbers and booleans: their JSON text
			raw = json.RawMessage(strconv.Quote(string(raw)))
		}
		texts[name] = raw
	}
	h, err := request.ReadHeaders(texts)
	r.fail("/headers", err)
	c := &request.Call{Request: &http.Request{Header: h, URL: &url.URL{}}}
	r.states.Neutralise(c)
	r.fail("/headers", c.Mixed)
	return c
}

// request is a publish with these headers, read by the code that reads
// requests.
func (r *fixtureReader) request(fields Headers, body []byte) engine.PublishRequest {
	c := r.headers(fields)
	h := c.Header
	out := engine.PublishRequest{All: request.PlainHeaders(h), Body: body, CallerIP: "127.0.0.1"}
	request.KeepHeaders(&out, h)
	r.configure(c, &out)
	if c.Named.Dialect == nil {
		out.Options.Dialect = "" // the account decides
	}
	return out
}

// configure reads the options in the headers. An unknown option, for which a publish only
// returns a warning, is an error here: the file is written for this server.
func (r *fixtureReader) configure(c *request.Call, out *engine.PublishRequest) {
	r.fail("/headers", r.states.Configure(c, out, request.SettingsOf(c.Header)))
	out.Options.Workflow = nil // a run of a fixture says itself where it is
	if len(c.Warnings) > 0 {
		r.fail("/headers", errors.New(c.Warnings[0]))
	}
}

// message is a publish, read by the code that reads requests, so that a fixture
// cannot contain what the interface refuses.
func (r *fixtureReader) message(m *Message) engine.PublishRequest {
	out := r.request(m.Headers, m.Bytes())
	r.fail("/destination", request.SetDestination(&out, "body", m.Destination))
	if m.Queue != "" {
		if err := request.ReadName(&out.Options.Queue, m.Queue); err != nil {
			r.fail("/queue", fmt.Errorf("invalid value %q: %w", response.Shorten(m.Queue), err))
		}
	}
	return out
}

// group reads the default headers like the operation that updates a group.
func (r *fixtureReader) group(g Group) engine.Group {
	c := r.headers(g.Headers)
	h := c.Header
	defaults := engine.PublishRequest{}
	r.configure(c, &defaults)
	for i, e := range g.Endpoints {
		if err := request.CheckURL("body", "url", e.URL); err != nil {
			r.fail(fmt.Sprint("/endpoints/", i, "/url"), err)
		}
	}
	return engine.Group{Name: g.Name, Endpoints: g.Endpoints, Headers: engine.Header(h), Forward: request.PlainHeaders(h), Options: defaults.Options}
}

// usualFailure is the default status of a failed delivery in a
const usualFailure = 500

// outcome is the answer of a destination. It must be a failure: a delivered
// message has no DLQ entry.
func (r *fixtureReader) outcome(o *Outcome) engine.Outcome {
	out := engine.Outcome{Status: usualFailure, Header: engine.Header(r.headers(o.Headers).Header), Body: o.Bytes(), Err: o.Error}
	if o.Status != nil {
		out.Status = *o.Status
	} else if o.Error != "" {
		out.Status = 0
	}
	if out.Status == 0 && out.Err == "" {
		out.Err = "connection refused"
	}
	if out.Cause() == "" {
		r.fail("/response/status", fmt.Errorf("invalid value %d: not a failure: must be 0 for no answer, or a status below 200 or of 300 and more", out.Status))
	}
	return out
}

// callback is the result of a failure callback; nil for none.
func (r *fixtureReader) callback(cb *Callback) *engine.CallbackInfo {
	if cb == nil {
		return nil
	}
	return &engine.CallbackInfo{State: cb.State, Status: cb.Status, Header: engine.Header(r.headers(cb.Headers).Header), Body: response.BodyBytes(cb.Body)}
}

// retriesOf is how many retries were made: by default, all that the options
// allow.
func retriesOf(given *int, o engine.Options) int {
	switch {
	case given != nil:
		return *given
	case o.Retries != nil:
		return *o.Retries
	}
	return engine.DefaultRetries
}

// failure is a DLQ entry. The default time of the failure is the account's
// current time.
func (r *fixtureReader) failure(e *Entry) engine.Failure {
	out := engine.Failure{ID: e.ID, At: r.time("at", e.At), Request: r.message(&e.Message), Last: r.outcome(&e.Response), Callback: r.callback(e.Callback)}
	if out.At.IsZero() {
		out.At = r.now
	}
	out.Request.CallerIP = cmp.Or(e.CallerIP, out.Request.CallerIP)
	out.Retried = retriesOf(e.Retried, out.Request.Options)
	return out
}

// run is a finished run. By default it ended at the time of its creation.
func (r *fixtureReader) run(x *Run) engine.PastRun {
	out := engine.PastRun{ID: x.ID, State: engine.RunState(x.State), CreatedAt: r.time("createdAt", x.CreatedAt), EndedAt: r.time("endedAt", x.EndedAt),
		NextAt: r.time("nextAt", x.NextAt), Request: r.request(x.Headers, x.Bytes()), Result: response.BodyBytes(x.Result)}
	r.fail("/url", request.SetDestination(&out.Request, "body", x.URL))
	if out.CreatedAt.IsZero() {
		out.CreatedAt = r.now
	}
	if out.EndedAt.IsZero() {
		out.EndedAt = out.CreatedAt
	}
	out.Request.CallerIP = cmp.Or(x.CallerIP, out.Request.CallerIP)
	for _, s := range x.Steps {
		out.Steps = append(out.Steps, engine.Step{Name: s.Name, Type: cmp.Or(s.Type, "Run"), Out: string(response.BodyBytes(s.Out))})
	}
	for _, w := range x.Waits {
		out.Waits = append(out.Waits, engine.WaitRequest{EventID: w.Event, Timeout: w.Timeout})
	}
	if out.State == engine.RunFailed {
		out.Failure = engine.Failure{ID: x.DLQID, Last: r.outcome(&x.Response), Callback: r.callback(x.Callback), Retried: retriesOf(x.Retried, out.Request.Options)}
	}
	return out
}

// maxPoints is the largest number of points that one statistics entry may
// expand to.
const maxPoints = 100_000

// usage is one point of the statistics, or, for a span, one point for each of
// its steps.
func (r *fixtureReader) usage(u *Usage) []usage.Point {
	at, until, every := r.time("at", u.At), r.time("until", u.Until), optionalDuration(u.Every)
	if until.IsZero() {
		return []usage.Point{{At: at, Counts: u.Counts}}
	}
	if !until.After(at) {
		r.fail("/until", fmt.Errorf("invalid value %s: must be a time after at", u.Until))
		return nil
	}
	if u.Every == "" {
		r.fail("/every", errors.New("missing: must be a duration of at least 1m, because until is set"))
		return nil
	}
	if every < time.Minute || until.Sub(at)/every > maxPoints {
		r.fail("/every", fmt.Errorf("invalid value %q: must be a duration of at least 1m, at most %d times between at and until", u.Every, maxPoints))
		return nil
	}
	var list []usage.Point
	for t := at; t.Before(until); t = t.Add(every) {
		list = append(list, usage.Point{At: t, Counts: u.Counts})
	}
	return list
}

// vectorsOf are the vectors of a namespace. A null as metadata means none, as it
// does in an upsert.
func vectorsOf(x *Vectors) engine.FixtureVectors {
	out := engine.FixtureVectors{Namespace: x.Namespace, Config: vector.Config{Name: cmp.Or(x.Index, tenant.DefaultIndex.Name), Type: x.Type, Dimension: x.Dimension,
		Similarity: cmp.Or(x.Similarity, vector.Cosine), EmbeddingModel: x.EmbeddingModel}}
	for _, v := range x.Vectors {
		metadata := v.Metadata
		if bytes.Equal(metadata, []byte("null")) {
			metadata = nil
		}
		out.Vectors = append(out.Vectors, vector.Vector{ID: v.ID, Values: v.Vector, Sparse: v.Sparse, Metadata: metadata, Data: v.Data})
	}
	return out
}
