package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// Receipt names a created message, or the earlier message that it duplicates.
type Receipt struct {
	MessageID    string
	URL          string
	Deduplicated bool
	RunID        string // of a trigger
	RunCreatedAt time.Time
}

// Receipts are what one publish created: one message, or one for each endpoint of a URL group.
type Receipts struct {
	One   Receipt   // of a publish to a URL
	Group []Receipt // of a publish to a URL group, in the order of its endpoints; else nil
}

func (r Receipts) all() []Receipt {
	if r.Group != nil {
		return r.Group
	}
	return []Receipt{r.One}
}

// Publish creates the messages of a request and returns without waiting for their delivery.
func (a *Account) Publish(r PublishRequest) (Receipts, error) { return runCommand(a, publishOne(r)) }

// publishOne is a request as a command: its record has the same members.
type publishOne PublishRequest

// apply fails a run whose step cannot be read, although the request is refused:
// its endpoint would repeat the same bytes endlessly.
func (o publishOne) apply(a *Account) (Receipts, error) {
	r := PublishRequest(o)
	c, err := a.acceptable(r)
	if err == nil {
		err = cmp.Or(a.mayDescend(r), a.roomFor(r))
	}
	if err != nil {
		a.failUnreadable(err)
		return Receipts{}, err
	}
	return a.publish(&c), nil
}

// PublishBatch publishes all of the requests or none; the error names the index
// of the first invalid one. A refused batch changes nothing.
func (a *Account) PublishBatch(rs []PublishRequest) ([]Receipts, error) {
	return runCommand(a, publishBatch{rs})
}

// publishBatch is one command and not several: a record has all of its messages or none.
type publishBatch struct{ Requests []PublishRequest }

// apply checks all of the requests before it publishes the first. Memory is
// checked for all of them together: each alone might fit.
func (c publishBatch) apply(a *Account) ([]Receipts, error) {
	rs := c.Requests
	created, all := 0, make([]accepted, len(rs))
	for i, r := range rs {
		var err error
		if all[i], err = a.acceptable(r); err != nil {
			return nil, refusal.At(fmt.Sprintf("item %d", i), err)
		}
		created += all[i].creates()
	}
	if err := a.mayCreate(created); err != nil {
		return nil, err
	}
	if err := cmp.Or(a.mayDescend(rs...), a.roomFor(rs...)); err != nil {
		return nil, err
	}
	receipts := make([]Receipts, len(rs))
	for i := range all {
		receipts[i] = a.publish(&all[i])
	}
	return receipts, nil
}

// accepted holds a checked request and the objects that the check has found. It
// is valid only within the command that has checked it.
type accepted struct {
	PublishRequest                    // its options are merged with those of the group
	group          *Group             // nil: it goes to a URL
	run            *Run               // the run that it belongs to
	item           *state.StepItem    // the step that it submits to the run
	invoked        *state.InvokerCall // the call by which a run starts it
}

// creates is how many messages the request creates.
func (c *accepted) creates() int {
	if c.group == nil {
		return 1
	}
	return len(c.group.Endpoints)
}

// mayCreate refuses a request that would create too many messages.
func (a *Account) mayCreate(n int) error {
	if n > a.cfg.MaxCreated {
		return refusal.Of(ErrInvalid, "request", "", fmt.Sprintf("creates %d messages: must be at most %d; --max-messages raises the limit", n, a.cfg.MaxCreated))
	}
	return nil
}

// acceptable checks a request and returns the reason if it cannot be published.
// It changes nothing.
func (a *Account) acceptable(r PublishRequest) (accepted, error) {
	c := accepted{PublishRequest: r}
	if a.closed {
		return c, refusal.Of(ErrClosed, "account", a.cfg.ID, "closed")
	}
	if r.Group != "" {
		if err := a.acceptableGroup(&c); err != nil {
			return c, err
		}
	}
	if err := c.Options.Check(); err != nil {
		return c, err
	}
	if c.group != nil {
		return c, nil
	}
	return c, a.acceptableStep(&c)
}

// acceptableGroup merges the options of the request with those of the group
// before they are checked, because only the merged options are complete.
func (a *Account) acceptableGroup(c *accepted) error {
	c.group = a.state.Groups[c.Group]
	switch {
	case c.group == nil:
		return refusal.Of(ErrNotFound, "topic "+c.Group+" not found", "", "the destination must be an http(s) URL or the name of a URL group") // the words that clients look for
	case len(c.group.Endpoints) == 0:
		return refusal.Of(ErrInvalid, "URL group", c.Group, "has no endpoints")
	}
	if w := c.Options.Workflow; c.Trigger || w != nil && (w.RunID != "" || w.Init != nil && *w.Init) {
		return refusal.Of(ErrInvalid, "URL group", c.Group, "a workflow run needs the URL of its endpoint")
	}
	c.Options = c.Options.Over(c.group.Options)
	return a.mayCreate(len(c.group.Endpoints))
}

