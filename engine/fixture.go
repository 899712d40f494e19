package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/usage"
	"github.com/understudy-mock/understudy/engine/vector"
)

// Fixture is the contents of a fixture file: current and past objects that are
// added to an account.
type Fixture struct {
	Groups    []Group // names, endpoints, default headers and their options; made now unless they say when
	Queues    []Queue // names, parallelism, pauses
	FlowKeys  []FlowKey
	Schedules []Schedule // ids, cron lines, requests, pauses; made now unless they say when
	Messages  []PublishRequest
	DLQ       []Failure
	Runs      []PastRun
	Usage     []usage.Point
	Search    []search.Index
	Vectors   []FixtureVectors
}

// Failure is a message whose last attempt failed before now.
type Failure struct {
	ID       string // of the DLQ entry; "" draws one
	At       time.Time
	Request  PublishRequest // to a URL
	Retried  int            // retries that were made
	Last     Outcome        // of the last attempt
	Callback *CallbackInfo  // of the failure callback that the request asks for
}

// PastRun is a workflow run with the steps that its endpoint has reported. A run that has not
// ended continues: it waits for its events, or otherwise its endpoint is called at NextAt.
type PastRun struct {
	ID        string
	State     RunState
	CreatedAt time.Time
	EndedAt   time.Time
	Request   PublishRequest // the trigger
	Steps     []Step         // name, type and result
	Waits     []WaitRequest
	NextAt    time.Time
	Result    []byte  // of a run that succeeded
	Failure   Failure // of a run that failed: id of the entry, retries, outcome, callback
}

// FixtureVectors are the vectors of one namespace. A missing index is created if Type is set.
type FixtureVectors struct {
	vector.Config
	Namespace string
	Vectors   []vector.Vector
}

// AddFixture adds a fixture to the account: all of it, or nothing when it returns an error.
func (a *Account) AddFixture(s Fixture) error { return do(a, s) }

// apply checks again what the caller may have checked: the account may have changed since.
func (s Fixture) apply(a *Account) error {
	c, err := a.checkFixture(&s)
	if err != nil {
		return err
	}
	a.addChecked(c)
	return nil
}

// CheckFixture returns the error that AddFixture would return. It changes nothing.
func (a *Account) CheckFixture(s Fixture) error {
	a.lock()
	defer a.unlock()
	_, err := a.checkFixture(&s)
	return err
}

// checkedFixture is a fixture with the values that checking has parsed.
type checkedFixture struct {
	*Fixture
	crons    []state.CronLine // of its schedules
	messages []accepted
	waits    [][]waitStep // of its runs
}

// once refuses names that a fixture has twice or the account has already.
type once map[string]bool

// take checks one name. Entries without an id always pass: they get a new one.
func (o once) take(kind string, i int, id string, exists bool) error {
	switch {
	case o[kind+"\x00"+id]:
		return fixturePlace(kind, i, refusal.Of(ErrExists, "id", id, "is twice in the fixture"))
	case exists:
		return fixturePlace(kind, i, refusal.Of(ErrExists, "id", id, "exists already"))
	}
	o[kind+"\x00"+id] = id != ""
	return nil
}

// fixturePlace adds the place in the fixture to an error.
func fixturePlace(kind string, i int, err error) error {
	if err == nil {
		return nil
	}
	return refusal.At(fmt.Sprintf("/%s/%d", kind, i), err)
}

