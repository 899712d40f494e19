package jetstream

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/store"
)

// log returns the log of an account that is not taken.
func (s *Store) log(account string) *Log {
	return &Log{store: s, id: account, subject: s.cfg.Prefix + "." + Key(account) + ".log",
		wake: make(chan struct{}, 1), lost: make(chan struct{}), ended: make(chan struct{}), next: newGroup()}
}

// Read returns what is kept of an account without taking it; another process may have it
// open. If its owner saves a snapshot meanwhile, reading ends with an error.
func (s *Store) Read(ctx context.Context, account string) (store.Kept, error) {
	l := s.log(account)
	last, err := l.lastMessage(ctx)
	if err == nil && last != nil {
		l.tail = last.Sequence
		_, l.opened, err = positionOf(last.Sequence, last.Header)
	}
	if err != nil {
		return nil, err
	}
	kept, _, err := l.readEntry(ctx) // read after the end of the log, so that the snapshot is not older than the beginning of the log
	l.keep(kept)
	return l, err
}

// Records yields the records after the snapshot that are durable when the reading begins.
func (l *Log) Records(ctx context.Context) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		var records bytes.Buffer
		last := l.kept().LSN
		for text, err := range l.messages(ctx) {
			if err != nil {
				yield(journal.Record{}, err)
				return
			}
			records.Reset()
			records.Write(text)
			for r, err := range journal.Read(&records) {
				if err == nil && r.LSN <= last {
					continue
				}
				if err == nil && r.LSN != last+1 {
					err = l.missing(last+1, r.LSN-1)
				}
				last = r.LSN
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
		if last < l.opened {
			yield(journal.Record{}, l.missing(last+1, l.opened))
		}
	}
}

// missing is the error for records that the cluster has lost.
func (l *Log) missing(from, to uint64) error {
	return fmt.Errorf("%w: records %d to %d are missing from the stream %s: messages of it were lost or deleted", store.ErrDamaged, from, to, l.store.stream.CachedInfo().Config.Name)
}

// messages yields the groups of records in the log. It leaves out incomplete groups of
// owners that died while writing.
func (l *Log) messages(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var whole []byte
		var before *stored
		inside := false
		for m, err := range l.all(ctx) {
			var p position
			var lsn uint64
			if err == nil {
				p, lsn, err = positionOf(m.sequence, m.header)
			}
			if err == nil && before != nil && before.chain.Next(m.data) != p.chain {
				err = fmt.Errorf("%w: message %d of the stream %s does not follow the one before: messages of it were lost, deleted or changed", store.ErrDamaged, m.sequence, l.store.stream.CachedInfo().Config.Name)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			m.chain, before = p.chain, &m
			if m.header.Get(partHeader) == "0" {
				whole, inside = whole[:0], true
			}
			if inside { // otherwise the record began in a purged message
				whole = append(whole, m.data...)
			}
			if n := len(whole); n > 0 && whole[n-1] == '\n' {
				l.noted(mark{p.sequence, lsn, int64(len(whole))})
				if !yield(whole, nil) {
					return
				}
				whole = whole[:0]
			}
		}
	}
}

// stored is a message of the log.
type stored struct {
	sequence uint64
	header   nats.Header
	data     []byte
	chain    store.Chain
}

// fewMessages is how many messages are read one by one before a consumer is created for the
// rest. After a consumer that gave up, this number is multiplied by moreMessages.
const (
	fewMessages  = 64
	moreMessages = 8
)

// all yields the messages of the log that are durable when the reading begins. A consumer
// may be on a server of the cluster that hangs; if it returns nothing, messages are read
// one by one again.
func (l *Log) all(ctx context.Context) iter.Seq2[stored, error] {
	return func(yield func(stored, error) bool) {
		r := reader{log: l, next: 1, end: l.durableEnd(), yield: yield}
		for few := fewMessages; !r.ended; few *= moreMessages {
			r.single(ctx, few)
			if !r.ended {
				r.stream(ctx)
			}
		}
	}
}

// reader reads the messages of a log in order.
type reader struct {
	log   *Log
	next  uint64 // sequence of the stream
	end   uint64 // sequence of the last message to read
	yield func(stored, error) bool
	ended bool
}

func (r *reader) give(m stored, err error) {
	r.next = m.sequence + 1
	r.ended = !r.yield(m, err) || err != nil || m.sequence >= r.end
}

// single reads up to few messages one by one. Its errors end the reading.
func (r *reader) single(ctx context.Context, few int) {
	for i := 0; i < few && !r.ended; i++ {
		m, err := r.log.store.message(ctx, r.log.store.stream, r.next, r.log.subject)
		if err != nil {
			r.give(stored{}, err)
			return
		}
		r.give(stored{sequence: m.Sequence, header: m.Header, data: m.Data}, nil)
	}
}

// Time limits of a consumer.
const (
	pullWithin = 2 * time.Second
	heartbeat  = 500 * time.Millisecond
	nextWithin = time.Second
	// forgottenAfter is when servers remove a consumer without requests.
	forgottenAfter = 10 * time.Second
)

// stream reads messages by a consumer until it stops delivering. It uses a plain consumer:
// an ordered one whose server is down reconnects for minutes, and cannot be stopped.
func (r *reader) stream(ctx context.Context) {
	l := r.log
	making, cancel := context.WithTimeout(ctx, nextWithin)
	defer cancel()
	consumer, err := l.store.stream.CreateConsumer(making, jetstream.ConsumerConfig{
		FilterSubject: l.subject, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.next,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: forgottenAfter,
	})
	if err != nil {
		return
	}
	in, err := consumer.Messages(jetstream.PullExpiry(pullWithin), jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return
	}
	defer in.Stop()
	for delivered := uint64(1); !r.ended; delivered++ {
		wait, cancel := context.WithTimeout(ctx, nextWithin)
		m, err := in.Next(jetstream.NextContext(wait))
		cancel()
		if err != nil {
			return
		}
		about, err := m.Metadata()
		if err != nil {
			r.give(stored{}, err)
			return
		}
		if about.Sequence.Consumer != delivered { // some were lost
			return
		}
		r.give(stored{sequence: about.Sequence.Stream, header: m.Headers(), data: m.Data()}, nil)
	}
}

// noted adds a mark unless it is known: a log may be read again while its account is in use.
func (l *Log) noted(m mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.marks); n == 0 || l.marks[n-1].sequence < m.sequence {
		l.marks = append(l.marks, m)
	}
}

// durableEnd returns the sequence of the last durable message.
func (l *Log) durableEnd() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail
}
