package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/vector"
	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// tape is a journal in memory.
type tape struct {
	mu      sync.Mutex
	records []journal.Record
}

func (t *tape) Append(r journal.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = append(t.records, r)
}

func (t *tape) Commit(context.Context, uint64) error { return nil }

// all gives the records so far, at most n.
func (t *tape) all(n int) func(func(journal.Record, error) bool) {
	t.mu.Lock()
	records := t.records[:min(n, len(t.records))]
	t.mu.Unlock()
	return func(yield func(journal.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// copied is the records so far.
func (t *tape) copied() []journal.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.records)
}

// after gives the records behind the first n.
func (t *tape) after(n int) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		for _, r := range t.copied()[n:] {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// length is how many records there are.
func (t *tape) length() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.records)
}

// write saves the records as lines.
func (t *tape) write(n int) (name string) {
	var lines bytes.Buffer
	for r := range t.all(n) {
		if err := journal.Write(&lines, r); err != nil {
			return err.Error()
		}
	}
	name = filepath.Join(os.TempDir(), fmt.Sprintf("journal-%d-%d.jsonl", os.Getpid(), n))
	if err := os.WriteFile(name, lines.Bytes(), 0o600); err != nil {
		return err.Error()
	}
	return name
}

// simulation is a random life: commands of all kinds, issued while attempts are in
// flight, to destinations that fail, hang, panic and report workflow steps.
type simulation struct {
	world
	*rand.Rand // of the commands
	seed       uint64
	journal    tape
	names      []string // of the acts, each as often as it is likely
	saved      []byte   // an earlier snapshot
	saving     bool     // one is being written
	queries    []string // resumable
	unredacted bool     // no message redacts anything

	gate   chan struct{} // lets one attempt pass
	open   chan struct{} // closed: lets all of them pass
	broken atomic.Pointer[string]
}

var simulatedKeys = []string{"key0", "key1", "key2"}

// begun starts a life whose attempts wait at the gate.
func begun(t tester, seed uint64, parallel int) *simulation {
	s := &simulation{world: world{t: t}, Rand: rand.New(rand.NewPCG(seed, 7)), seed: seed, gate: make(chan struct{}), open: make(chan struct{}), names: actNames}
	cfg := s.config(seed, parallel)
	cfg.Journal = &s.journal
	s.Account = engine.New(cfg)
	return s
}

func (s *simulation) config(seed uint64, parallel int) engine.Config {
	return engine.Config{ID: "t", Clock: clock.NewManual(epoch), Deliver: s.Deliver, Wire: wire.Format{}, Strict: true, Seed: seed / 3 % 2 * 11, Parallel: parallel, VectorLag: time.Minute,
		VectorIndexes: []vector.Config{{Name: "v", Type: vector.Dense, Similarity: vector.Cosine}}}
}

// live issues n commands and ends.
func (s *simulation) live(n int) {
	s.some(n)
	s.end()
}

func (s *simulation) some(n int) {
	for range n {
		s.pass(s.IntN(4))
		_ = acts[s.names[s.IntN(len(s.names))]](s) // refusals are part of the life
	}
}

// end closes the account, with attempts in flight or without.
func (s *simulation) end() {
	s.must(s.SetClock(clock.NewManual(s.Now()), false)) // reading the state stamps it with the time
	if s.IntN(2) == 0 {
		s.settleAll()
	}
	s.must(s.Close())
}

// pass lets up to n attempts through the gate.
func (s *simulation) pass(n int) {
	for range n {
		select {
		case s.gate <- struct{}{}:
		default:
			runtime.Gosched()
		}
	}
}

// opened runs something while attempts do not wait at the gate.
func (s *simulation) opened(do func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), effort.Wait(time.Minute))
	defer cancel()
	end := make(chan struct{})
	var helper sync.WaitGroup
	helper.Go(func() {
		for {
			select {
			case s.gate <- struct{}{}:
			case <-end:
				return
			}
		}
	})
	do(ctx)
	close(end)
	helper.Wait()
}