// checkFixture checks a whole fixture. Messages may use the groups of the fixture.
func (a *Account) checkFixture(s *Fixture) (*checkedFixture, error) {
	c := &checkedFixture{Fixture: s, crons: make([]state.CronLine, len(s.Schedules)), messages: make([]accepted, len(s.Messages)), waits: make([][]waitStep, len(s.Runs))}
	if a.closed {
		return nil, refusal.Of(ErrClosed, "account", a.cfg.ID, "closed")
	}
	was := a.state.Groups
	defer func() { a.state.Groups = was }()
	a.state.Groups = maps.Clone(was)
	for i, g := range s.Groups {
		if !ValidGroupName(g.Name) {
			return nil, fixturePlace("groups", i, refusal.OfValue("name", g.Name, "", "1 to 256 letters, digits, _, - and ."))
		}
		if err := a.publishable(&g); err != nil {
			return nil, fixturePlace("groups", i, err)
		}
		a.state.Groups[g.Name] = &s.Groups[i]
	}
	for i, q := range s.Queues {
		if q.Parallelism < 1 {
			return nil, fixturePlace("queues", i, refusal.OfValue("parallelism", strconv.Itoa(q.Parallelism), "", "an integer of 1 or more"))
		}
	}
	for i := range s.Schedules {
		var err error
		if c.crons[i], err = state.ParseCron(s.Schedules[i].Cron); err == nil {
			_, err = a.acceptable(s.Schedules[i].Request)
		}
		if err != nil {
			return nil, fixturePlace("schedules", i, err)
		}
	}
	for i := range s.Messages {
		var err error
		if c.messages[i], err = a.acceptable(s.Messages[i]); err != nil {
			return nil, fixturePlace("messages", i, err)
		}
	}
	return c, a.checkHistory(c)
}

// checkHistory checks past objects. Their ids must be unique in the account and
// in the fixture, because later requests find the objects by id.
func (a *Account) checkHistory(s *checkedFixture) (err error) {
	ids := once{}
	for i := range s.DLQ {
		f := &s.DLQ[i]
		err := ids.take("dlq", i, f.ID, a.state.DLQ.Get(f.ID) != nil)
		if err == nil {
			err = fixturePlace("dlq", i, a.checkFailure(f, f.Request))
		}
		if err != nil {
			return err
		}
	}
	for i := range s.Runs {
		r := &s.Runs[i]
		err := ids.take("runs", i, r.ID, a.state.Runs[r.ID] != nil)
		if err == nil && r.State == RunFailed {
			err = ids.take("dlq", i, r.Failure.ID, a.state.DLQ.Get(r.Failure.ID) != nil)
		}
		if err == nil {
			s.waits[i], err = a.checkRun(r)
			err = fixturePlace("runs", i, err)
		}
		if err != nil {
			return err
		}
	}
	for i, x := range s.Search {
		if err := ids.take("search", i, x.ID, a.state.Search[x.ID] != nil); err != nil {
			return err
		}
	}
	for i := range s.Vectors {
		if err := a.checkVectors(&s.Vectors[i]); err != nil {
			return fixturePlace("vectors", i, err)
		}
	}
	return nil
}

// checkFailure requires a time that is not in the future: the DLQ is sorted by
// time, and later failures are appended.
func (a *Account) checkFailure(f *Failure, r PublishRequest) error {
	if r.URL == "" {
		return refusal.OfValue("destination", "", "", "a URL")
	}
	if f.At.After(a.state.Now) {
		return refusal.OfValue("time", f.At.UTC().Format(time.RFC3339), "", "at most now, "+a.state.Now.UTC().Format(time.RFC3339))
	}
	if f.Callback != nil && r.Options.FailureCallback == nil {
		return refusal.OfValue("failure callback", "", "without a URL", "beside the option Failure-Callback")
	}
	_, err := a.acceptable(r)
	return err
}

