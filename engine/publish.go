package engine

import (
	"fmt"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// Receipt names a created message, or the one that stands for it.
type Receipt struct {
	MessageID    string
	URL          string
	Deduplicated bool
	RunID        string // of a trigger
	RunCreatedAt time.Time
}

// Receipts are what one publish created: one receipt, or one for each endpoint.
type Receipts struct {
	List  []Receipt
	Group bool
}

// Publish accepts a message and returns at once; delivery follows.
func (a *Account) Publish(r PublishRequest) (Receipts, error) { return runCommand(a, publishOne(r)) }

// publishOne is a request as a command: its record has the same members.
type publishOne PublishRequest

// apply fails the run whose step cannot be read, although the request is refused:
// its endpoint would repeat the same bytes for ever.
func (o publishOne) apply(a *Account) (Receipts, error) {
	r := PublishRequest(o)
	c, err := a.acceptable(r)
	if err == nil {
		err = a.roomFor(r)
	}
	if err != nil {
		a.failUnreadable(err)
		return Receipts{}, err
	}
	return a.publish(&c), nil
}

// PublishBatch accepts all of the messages or none; the error names the first
// that is not acceptable by its index. A refused batch changes nothing.
func (a *Account) PublishBatch(rs []PublishRequest) ([]Receipts, error) {
	return runCommand(a, publishBatch{rs})
}

// publishBatch is one command and not several: a record has all of its messages or none.
type publishBatch struct{ Requests []PublishRequest }

// apply checks all of the requests before it publishes the first. Room is asked for in one
// go: each request alone might fit.
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
	if err := a.roomFor(rs...); err != nil {
		return nil, err
	}
	receipts := make([]Receipts, len(rs))
	for i := range all {
		receipts[i] = a.publish(&all[i])
	}
	return receipts, nil
}

// accepted is a request that was checked, with what checking has found. It
// holds within the command that has checked it.
type accepted struct {
	PublishRequest                    // its options are laid over those of the group
	group          *Group             // nil: it goes to a URL
	run            *Run               // that it belongs to
	step           *Step              // that it submits to the run
	invoked        *state.InvokerCall // by which a run starts it
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

// acceptable checks a request, or says why it cannot be published. It changes
// nothing.
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

// acceptableGroup lays the options of the request over those of the group before they are
// checked, since only together they are complete.
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
		return Receipts{List: []Receipt{a.publishOne(c)}}
	}
	opts := a.state.Options.Share(c.Options)
	forward := state.MergeHeader(c.Forwarded(opts), c.group.Forward)
	list := make([]Receipt, len(c.group.Endpoints))
	for i, e := range c.group.Endpoints {
		list[i] = a.publishTo(&c.PublishRequest, e, opts, forward)
	}
	return Receipts{List: list, Group: true}
}

// publishOne takes a message to a URL, which may belong to a run.
func (a *Account) publishOne(c *accepted) Receipt {
	w := c.Options.Workflow
	switch {
	case c.Trigger || w != nil && w.Init != nil && *w.Init:
		return a.trigger(c)
	case c.run == nil:
		opts := a.state.Options.Share(c.Options)
		return a.publishTo(&c.PublishRequest, Endpoint{URL: c.URL}, opts, c.Forwarded(opts))
	case c.step == nil:
		return a.callOut(c)
	}
	return a.submit(c)
}

// publishTo creates the message for one endpoint, unless it repeats another.
func (a *Account) publishTo(r *PublishRequest, e Endpoint, opts *Options, forward Header) Receipt {
	keys := dedupKeys(r, e, opts, forward)
	if id, ok := a.seen(keys); ok {
		return Receipt{MessageID: id, URL: e.URL, Deduplicated: true}
	}
	m := a.create(&Message{
		Role:         RoleMessage,
		URL:          e.URL,
		Header:       r.Header,
		Forward:      forward,
		Body:         r.Body,
		Options:      opts,
		CallerIP:     r.CallerIP,
		Group:        r.Group,
		EndpointName: e.Name,
		ScheduleID:   r.ScheduleID,
	})
	a.remember(keys, m.ID)
	return Receipt{MessageID: m.ID, URL: e.URL}
}

// create fills in what follows from the options, logs CREATED and admits the
// message: into its queue, else to wait for its time.
func (a *Account) create(m *Message) *Message {
	a.compose(m)
	a.state.Messages[m.ID] = m
	a.addMessage(1)
	a.addWork(state.MessageCost + int64(m.Weight))
	a.move(m, Created, state.LogEntry{Next: m.NotBefore.UnixMilli()})
	if m.Slot == nil && m.Options.Queue != "" {
		a.enqueue(m)
	} else {
		a.waitUntil(m, m.NotBefore)
	}
	return m
}

// compose fills in what follows from the options.
func (a *Account) compose(m *Message) {
	a.isNew(m)
	m.ID = a.state.IDs.New("msg_", a.state.Now)
	m.Method = m.Options.Method
	if m.Method == "" {
		m.Method = "POST"
	}
	m.Weight = state.ClampWeight(int64(len(m.Body)) + m.Options.Size() + a.state.Headers.Share(&m.Header) + a.state.Headers.Share(&m.Forward))
	m.MaxRetries = m.Options.EffectiveRetries()
	m.CreatedAt, m.NotBefore = a.state.Now, a.state.Now.Add(m.Options.Delay)
	if at := m.Options.NotBefore; !at.IsZero() {
		m.NotBefore = at
	}
	if m.NotBefore.Before(a.state.Now) {
		m.NotBefore = a.state.Now
	}
	m.NextAt = m.NotBefore
}