func (s *simulation) settleAll() { s.opened(func(ctx context.Context) { s.must(s.Settle(ctx)) }) }

// Deliver waits at the gate, and then does what depends on the attempt alone.
func (s *simulation) Deliver(ctx context.Context, at engine.Attempt) engine.Outcome {
	if at.Number > int(at.Message.MaxRetries) {
		s.broken.Store(new(fmt.Sprintf("%s: attempt %d of at most %d", at.Message.ID, at.Number+1, at.Message.MaxRetries+1)))
	}
	select {
	case <-s.gate:
	case <-s.open:
	case <-ctx.Done():
		return engine.Outcome{Err: ctx.Err().Error()}
	}
	n := hashOf(s.seed, at.Message.URL, at.Message.CreatedAt.UnixMilli(), at.Number, at.Message.ID)
	o := engine.Outcome{Status: []int{200, 200, 200, 201, 500, 503, 489, 429, 0}[n%9], Body: []byte{byte(n), 'y'}, Header: engine.Header{"X-Latin": {"\xfc"}},
		After: []time.Duration{0, 0, 0, time.Second, time.Minute}[n>>8%5], BytesUp: 10, BytesIn: 20, Took: time.Duration(n % 50)}
	switch {
	case o.Status == 489:
		o.Header["Svc-Nonretryable-Error"] = []string{"true"}
	case o.Status == 429:
		o.Header["Retry-After"] = []string{strconv.Itoa(int(n >> 16 % 20))}
	case o.Status == 0 && n>>4%2 == 0:
		panic("a fault in the deliverer")
	}
	if at.Message.Role == engine.RoleStep && o.Cause() == "" {
		s.proceed(at, n>>12)
	}
	if n>>20%8 == 0 {
		runtime.Gosched()
	}
	return o
}

func hashOf(seed uint64, parts ...any) uint32 {
	h := newHash()
	_, _ = fmt.Fprint(h, seed, parts)
	return h.Sum32()
}

// proceed is a workflow endpoint: it reports a step, waits, calls a third party,
// invokes a run, or ends the run.
func (s *simulation) proceed(at engine.Attempt, n uint32) {
	run, url, id := at.Message.RunID, at.Message.URL, len(at.Steps)
	part := func(kind string) []byte {
		return fmt.Appendf(nil, `{"stepId":%d,"stepName":"s%d","stepType":%q,"concurrent":1}`, id, id, kind)
	}
	within := engine.Workflow{Init: new(false), RunID: run, URL: url}
	var err error
	switch kind := n % 8; {
	case id > 4 || kind == 0:
		err = s.FinishRun(run, []byte(`"done"`), time.Time{})
	case kind == 1:
		err = s.Wait(engine.WaitRequest{RunID: run, EventID: fmt.Sprint("e", n>>4%2), Timeout: "90s", Step: part("Wait")})
	case kind == 2:
		within.CallType = "toCallback"
		_, err = s.Publish(engine.PublishRequest{URL: "https://third.test/", Body: []byte("call"), Options: engine.Options{Retries: new(1), Workflow: &within,
			Callback: &engine.Callback{URL: url, Options: engine.Options{Forward: engine.Header{"Svc-Workflow-Stepid": {strconv.Itoa(id)}}}}}})
	case kind == 3:
		body := fmt.Appendf(nil, `{"body":"b","headers":{"a":["b"]},"workflowRunId":%q,"workflowUrl":%q,"step":%s}`, run, url, part("Invoke"))
		_, err = s.Publish(engine.PublishRequest{URL: "https://child.test/", Body: body, Options: engine.Options{Retries: new(1),
			Workflow: &engine.Workflow{Init: new(true), URL: "https://child.test/", Invoke: true}}})
	case kind == 4 && n>>4%8 == 0:
		_, err = s.Publish(engine.PublishRequest{URL: url, Body: []byte("no step"), Options: engine.Options{Workflow: &within}})
	case kind == 5:
		_, err = s.PublishBatch([]engine.PublishRequest{{URL: url, Body: part("SleepFor"), Options: engine.Options{Delay: time.Minute, Workflow: &within}}, {URL: sink}})
	default:
		_, err = s.Publish(engine.PublishRequest{URL: url, Body: part("Run"), Options: engine.Options{Workflow: &within}})
	}
	if errors.Is(err, engine.ErrNotDurable) {
		s.broken.Store(new(err.Error()))
	}
}

