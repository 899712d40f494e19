package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/store"
)

// Snapshot returns a reader of the last snapshot.
func (l *Log) Snapshot(ctx context.Context) (io.Reader, error) {
	kept := l.kept()
	if kept.Snapshot == "" {
		return nil, nil
	}
	bucket := l.store.bucketOfSnapshots()
	m, err := l.store.message(ctx, l.store.objects, 1, "$O."+bucket+".M."+base64.URLEncoding.EncodeToString([]byte(kept.Snapshot)))
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", kept.Snapshot, err)
	}
	var info jetstream.ObjectInfo
	if err := json.Unmarshal(m.Data, &info); err != nil {
		return nil, fmt.Errorf("%w: description of snapshot %s: %w", store.ErrDamaged, kept.Snapshot, err)
	}
	sum, err := jetstream.DecodeObjectDigest(info.Digest)
	if err != nil {
		return nil, fmt.Errorf("%w: checksum of snapshot %s: %w", store.ErrDamaged, kept.Snapshot, err)
	}
	return &object{ctx: ctx, store: l.store, name: kept.Snapshot, subject: "$O." + bucket + ".C." + info.NUID, left: info.Size, next: 1, want: sum, sum: sha256.New()}, nil
}

// object reads an object, message by message. The client library would use a consumer,
// which may repeatedly be on a server of the cluster that hangs; the account would be
// unavailable until that server is back.
type object struct {
	ctx     context.Context
	store   *Store
	name    string
	subject string // of the messages of the object
	next    uint64 // sequence of the stream
	left    uint64 // bytes not read yet
	part    []byte // rest of the last message
	want    []byte
	sum     hash.Hash
}

// Read reads the object. At the end it compares the checksum.
func (o *object) Read(to []byte) (int, error) {
	if len(o.part) == 0 && o.left > 0 {
		m, err := o.store.message(o.ctx, o.store.objects, o.next, o.subject)
		if err != nil {
			return 0, fmt.Errorf("snapshot %s: %w", o.name, err)
		}
		o.next, o.part = m.Sequence+1, m.Data
		o.left -= min(o.left, uint64(len(m.Data)))
		o.sum.Write(m.Data)
	}
	switch {
	case len(o.part) > 0:
		n := copy(to, o.part)
		o.part = o.part[n:]
		return n, nil
	case !bytes.Equal(o.sum.Sum(nil), o.want):
		return 0, fmt.Errorf("%w: snapshot %s does not have its checksum", store.ErrDamaged, o.name)
	}
	return 0, io.EOF
}

// message returns the next message of a subject at or after a sequence of its stream.
func (s *Store) message(ctx context.Context, stream jetstream.Stream, from uint64, subject string) (m *jetstream.RawStreamMsg, err error) {
	err = s.again(ctx, func(ctx context.Context) (err error) {
		m, err = stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(subject))
		return err
	})
	return m, err
}

// again repeats a request until the cluster answers it, for at most the time of a commit: a
// server that hangs may have received the request.
func (s *Store) again(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.Timeout, s.unanswered())
	defer cancel()
	for {
		once, cancel := context.WithTimeout(ctx, askTimeout)
		err := ask(once)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// unanswered is the error for a timeout of the cluster.
func (s *Store) unanswered() error {
	return fmt.Errorf("the cluster has not answered for %s", s.cfg.Timeout)
}

// Save replaces the snapshot. The order matters: the object is complete before the entry
// names it, and the old object and the messages are deleted after that.
func (l *Log) Save(ctx context.Context, write func(io.Writer) (uint64, error)) error {
	name := fmt.Sprintf("%s.%d.%d", Key(l.id), l.last.epoch, wall.Now().UnixNano())
	from, to := io.Pipe()
	var lsn uint64
	var wrote sync.WaitGroup
	wrote.Go(func() {
		var err error
		lsn, err = write(to)
		_ = to.CloseWithError(err) // never fails
	})
	putting := l.store.putting(ctx, from)
	info, err := l.store.snapshots.Put(putting.ctx, jetstream.ObjectMeta{Name: name}, putting)
	if cause := context.Cause(putting.ctx); cause != nil {
		err = cause
	}
	putting.end()
	_ = from.Close()
	wrote.Wait()
	if err == nil {
		err = l.Commit(ctx, lsn)
	}
	if err != nil {
		return errors.Join(err, l.forget(name))
	}
	was := ""
	err = l.changeEntry(ctx, func(e *entry) {
		if e.Snapshot != name { // otherwise the entry is written already, but the answer was lost
			was = e.Snapshot
		}
		e.Snapshot, e.LSN, e.Size, e.Durable = name, lsn, int64(info.Size), max(e.Durable, lsn)
	})
	if errors.Is(err, ErrFenced) {
		return errors.Join(err, l.forget(name))
	}
	if err != nil {
		return err // unknown whether the entry names the object, so keep it
	}
	l.store.mu.Lock()
	l.store.stats.Snapshots++
	l.store.mu.Unlock()
	if was != "" {
		err = l.forget(was)
	}
	return errors.Join(err, l.purge(ctx, lsn))
}

// putting is the reader from which the client library writes an object in parts. Its
// context ends when the cluster takes longer for a part than the timeout of a commit: the
// library repeats parts, and would wait for some without a limit.
type putting struct {
	from  io.Reader
	store *Store
	ctx   context.Context
	stop  context.CancelCauseFunc
	late  *clock.Real
}

// putting starts the timeout for the first part. The end of ctx does not cancel a snapshot
// that is partly written.
func (s *Store) putting(ctx context.Context, from io.Reader) *putting {
	p := &putting{from: from, store: s, late: clock.NewReal()}
	p.ctx, p.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	p.await()
	return p
}

// await starts the timeout for the cluster.
func (p *putting) await() {
	p.late.Alarm(wall.Now().Add(p.store.cfg.Timeout), func() { p.stop(p.store.unanswered()) })
}

// Read reads the next bytes of the snapshot. The timeout stops meanwhile, because the
// account and not the cluster takes this time.
func (p *putting) Read(to []byte) (int, error) {
	p.late.Alarm(time.Time{}, nil)
	defer p.await()
	return p.from.Read(to)
}

func (p *putting) end() {
	p.late.Alarm(time.Time{}, nil)
	p.stop(nil)
}

// forget deletes a snapshot that is not needed.
func (l *Log) forget(name string) error {
	ctx, cancel := context.WithTimeout(l.store.ctx, askTimeout)
	defer cancel()
	err := l.store.snapshots.Delete(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	return err
}

// purge deletes the messages that the snapshot includes, except the last message of the
// log: appends need its sequence.
func (l *Log) purge(ctx context.Context, lsn uint64) error {
	l.mu.Lock()
	keep := uint64(0)
	i := 0
	for ; i < len(l.marks) && l.marks[i].lsn <= lsn; i++ {
		keep = l.marks[i].sequence
	}
	l.marks = append([]mark(nil), l.marks[i:]...)
	l.mu.Unlock()
	if keep == 0 {
		return nil
	}
	return l.store.stream.Purge(ctx, jetstream.WithPurgeSubject(l.subject), jetstream.WithPurgeSequence(keep))
}
