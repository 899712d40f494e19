package jetstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/store"
)

// Log is one account in the cluster. This process owns it until another one takes it.
type Log struct {
	store   *Store
	id      string
	subject string
	wake    chan struct{} // records or a caller wait for the next group
	lost    chan struct{} // closed when another process takes the account
	ended   chan struct{} // closed when the writer ends

	ctx   context.Context // of all writes; ends with the log
	stop  context.CancelFunc
	entry entryWriter

	mu      sync.Mutex
	owned   bool // this process has taken the account
	closed  bool
	queue   []journal.Record // records that are not durable, in order
	taken   int              // number of those in the group that is being written
	current *group           // the group that is being written, nil for none
	next    *group
	durable uint64
	opened  uint64   // last durable record when the log was opened
	last    position // the last message
	marks   []mark   // ends of the messages after the snapshot
	tail    uint64   // sequence of the last durable message, for readers
	failing failing
}

// failing describes a message that the cluster does not accept.
type failing struct {
	since time.Time // zero: none
	err   error     // of the latest attempt
}

// position is a message in the log.
type position struct {
	sequence uint64 // in the stream
	epoch    uint64 // of the owner that wrote it
	chain    store.Chain
}

// mark is the end of a message.
type mark struct {
	sequence, lsn uint64
	size          int64
}

// group is a set of records that become durable together.
type group struct {
	done chan struct{}
	err  error
}

func newGroup() *group { return &group{done: make(chan struct{})} }

// The headers of a message.
const (
	epochHeader = "Epoch" // of the owner
	lsnHeader   = "LSN"   // of the last record that ends in this message or before
	partHeader  = "Part"  // 1, 2, ...: continues a record larger than one message; 0: first part
	chainHeader = "Chain" // store.Chain of this message
	ownerHeader = "Owner" // for humans
)

// ErrFenced means that another process has taken the account.
var ErrFenced = errors.New("another server has taken the account")

// Open takes an account. From then on no other process can append to it without taking it.
func (s *Store) Open(ctx context.Context, account string) (store.Log, error) {
	l := s.log(account)
	s.mu.Lock()
	open := s.logs[account] != nil
	if !open {
		s.logs[account] = l
	}
	s.mu.Unlock()
	if open {
		return nil, fmt.Errorf("account %q is open already", account)
	}
	l.ctx, l.stop = context.WithCancel(s.ctx)
	if err := l.takeSoon(ctx); err != nil {
		l.stop()
		s.mu.Lock()
		delete(s.logs, account)
		s.mu.Unlock()
		return nil, err
	}
	l.mu.Lock()
	l.owned = true
	l.mu.Unlock()
	s.writers.Go(l.write)
	return l, nil
}

func positionOf(sequence uint64, h nats.Header) (p position, lsn uint64, err error) {
	p.sequence = sequence
	if p.epoch, err = strconv.ParseUint(h.Get(epochHeader), 10, 64); err == nil {
		lsn, err = strconv.ParseUint(h.Get(lsnHeader), 10, 64)
	}
	if err == nil {
		var chain []byte
		_, err = fmt.Sscanf(h.Get(chainHeader), "%x", &chain)
		copy(p.chain[:], chain)
	}
	if err != nil {
		return p, 0, fmt.Errorf("message %d: its headers: %w", sequence, store.ErrDamaged)
	}
	return p, lsn, nil
}

// message returns the next message of the log.
func (l *Log) message(body []byte, lsn uint64, part int) *nats.Msg {
	m := nats.NewMsg(l.subject)
	m.Data = body
	m.Header.Set(epochHeader, strconv.FormatUint(l.last.epoch, 10))
	m.Header.Set(lsnHeader, strconv.FormatUint(lsn, 10))
	m.Header.Set(partHeader, strconv.Itoa(part))
	chain := l.last.chain.Next(body)
	m.Header.Set(chainHeader, fmt.Sprintf("%x", chain[:]))
	m.Header.Set(ownerHeader, l.store.cfg.Name)
	return m
}