// state is what a snapshot says, once nothing changes any more.
func (s *simulation) state() []byte { return s.document() }

// replayed compares the life with its journal.
func (s *simulation) replayed(parallel int) error {
	if text := s.broken.Load(); text != nil {
		return errors.New(*text)
	}
	again, err := engine.Replay(s.config(s.seed+1, parallel+1), nil, s.journal.all(len(s.journal.records)))
	if err != nil {
		return err
	}
	return s.same(again)
}

// replayedFrom compares the life with a snapshot of it and the records behind.
// The keys are those of its beginning, which a reset restores.
func (s *simulation) replayedFrom(saved []byte, lsn int, current, next string) error {
	from, err := engine.ReadSnapshot(bytes.NewReader(saved))
	if err != nil {
		return err
	}
	cfg := s.config(s.seed, parallels[s.seed%3])
	cfg.CurrentKey, cfg.NextKey = current, next
	again, err := engine.Replay(cfg, from, s.journal.after(lsn))
	if err != nil {
		return err
	}
	return s.same(again)
}

// same compares the life with an account that was replayed, and closes it.
func (s *simulation) same(again *engine.Account) error {
	defer again.Close()
	copied := world{Account: again, t: s.t}
	if want, got := s.state(), copied.document(); !bytes.Equal(want, got) {
		return errors.New("the states differ: " + difference(want, got))
	}
	return nil
}

// difference shows where two texts begin to differ.
func difference(want, got []byte) string {
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	part := func(text []byte) []byte { return text[max(0, min(at, len(text))-200):min(at+200, len(text))] }
	return fmt.Sprintf("want\n%s\ngot\n%s", part(want), part(got))
}

// continued opens the journal after n records and lets everything end.
func (s *simulation) continued(n, parallel int) error {
	memory := &engine.Ledger{}
	later := &simulation{world: world{t: s.t}, seed: s.seed, gate: make(chan struct{}), open: make(chan struct{})}
	cfg := later.config(s.seed, parallel)
	cfg.Memory = memory
	a, err := engine.Open(cfg, nil, s.journal.all(n))
	if err != nil {
		return err
	}
	later.Account = a
	close(later.open) // destinations call the account
	defer a.Close()
	for _, one := range a.Schedules() {
		later.must(a.DeleteSchedule(one.ID))
	}
	for _, k := range a.FlowKeys() {
		later.must(a.SetFlowPaused(k.Key, false))
	}
	for _, q := range a.Queues() {
		later.must(a.SetQueuePaused(q.Name, false))
	}
	ctx, cancel := context.WithTimeout(context.Background(), effort.Wait(time.Minute))
	defer cancel()
	if _, err := a.AdvanceUntil(ctx, true); err != nil {
		return err
	}
	return later.ended(memory)
}