// publish creates the messages of a request.
func (a *Account) publish(c *accepted) Receipts {
	if c.group == nil {
		return Receipts{One: a.publishOne(c)}
	}
	opts := a.state.Options.Intern(&c.Options)
	headers := c.Headers(&a.state.Headers, opts, c.group.Forward)
	list := make([]Receipt, len(c.group.Endpoints))
	for i, e := range c.group.Endpoints {
		list[i] = a.publishTo(&c.PublishRequest, e, opts, headers)
		if c.Options.Family == "" && !list[i].Deduplicated && len(list) > 1 {
			c.Options.Family = list[i].MessageID
			opts = a.state.Options.Intern(&c.Options)
		}
	}
	return Receipts{Group: list}
}

// publishOne publishes to a URL; the message may belong to a run.
func (a *Account) publishOne(c *accepted) Receipt {
	w := c.Options.Workflow
	switch {
	case c.Trigger || w != nil && w.Init != nil && *w.Init:
		return a.trigger(c)
	case c.run == nil:
		opts := a.state.Options.Intern(&c.Options)
		return a.publishTo(&c.PublishRequest, Endpoint{URL: c.URL}, opts, c.Headers(&a.state.Headers, opts, nil))
	case c.item == nil:
		return a.callOut(c)
	}
	return a.submit(c)
}

// publishTo creates the message for one endpoint, unless it is a duplicate.
func (a *Account) publishTo(r *PublishRequest, e Endpoint, opts *Options, headers state.HeaderPair) Receipt {
	keys := dedupKeys(r, e, opts, headers)
	if id, ok := a.seen(keys); ok {
		return Receipt{MessageID: id, URL: e.URL, Deduplicated: true}
	}
	m := a.create(Message{URL: e.URL, Headers: headers, Body: r.Body, Options: opts},
		state.Origin{Role: RoleMessage, CallerIP: r.CallerIP, Group: r.Group, EndpointName: e.Name, ScheduleID: r.ScheduleID, RetryOf: r.Original, Again: r.Original != ""})
	a.remember(keys, m.ID)
	return Receipt{MessageID: m.ID, URL: e.URL}
}

// created is a message and its first event in one allocation: both live equally long.
type created struct {
	message Message
	event   state.LogEntry
}

// create sets the fields that follow from the options, logs CREATED, and puts
// the message into its queue, or otherwise makes it wait for its time.
func (a *Account) create(like Message, of state.Origin) *Message {
	c := &created{message: like}
	m := &c.message
	a.compose(m, of)
	a.state.Messages[m.ID] = m
	a.addMessage(1)
	a.addWork(state.MessageCost + int64(m.Weight))
	a.meetKey(m)
	a.joinFamily(m)
	c.event.Next = m.NotBefore.UnixMilli()
	a.moveWith(m, Created, &c.event)
	if m.Slot == nil && m.Options.Queue != "" {
		a.enqueue(m)
	} else {
		a.waitUntil(m, m.NotBefore.Time())
	}
	return m
}

// compose sets the fields that follow from the options.
func (a *Account) compose(m *Message, of state.Origin) {
	a.isNew(m)
	m.ID = a.state.IDs.New("msg_", a.state.Now)
	of.Method = cmp.Or(m.Options.Method, "POST")
	a.share(m, of)
	m.MaxRetries = int32(m.Options.EffectiveRetries())
	first := a.state.Now.Add(m.Options.Delay)
	if at := m.Options.NotBefore; !at.IsZero() {
		first = at
	}
	if of.Role.Conduct().CarriesSteps && a.settings.Rules > 2 {
		if at := m.Step.Step.Wakes(); first.Before(at) {
			first = at
		}
	}
	if first.Before(a.state.Now) {
		first = a.state.Now
	}
	m.CreatedAt, m.NotBefore = state.TimestampOf(a.state.Now), state.TimestampOf(first)
	m.NextAt = m.NotBefore
}

// share lets a message use values that other messages have, and sets its weight. A call to
// the endpoint of a run has those of the call before it, whatever other runs do meanwhile.
func (a *Account) share(m *Message, of state.Origin) {
	run := a.state.Runs[of.RunID]
	if !of.Role.Conduct().CarriesSteps {
		run = nil
	}
	if run.SharesCall(m, &of) {
		m.Weight = state.ClampWeight(int64(len(m.Body)))
		return
	}
	m.Origin = a.state.Origins.Intern(of)
	m.Weight = state.ClampWeight(int64(len(m.Body)) + m.Options.Size() + state.ShareText(&a.state.Headers, &m.Headers))
	run.Called(m)
}
