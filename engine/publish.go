package engine

import (
	"cmp"
	"fmt"
	"time"
)

// PublishRequest asks for one message, or one for each endpoint of a group.
// Exactly one of URL and Group is set.
type PublishRequest struct {
	URL      string
	Group    string
	Options  Options
	Header   Header // request headers worth keeping: configuration, never credentials
	Forward  Header // for the destination, by prefix
	All      Header // every forwardable header; used when the merged options say HeaderForward
	Body     []byte
	CallerIP string
	Trigger  bool // starts a run without the help of a client library

	schedule string // the schedule that publishes
}

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
func (a *Account) Publish(r PublishRequest) (Receipts, error) {
	a.lock()
	defer a.unlock()
	if err := cmp.Or(a.acceptable(r), a.roomFor(r)); err != nil {
		return Receipts{}, err
	}
	return a.publish(r), nil
}

// PublishBatch accepts all of the messages or none; the error names the first
// that is not acceptable by its index.
func (a *Account) PublishBatch(rs []PublishRequest) ([]Receipts, error) {
	a.lock()
	defer a.unlock()
	created := 0
	for i, r := range rs {
		if err := a.acceptable(r); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		created += a.creates(r)
	}
	if err := a.mayCreate(created); err != nil {
		return nil, err
	}
	if err := a.roomFor(rs...); err != nil {
		return nil, err
	}
	receipts := make([]Receipts, len(rs))
	for i, r := range rs {
		receipts[i] = a.publish(r)
	}
	return receipts, nil
}

// creates is how many messages an acceptable request creates.
func (a *Account) creates(r PublishRequest) int {
	if r.Group == "" {
		return 1
	}
	return len(a.groups[r.Group].Endpoints)
}

// mayCreate refuses a request that would create too many messages.
func (a *Account) mayCreate(n int) error {
	if n > a.cfg.MaxCreated {
		return fmt.Errorf("request creates %d messages: must be at most %d; --max-messages raises the limit: %w", n, a.cfg.MaxCreated, ErrInvalid)
	}
	return nil
}

// acceptable says why a request cannot be published; nothing is created.
func (a *Account) acceptable(r PublishRequest) error {
	if a.closed {
		return fmt.Errorf("account %s: %w", a.cfg.ID, ErrClosed)
	}
	opts := r.Options
	if r.Group != "" {
		g := a.groups[r.Group]
		if g == nil {
			return fmt.Errorf("topic %s not found: the destination must be an http(s) URL or the name of a URL group: %w", r.Group, ErrNotFound)
		}
		if len(g.Endpoints) == 0 {
			return fmt.Errorf("URL group %q has no endpoints: %w", r.Group, ErrInvalid)
		}
		if err := a.mayCreate(len(g.Endpoints)); err != nil {
			return err
		}
		opts = opts.Over(g.Options)
	}
	if f := opts.RetryDelay; f != nil {
		if err := f.check(opts.retries()); err != nil {
			return err
		}
	}
	if opts.Flow != nil && (opts.Flow.Key == "" || opts.Flow.Parallelism <= 0 && opts.Flow.Rate <= 0) {
		return fmt.Errorf("flow control %q: a key and at least one of parallelism and rate are needed: %w", opts.Flow.Key, ErrInvalid)
	}
	return a.acceptableStep(r)
}

// publish creates the messages of an acceptable request.
func (a *Account) publish(r PublishRequest) Receipts {
	if r.Options.Workflow != nil || r.Trigger {
		return Receipts{List: []Receipt{a.publishWorkflow(r)}}
	}
	if r.Group == "" {
		return Receipts{List: []Receipt{a.publishURL(r)}}
	}
	g := a.groups[r.Group]
	opts := a.options.share(r.Options.Over(g.Options))
	forward := mergeHeader(r.forward(opts), g.Forward)
	list := make([]Receipt, len(g.Endpoints))
	for i, e := range g.Endpoints {
		list[i] = a.publishTo(r, e, opts, forward)
	}
	return Receipts{List: list, Group: true}
}

func (a *Account) publishURL(r PublishRequest) Receipt {
	opts := a.options.share(r.Options)
	return a.publishTo(r, Endpoint{URL: r.URL}, opts, r.forward(opts))
}

// forward is what the destination gets under the effective options.
func (r *PublishRequest) forward(opts *Options) Header {
	h := mergeHeader(r.Forward, opts.Forward)
	if opts.HeaderForward {
		h = mergeHeader(h, r.All)
	}
	return h
}

// publishTo creates the message for one endpoint, unless it repeats another.
func (a *Account) publishTo(r PublishRequest, e Endpoint, opts *Options, forward Header) Receipt {
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
		ScheduleID:   r.schedule,
	})
	a.remember(keys, m.ID)
	return Receipt{MessageID: m.ID, URL: e.URL}
}

// create fills in what follows from the options, logs CREATED and admits the
// message: into its queue, else to wait for its time.
func (a *Account) create(m *Message) *Message {
	a.compose(m)
	a.messages[m.ID] = m
	a.addMessage(1)
	a.addWork(messageCost + int64(m.weight))
	a.move(m, Created, event{next: m.NotBefore.UnixMilli()})
	if m.queue == nil && m.Options.Queue != "" {
		a.enqueue(m)
	} else {
		a.waitUntil(m, m.NotBefore)
	}
	return m
}

// compose fills in what follows from the options.
func (a *Account) compose(m *Message) {
	m.ID = a.ids.id("msg_", a.now)
	m.Method = m.Options.Method
	if m.Method == "" {
		m.Method = "POST"
	}
	m.weight = clampWeight(int64(len(m.Body)) + m.Options.size() + a.headers.share(&m.Header) + a.headers.share(&m.Forward))
	m.MaxRetries = m.Options.retries()
	m.CreatedAt, m.NotBefore = a.now, a.now.Add(m.Options.Delay)
	if at := m.Options.NotBefore; !at.IsZero() {
		m.NotBefore = at
	}
	if m.NotBefore.Before(a.now) {
		m.NotBefore = a.now
	}
	m.NextAt = m.NotBefore
}

// waitUntil lets a message rest until the given time.
func (a *Account) waitUntil(m *Message, at time.Time) {
	m.NextAt = at
	if at.After(a.now) {
		a.timers.add(at, wakeMessage, m)
		return
	}
	a.due(m)
}

// Hurry makes the next attempt of a message due now, by a tester's hand, where it
// waits for a time; queues and flow control hold it as ever.
func (a *Account) Hurry(id string) error {
	a.lock()
	defer a.unlock()
	m := a.messages[id]
	if m == nil {
		return unknownMessage(id)
	}
	if m.timer.place == 0 || m.State != Created && m.State != Retry {
		return fmt.Errorf("message %q is %s and waits for no time: %w", id, m.State, ErrInvalid)
	}
	a.timers.remove(m)
	m.NextAt = a.now
	a.due(m)
	a.changed()
	return nil
}

// due is called when nothing but flow control stands between a message and
// its next attempt.
func (a *Account) due(m *Message) {
	if m.Options.Flow != nil {
		a.hold(m)
		return
	}
	a.ready.push(turn{message: m})
}
