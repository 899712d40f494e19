package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/engine/store"
)

// takeOvers is the largest number of attempts to take an account while others take it too.
const takeOvers = 10

// takeSoon is take with the timeout of a commit.
func (l *Log) takeSoon(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.store.cfg.Timeout, l.store.unanswered())
	defer cancel()
	err := l.take(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// take appends a message with a new epoch, which makes this process the owner, and reads
// the entry.
func (l *Log) take(ctx context.Context) error {
	var err error
	for range takeOvers {
		if err = l.takeOnce(ctx); !errors.Is(err, ErrFenced) {
			break
		}
	}
	if err != nil {
		return err
	}
	if err := l.takeEntry(ctx); err != nil {
		return err
	}
	if kept := l.kept(); kept.Durable > l.durable {
		return fmt.Errorf("%w: its journal in the cluster ends with record %d, but record %d was durable", store.ErrDamaged, l.durable, kept.Durable)
	}
	return nil
}

func (l *Log) takeOnce(ctx context.Context) error {
	last, err := l.lastMessage(ctx)
	if err != nil {
		return err
	}
	var lsn uint64
	if last != nil {
		if l.last, lsn, err = positionOf(last.Sequence, last.Header); err != nil {
			return err
		}
	}
	l.last.epoch++
	l.mu.Lock()
	l.durable, l.opened = lsn, lsn
	l.mu.Unlock()
	if err := l.publish(ctx, l.message(nil, lsn, 0)); err != nil {
		return err
	}
	l.tail = l.last.sequence
	return nil
}

// lastMessage returns the last message of the log, nil if it is empty.
func (l *Log) lastMessage(ctx context.Context) (*jetstream.RawStreamMsg, error) {
	last, err := l.store.stream.GetLastMsgForSubject(ctx, l.subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return last, err
}