// publish appends one message. It repeats the message until it knows whether the log has
// it. Each repetition has the same bytes and the same expected sequence, so that the log
// has the message once.
func (l *Log) publish(ctx context.Context, m *nats.Msg) error {
	for {
		ask, cancel := context.WithTimeout(ctx, askTimeout)
		ack, err := l.store.js.PublishMsg(ask, m, jetstream.WithExpectLastSequencePerSubject(l.last.sequence), jetstream.WithRetryAttempts(0))
		cancel()
		if err == nil {
			l.arrived(ack.Sequence, m)
			return nil
		}
		l.failed(err)
		if refused, ok := errors.AsType[*jetstream.APIError](err); ok {
			switch {
			case refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
				return l.resolve(ctx, m)
			case slices.Contains(refusals, refused.ErrorCode):
				return fmt.Errorf("%w: %w", errRefused, err)
			}
		}
		if err := clock.Pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// refusals are the error codes that mean that a message is not in the log: the stream or
// the servers are full. After any other error, such as a timeout, this is unknown. Sorted.
var refusals = []jetstream.ErrorCode{10023, noStorage, 10054, 10077}

// errRefused means that a message is certainly not in the log.
var errRefused = errors.New("the cluster refuses the message")

// arrived records that a message is in the log.
func (l *Log) arrived(sequence uint64, m *nats.Msg) {
	l.last.sequence = sequence
	l.last.chain = l.last.chain.Next(m.Data)
	l.mu.Lock()
	was := l.failing
	l.failing = failing{}
	l.mu.Unlock()
	if took := wall.Now().Sub(was.since); !was.since.IsZero() && took > askTimeout {
		l.store.cfg.Log.Info("the cluster takes the records of the account again", "account", l.id, "after", took)
	}
}

// failed records a failed attempt to append a message.
func (l *Log) failed(err error) {
	l.mu.Lock()
	first := l.failing.since.IsZero()
	if first {
		l.failing.since = wall.Now()
	}
	l.failing.err = err
	l.mu.Unlock()
	if first {
		l.store.cfg.Log.Warn("the cluster does not take the records of the account; they are repeated", "account", l.id, "error", err)
	}
}

// stalled returns an error if the cluster has not accepted the records for longer than the
// timeout.
func (l *Log) stalled() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	took := wall.Now().Sub(l.failing.since)
	if l.failing.since.IsZero() || took < l.store.cfg.Timeout {
		return nil
	}
	return fmt.Errorf("the cluster has not taken it for %s: %w", took.Round(time.Second), l.failing.err)
}

// retryPause is the pause between two attempts for the same message.
const retryPause = 50 * time.Millisecond

// resolve finds out why the expected sequence was wrong: the message arrived but its answer
// was lost, or another owner has appended a message.
func (l *Log) resolve(ctx context.Context, m *nats.Msg) error {
	for {
		last, err := l.lastMessage(ctx)
		switch {
		case err != nil:
			if err := clock.Pause(ctx, retryPause); err != nil {
				return err
			}
		case last != nil && last.Header.Get(epochHeader) == m.Header.Get(epochHeader) && last.Header.Get(ownerHeader) == m.Header.Get(ownerHeader) && last.Header.Get(chainHeader) == m.Header.Get(chainHeader):
			l.arrived(last.Sequence, m)
			return nil
		default:
			return ErrFenced
		}
	}
}

// Lost is closed when another process has taken the account.
func (l *Log) Lost() <-chan struct{} { return l.lost }

// Append adds a record to the next group.
func (l *Log) Append(r journal.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, r)
	l.rouse()
}

// Commit waits until the group of the record is durable.
func (l *Log) Commit(ctx context.Context, lsn uint64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.store.cfg.Timeout, l.store.unanswered())
	defer cancel()
	for {
		g := l.groupOf(lsn)
		if g == nil {
			return nil
		}
		if err := l.stalled(); err != nil {
			return err
		}
		select {
		case <-g.done:
			if g.err != nil {
				return g.err
			}
		case <-l.lost:
			return ErrFenced
		case <-l.ctx.Done():
			return errClosed
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), context.Canceled) {
				return fmt.Errorf("the account leaves this server: %w", context.Cause(ctx))
			}
			return context.Cause(ctx)
		}
	}
}