// ended reports what has not ended, or is miscounted.
func (s *simulation) ended(memory *engine.Ledger) error {
	if text := s.broken.Load(); text != nil {
		return errors.New(*text)
	}
	o, _ := s.Overview()
	for state, n := range o.Messages {
		if !slices.Contains([]engine.MessageState{engine.Delivered, engine.Failed, engine.Canceled}, state) || n < 0 {
			return fmt.Errorf("%d messages are %s", n, state)
		}
	}
	for _, k := range s.FlowKeys() {
		if k.Waiting != 0 || k.InFlight != 0 {
			return fmt.Errorf("key %q keeps %d waiting, %d in flight", k.Key, k.Waiting, k.InFlight)
		}
	}
	for _, q := range s.Queues() {
		if q.Lag != 0 {
			return fmt.Errorf("queue %q keeps a lag of %d", q.Name, q.Lag)
		}
	}
	work, messages := memory.Work()
	s.load(s.document()) // counts again
	if again, _ := memory.Work(); work != again || messages != 0 {
		return fmt.Errorf("%d bytes of work and %d messages are counted, and there are %d and none", work, messages, again)
	}
	return nil
}

// parallels are those of the simulations.
var parallels = []int{1, 3, 64}

// simulate lives a life and holds its journal to it, which is then cut, opened and
// continued. It returns how many commands were recorded: those that were issued and
// accepted, ticks and outcomes.
func simulate(t *testing.T, seed uint64, commands, cuts int) int {
	parallel := parallels[seed%3]
	s := begun(t, seed, parallel)
	s.live(commands)
	if err := s.replayed(parallel); err != nil {
		t.Errorf("seed %d, %d commands, parallelism %d: %s\n%s", seed, commands, parallel, err, shortest(t, seed, commands))
	}
	for range cuts {
		n := 1 + s.IntN(len(s.journal.records))
		if err := s.continued(n, parallel); err != nil {
			for i := 1; i <= n; i++ {
				if first := s.continued(i, parallel); first != nil {
					t.Errorf("seed %d, %d commands, parallelism %d: cut after record %d of %d: %v\njournal: %s", seed, commands, parallel, i, len(s.journal.records), first, s.journal.write(i))
					return 0
				}
			}
			t.Errorf("seed %d, %d commands, parallelism %d: cut after record %d of %d, once: %v\njournal: %s", seed, commands, parallel, n, len(s.journal.records), err, s.journal.write(n))
		}
	}
	return len(s.journal.records)
}

// shortest finds the shortest life of a seed whose journal fails.
func shortest(t *testing.T, seed uint64, commands int) string {
	for n := range commands + 1 {
		s := begun(t, seed, parallels[seed%3])
		s.live(n)
		if err := s.replayed(parallels[seed%3]); err != nil {
			all := len(s.journal.records)
			return fmt.Sprintf("fails from %d commands on, %d records: %s\njournal: %s", n, all, err, s.journal.write(all))
		}
	}
	return "it does not fail again"
}

// simulateMany runs lives on all processors while more says so.
func simulateMany(t *testing.T, first uint64, issue int, more func(lives, commands int64) bool, cuts func(seed uint64) int) {
	var lives, commands atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for !t.Failed() && more(lives.Load(), commands.Load()) {
				n := lives.Add(1)
				seed := first + uint64(n)
				if all := commands.Add(int64(simulate(t, seed, issue, cuts(seed)))); n%100 == 0 {
					t.Logf("%d lives, %d commands so far", n, all)
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d lives, %d commands", lives.Load(), commands.Load())
}

func TestSimulateLives(t *testing.T) {
	most := int64(effort.Amount(t, "LIVES", 300, 2000))
	simulateMany(t, 0, 25, func(lives, _ int64) bool { return lives < most }, func(seed uint64) int { return int(seed % 2) })
}

func TestSimulateCommands(t *testing.T) {
	most := int64(effort.Amount(t, "N", 5_000, 200_000))
	simulateMany(t, 1<<32, 1000, func(_, commands int64) bool { return commands < most }, func(uint64) int { return 0 })
}

func TestSimulationsIssueEveryCommand(t *testing.T) {
	t.Parallel()
	want := slices.DeleteFunc(engine.CommandKinds(), func(name string) bool { return name == "begin" || name == "outcome" })
	if got := slices.Sorted(maps.Keys(acts)); !slices.Equal(got, want) {
		t.Errorf("acts %v, want %v", got, want)
	}
}