// checkRun checks a run and returns its parsed waits.
func (a *Account) checkRun(r *PastRun) (waits []waitStep, err error) {
	switch r.State {
	case RunStarted, RunSuccess, RunFailed, RunCanceled:
	default:
		return nil, refusal.OfValue("state", string(r.State), "", fmt.Sprintf("one of %s, %s, %s, %s", RunStarted, RunSuccess, RunFailed, RunCanceled))
	}
	if r.EndedAt.Before(r.CreatedAt) || r.EndedAt.After(a.state.Now) {
		return nil, refusal.OfValue("end", r.EndedAt.UTC().Format(time.RFC3339), "", "a time from the beginning of the run, "+r.CreatedAt.UTC().Format(time.RFC3339)+", to now")
	}
	for i, w := range r.Waits {
		if w.URL = r.Request.URL; w.Step == nil {
			w.Step = a.cfg.Wire.StepBody(&Step{ID: len(r.Steps) + 1 + i, Name: "wait", Type: "Wait", Concurrent: 1})
		}
		wait, err := a.parseWaitStep(w)
		if err != nil {
			return nil, err
		}
		waits = append(waits, wait)
	}
	if len(r.Waits) > 0 && r.State != RunStarted {
		return nil, refusal.Of(ErrInvalid, "run", "", "waits for nothing in state "+string(r.State))
	}
	f := r.Failure
	f.At = r.EndedAt
	return waits, a.checkFailure(&f, r.Request)
}

// indexFor is the vector index of a fixture: an existing or configured one, or
// one that the fixture creates.
func (a *Account) indexFor(s *FixtureVectors) (*vector.Index, error) {
	if x := a.state.Vectors[s.Name]; x != nil {
		return x, nil
	}
	i := slices.IndexFunc(a.cfg.VectorIndexes, func(c vector.Config) bool { return c.Name == s.Name })
	switch {
	case i >= 0:
		return vector.New(a.cfg.VectorIndexes[i]), nil
	case s.Type != "":
		return vector.New(s.Config), nil
	}
	return nil, refusal.Of(ErrNotFound, "vector index", s.Name, "not found; a type creates it")
}

// checkVectors may check against an index that does not exist yet; addVectors stores it.
func (a *Account) checkVectors(s *FixtureVectors) error {
	x, err := a.indexFor(s)
	if err != nil {
		return err
	}
	if s.Type != "" && s.Type != x.Type || s.Dimension != 0 && x.Dimension != 0 && s.Dimension != x.Dimension {
		return refusal.Of(ErrExists, "vector index", s.Name, fmt.Sprintf("exists with type %s and dimension %d", x.Type, x.Dimension))
	}
	return x.Check(s.Vectors)
}

// addChecked adds what checkFixture has checked. Past objects are added in the
// order of their times.
func (a *Account) addChecked(s *checkedFixture) {
	for _, g := range s.Groups {
		if g.CreatedAt.IsZero() {
			g.CreatedAt = a.state.Now
		}
		g.UpdatedAt = a.state.Now
		if old := a.state.Groups[g.Name]; old != nil {
			g.CreatedAt = old.CreatedAt
		}
		a.setGroup(&g)
	}
	for _, q := range s.Queues {
		known := a.queue(q.Name)
		a.touch(known)
		known.Parallelism, known.Paused = q.Parallelism, q.Paused
		a.pump(known)
	}
	for i := range s.FlowKeys {
		a.addFlow(&s.FlowKeys[i])
	}
	for _, x := range s.Search {
		_, _ = a.state.Search.Create(x, a.newID, a.state.Now) // checkFixture looked at it
	}
	for i := range s.Vectors {
		a.addVectors(&s.Vectors[i])
	}
	for i := range s.Usage {
		a.state.Usage.At(s.Usage[i].At).Add(&s.Usage[i].Counts)
	}
	a.addHistory(s)
	for i, one := range s.Schedules {
		if one.ID == "" {
			one.ID = a.state.IDs.New("scd_", a.state.Now)
		}
		if one.CreatedAt.IsZero() {
			one.CreatedAt = a.state.Now
		}
		one.Line = s.crons[i]
		next, _ := a.nextTime(one.ID, one.Line) // on an error, the schedule has no next time
		a.setSchedule(&one, next)
	}
	for i := range s.Messages {
		a.publish(&s.messages[i])
	}
}