// errClosed is the error for a record that was not durable when its log was closed.
var errClosed = errors.New("the journal is closed")

// groupOf returns the group with which a record becomes durable; nil if it is durable.
func (l *Log) groupOf(lsn uint64) *group {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.durable >= lsn {
		return nil
	}
	if l.taken > 0 && l.queue[l.taken-1].LSN >= lsn {
		return l.current
	}
	l.rouse()
	return l.next
}

// rouse makes the writer write the queue.
func (l *Log) rouse() {
	select {
	case l.wake <- struct{}{}:
	default: // already woken
	}
}

func (l *Log) behind() store.Behind {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.entry.kept
	b := store.Behind{Records: int64(l.durable - min(l.durable, kept.LSN)), Snapshot: kept.Size}
	for _, m := range l.marks {
		b.Bytes += m.size
	}
	return b
}

// write is the goroutine that writes the log, one message at a time.
func (l *Log) write() {
	defer close(l.ended)
	for {
		select {
		case <-l.wake:
			if !l.flush() {
				return
			}
		case <-l.ctx.Done():
			return
		}
	}
}

// maxMessage is the size of a message in bytes: by default, servers refuse more than 1 MB.
const maxMessage = 900 << 10

// flush writes records of the queue, and reports whether this process still owns the log.
func (l *Log) flush() bool {
	l.mu.Lock()
	size := 0
	for l.taken = 0; l.taken < len(l.queue); l.taken++ {
		if size += len(l.queue[l.taken].Body) + recordOverhead; size > maxMessage && l.taken > 0 {
			break
		}
	}
	batch, g := l.queue[:l.taken], l.next
	l.current, l.next = g, newGroup()
	l.mu.Unlock()
	began := wall.Now()
	err := l.insert(batch)
	l.store.count(batch, wall.Now().Sub(began), err) // without l.mu: Stats locks the store first, then the log
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && len(batch) > 0 {
		l.durable = batch[len(batch)-1].LSN
		l.tail = l.last.sequence
		l.marks = append(l.marks, mark{l.tail, l.durable, int64(size)})
		l.queue = append([]journal.Record(nil), l.queue[len(batch):]...)
		if len(l.queue) > 0 {
			l.rouse()
		}
	}
	l.taken, l.current = 0, nil
	g.err = err
	fenced := errors.Is(err, ErrFenced)
	if fenced {
		close(l.lost) // before the group ends: a caller whose commit fails with ErrFenced must find the log lost
	}
	close(g.done)
	return !fenced
}

// recordOverhead is the size of a record besides its body, in bytes.
const recordOverhead = 80

func (s *Store) count(batch []journal.Record, took time.Duration, err error) {
	size := int64(0)
	for i := range batch {
		size += int64(len(batch[i].Body))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Count(int64(len(batch)), size, took, err)
}

// insert writes records as one message, or a record larger than a message as several.
func (l *Log) insert(batch []journal.Record) error {
	if len(batch) == 0 {
		return nil
	}
	var text bytes.Buffer
	for i := range batch {
		if err := journal.Write(&text, batch[i]); err != nil {
			return err
		}
	}
	first, last := batch[0].LSN, batch[len(batch)-1].LSN
	for part := 0; ; part++ {
		body := text.Next(maxMessage + recordOverhead)
		lsn := first - 1
		if text.Len() == 0 {
			lsn = last
		}
		if err := l.publish(l.ctx, l.message(body, lsn, part)); err != nil {
			return err
		}
		if text.Len() == 0 {
			return nil
		}
	}
}

// Close waits until the appended records are durable, and releases the account.
func (l *Log) Close() error {
	l.mu.Lock()
	last := uint64(0)
	if n := len(l.queue); n > 0 {
		last = l.queue[n-1].LSN
	}
	was := l.closed
	l.closed = true
	l.mu.Unlock()
	if was {
		return nil
	}
	err := l.Commit(l.store.ctx, last)
	if err == nil {
		l.mark(l.store.ctx)
	}
	l.stop()
	<-l.ended
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.store.logs[l.id] == l {
		delete(l.store.logs, l.id)
	}
	return err
}