// addFlow sets limits without a message. They are pinned only if the fixture says so.
func (a *Account) addFlow(f *FlowKey) {
	k := a.key(f.Key)
	a.touch(k)
	k.Parallelism, k.Rate, k.PinnedParallelism, k.PinnedRate = f.Parallelism, f.Rate, f.PinnedParallelism, f.PinnedRate
	if f.Period > 0 {
		k.Period = f.Period
	}
	if f.Paused && !k.Paused {
		k.PausedAt = a.state.Now
	}
	k.Paused = f.Paused
	a.retime(k)
}

// addVectors stores the index too, because the fixture may have created it.
func (a *Account) addVectors(s *FixtureVectors) {
	x, err := a.indexFor(s)
	if err != nil {
		return // checkFixture looked at it
	}
	was := x.Bytes()
	x.Upsert(s.Namespace, s.Vectors, a.state.Now, 0)
	a.state.Vectors[s.Name] = x
	a.addWork(x.Bytes() - was)
}

// addHistory sets the account's time to the past for each event, and sorts the
// lists afterwards, which are otherwise in order of arrival.
func (a *Account) addHistory(s *checkedFixture) {
	type past struct {
		at  time.Time
		add func()
	}
	var all []past
	for i := range s.DLQ {
		all = append(all, past{s.DLQ[i].At, func() { a.addFailure(&s.DLQ[i]) }})
	}
	for i := range s.Runs {
		all = append(all, past{s.Runs[i].CreatedAt, func() { a.addPastRun(&s.Runs[i], s.waits[i]) }})
	}
	slices.SortStableFunc(all, func(x, y past) int { return x.at.Compare(y.at) })
	now := a.state.Now
	for _, p := range all {
		a.state.Now = p.at
		p.add()
	}
	a.state.Now = now
	a.state.RunList.Sort()
	a.state.DLQ.Sort()
	a.state.Log.Sort()
}

// attempted logs a message and its attempts without making the attempts.
func (a *Account) attempted(m *Message, o *Outcome, retried int) {
	o.Answer = a.cfg.Wire.ReadAnswer(o)
	a.touch(m)
	m.NotBefore, m.NextAt = m.CreatedAt, 0
	a.move(m, Created, state.LogEntry{Next: m.NotBefore.UnixMilli()})
	for ; ; m.Retried++ {
		a.move(m, Active, state.LogEntry{})
		m.Last = o
		if o.OK() {
			a.move(m, Delivered, state.LogEntry{LogDetail: &state.LogDetail{Outcome: o}})
			return
		}
		a.move(m, Errored, state.LogEntry{LogDetail: &state.LogDetail{Outcome: o, Error: state.FailureText(o)}})
		m.Answered(o, a.state.Now)
		if int(m.Retried) >= retried {
			return
		}
		a.move(m, Retry, state.LogEntry{Next: a.state.Now.UnixMilli(), LogDetail: &state.LogDetail{Rule: "fixture"}})
	}
}

// reported sets the result of the failure callback that the fixture states.
func (a *Account) reported(e *DLQEntry, info *CallbackInfo) {
	if info == nil {
		return
	}
	a.touch(e)
	told := *info
	told.MessageID, told.EndedAt, told.RequestHeader = a.state.IDs.New("msg_", a.state.Now), a.state.Now, e.Message.Options.FailureCallback.Options.Forward
	e.Callback = &told
}

// addFailure passes through the states of a real failure, so that the log and
// the statistics show the same.
func (a *Account) addFailure(f *Failure) {
	opts := a.state.Options.Intern(&f.Request.Options)
	m := &Message{URL: f.Request.URL, Headers: f.Request.Headers(&a.state.Headers, opts, nil), Body: f.Request.Body, Options: opts}
	a.compose(m, state.Origin{Role: RoleMessage, CallerIP: f.Request.CallerIP})
	a.attempted(m, &f.Last, f.Retried)
	e := a.deadLetterAs(f.ID, m, &f.Last)
	a.move(m, Failed, state.LogEntry{LogDetail: &state.LogDetail{Outcome: &f.Last, Error: state.FailureText(&f.Last), DLQID: e.ID}})
	a.reported(e, f.Callback)
}

// addPastRun writes the history of a run and ends it, or lets it continue.
func (a *Account) addPastRun(r *PastRun, waits []waitStep) {
	opts := a.state.Options.Intern(&r.Request.Options)
	run := &Run{RunRef: RunRef{ID: r.ID, URL: r.Request.URL, CreatedAt: a.state.Now}, State: RunStarted, Payload: r.Request.Body,
		Header: r.Request.Header, Forward: r.Request.Forwarded(opts), Options: opts, CallerIP: r.Request.CallerIP, Proven: true}
	if run.ID == "" {
		run.ID = a.state.IDs.New("wfr_", a.state.Now)
	}
	a.enlist(run)
	a.logRun(run, RunStarted, state.LogDetail{})
	items := []*state.StepItem{{Body: run.Payload, CallType: "step", Step: Step{Name: "init", Type: "Initial", Concurrent: 1, Out: string(run.Payload)}}}
	for i, s := range r.Steps {
		s.ID, s.Concurrent, s.CreatedAt = i+1, 1, a.state.Now
		items = append(items, &state.StepItem{CallType: "step", Step: s, Body: a.cfg.Wire.StepBody(&s)})
	}
	last := len(items) - 1
	for _, it := range items[:last] {
		a.called(run, it, &Outcome{Status: 200}, 0)
	}
	switch {
	case r.State != RunStarted:
		a.endPast(run, items[last], r)
	case len(waits) == 0:
		opts := *run.StepOptions(Options{})
		opts.NotBefore = r.NextAt
		a.carry(run, items[last], &opts, nil)
	default:
		a.called(run, items[last], &Outcome{Status: 200}, 0)
		for _, w := range waits {
			a.await(run, w)
		}
	}
}

// called logs the call to the endpoint that delivered an entry of the step list.
func (a *Account) called(run *Run, it *state.StepItem, o *Outcome, retried int) *Message {
	a.touch(run)
	a.touch(it)
	run.Items = append(run.Items, it)
	m := &Message{URL: run.URL, Headers: a.state.Headers.Pair(run.Header, a.cfg.Wire.RunHeader(run), run.Forward), Body: it.Body,
		Options: run.StepOptions(Options{}), Step: it, Cut: int32(len(run.Items))}
	a.compose(m, state.Origin{Role: RoleStep, CallerIP: run.CallerIP, RunID: run.ID})
	a.attempted(m, o, retried)
	it.MessageID, it.Ended = m.ID, m.State
	a.reweighItem(run, it)
	return m
}

// endPast ends a run at its own time, without what a real end would start: its
// failure callback has been sent, as the fixture states.
func (a *Account) endPast(run *Run, it *state.StepItem, r *PastRun) {
	o := &Outcome{Status: 200}
	if r.State == RunFailed {
		o = &r.Failure.Last
	}
	m := a.called(run, it, o, r.Failure.Retried)
	a.state.Now = r.EndedAt
	a.touch(run)
	a.touch(it)
	switch r.State {
	case RunFailed:
		it.Ended = Failed
		a.move(m, Failed, state.LogEntry{LogDetail: &state.LogDetail{Outcome: o, Error: state.FailureText(o)}})
		e := a.deadLetterRun(r.Failure.ID, run, m, o)
		a.reported(e, r.Failure.Callback)
		a.endRun(run, RunFailed, state.LogDetail{DLQID: e.ID, Error: state.FailureText(o), Outcome: o})
	case RunSuccess:
		run.Result = r.Result
		a.endRun(run, RunSuccess, state.LogDetail{})
	default:
		a.endRun(run, RunCanceled, state.LogDetail{})
	}
}
