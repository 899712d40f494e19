package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/usage"
	"github.com/understudy-mock/understudy/engine/vector"
)

func newHash() hash.Hash32 { return fnv.New32a() }

// actNames are the names of the acts, those that make work more often than others.
var actNames = func() []string {
	names := slices.Sorted(maps.Keys(acts))
	names = append(names, "publish", "publish", "publish", "publish", "publish", "publish", "publish", "publish", "publish", "publish", "publishBatch", "tick", "tick", "tick", "tick", "tick", "tick", "retryDLQ", "restartRun", "upsertVectors", "resumeFlow", "resumeQueue")
	return slices.DeleteFunc(names, func(name string) bool {
		return name == "reset" || name == "resetClock" || name == "restore" // rare, see tick
	})
}()

// pick is one of a list, the zero value of an empty one.
func pick[T any](s *simulation, list []T) (v T) {
	if len(list) > 0 {
		v = list[s.IntN(len(list))]
	}
	return v
}

func (s *simulation) name(kind string, n int) string { return fmt.Sprint(kind, s.IntN(n)) }

func (s *simulation) options() engine.Options {
	o := engine.Options{Retries: new(s.IntN(4)), Labels: []string{"caf\xe9", "b"}[:s.IntN(3)]}
	switch s.IntN(6) {
	case 0:
		o.Delay = time.Duration(s.IntN(90)) * time.Second
	case 1:
		o.NotBefore = epoch.Add(time.Duration(s.IntN(600)) * time.Second)
	}
	if s.IntN(3) == 0 {
		o.Flow = &engine.FlowControl{Key: pick(s, simulatedKeys), Parallelism: s.IntN(3) + 1, Rate: s.IntN(3), Period: time.Duration(s.IntN(20)) * time.Second}
	}
	if s.IntN(3) == 0 {
		o.Queue = pick(s, queueNames)
	}
	if s.IntN(4) == 0 {
		o.Callback = &engine.Callback{URL: "https://cb.test/", Options: engine.Options{Timeout: 1500 * time.Millisecond}}
	}
	if s.IntN(4) == 0 {
		o.FailureCallback = &engine.Callback{URL: "https://fcb.test/", Options: engine.Options{Flow: o.Flow}}
	}
	if s.IntN(5) == 0 {
		o.Hops, o.Family = 1, s.name("family", 3)
	}
	switch s.IntN(8) {
	case 0:
		o.RetryDelay, _ = engine.ParseFormula("1000 * pow(2, retried)")
	case 1:
		o.DedupContent = true
		if !s.unredacted {
			o.Redact = &engine.Redaction{Body: true, Names: []string{"X-Secret"}}
		}
	case 2:
		o.DedupID = s.name("dedup", 3)
	}
	return o
}

func (s *simulation) request() engine.PublishRequest {
	r := engine.PublishRequest{URL: "https://app.test/" + s.name("", 9), Options: s.options(), Body: []byte{byte(s.IntN(256)), 0xff, 'x'}[s.IntN(3):],
		Forward: engine.Header{"X-Secret": {"s"}, "X-Latin": {"\xe9t\xe9"}}, CallerIP: "::1"}
	switch s.IntN(8) {
	case 0:
		r.URL, r.Group = "", "g"
	case 1, 2:
		r.Options.DedupID, r.Options.Queue = "", ""
		r.URL = "https://app.test/wf"
		r.Options.Workflow = &engine.Workflow{Init: new(true), URL: r.URL}
		if s.IntN(2) == 0 {
			r.Options.Workflow.RunID = s.name("run", 6)
		}
	case 3:
		r.Trigger = s.IntN(4) == 0
	}
	return r
}

// some are the ids of a list.
func some[T any](list func(engine.Filter) (engine.Page[T], error), id func(T) string) (ids []string) {
	p, _ := list(engine.Filter{Count: 10})
	for _, one := range p.Items {
		ids = append(ids, id(one))
	}
	return ids
}

func (s *simulation) message() string {
	return pick(s, some(s.Messages, func(m engine.MessageSummary) string { return m.ID }))
}

func (s *simulation) entry() string {
	return pick(s, some(s.DLQ, func(e engine.DLQEntry) string { return e.ID }))
}

func (s *simulation) run() string {
	return pick(s, some(s.RunSummaries, func(r engine.RunSummary) string { return r.ID }))
}

func (s *simulation) filter() engine.Filter {
	return engine.Filter{Count: s.IntN(4), Labels: []string{"b"}[:s.IntN(2)]}
}

func (s *simulation) vectors() []vector.Vector {
	list := make([]vector.Vector, s.IntN(3)+1)
	for i := range list {
		list[i] = vector.Vector{ID: s.name("id", 9), Values: []float32{0.1, float32(s.NormFloat64())}, Metadata: json.RawMessage(`{ "a" : ` + s.name("", 3) + ` }`)}
	}
	return list
}

func (s *simulation) filterOfVectors() vector.Filter {
	f, err := vector.ParseFilter("a = " + s.name("", 3))
	s.must(err)
	return f
}

func (s *simulation) searchIndex() string {
	return pick(s, s.SearchIndexes().List()).ID
}

func (s *simulation) duration() time.Duration {
	return time.Duration(pick(s, []int{0, 1, 999, 1000, 2000, 10_000, 20_000, 60_000, 300_000, 3_600_000}[:5+s.IntN(6)])) * time.Millisecond
}

// changed leaves out what a command gives.
func changed[R any](_ R, err error) error { return err }

// acts are one for each kind of command; begin and outcome follow from them. Their
// errors do not matter.
var acts = map[string]func(*simulation) error{
	"addEndpoints": func(s *simulation) error {
		_, err := s.AddEndpoints("g", []engine.Endpoint{{Name: "one", URL: "https://app.test/g"}, {URL: "https://app.test/g/" + s.name("", 3)}})
		return err
	},
	"cancel":         func(s *simulation) error { return s.Cancel(s.message()) },
	"cancelCallback": func(s *simulation) error { return s.CancelCallback(s.entry()) },
	"cancelFamily":   func(s *simulation) error { _, err := s.CancelFamily(s.message()); return err },
	"cancelMessages": func(s *simulation) error { _, err := s.CancelMessages(s.filter()); return err },
	"cancelRun":      func(s *simulation) error { return s.CancelRun(s.run()) },
	"cancelRuns":     func(s *simulation) error { _, err := s.CancelRuns(s.filter()); return err },
	"createSearchIndex": func(s *simulation) error {
		return changed(engine.ChangeSearch(s.Account, search.CreateCommand{Index: search.Index{Name: "s"}}))
	},
	"deleteDLQ":      func(s *simulation) error { return s.DeleteDLQ(s.entry()) },
	"deleteDLQs":     func(s *simulation) error { _, _, err := s.DeleteDLQs(s.filter()); return err },
	"deleteGroup":    func(s *simulation) error { return s.DeleteGroup("g") },
	"deleteQueue":    func(s *simulation) error { return s.DeleteQueue(pick(s, queueNames)) },
	"deleteSchedule": func(s *simulation) error { return s.DeleteSchedule(s.name("s", 2)) },
	"deleteSearchIndex": func(s *simulation) error {
		return changed(engine.ChangeSearch(s.Account, search.DeleteCommand{ID: s.searchIndex()}))
	},
	"deleteVectorNamespace": func(s *simulation) error {
		return changed(engine.ChangeVectors(s.Account, "v", vector.DeleteNamespaceCommand{Namespace: s.name("ns", 2)}))
	},
	"deleteVectors": func(s *simulation) error {
		return changed(engine.ChangeVectors(s.Account, "v", vector.DeleteCommand{IDs: []string{s.name("id", 9)}}))
	},
	"deleteVectorsWhere": func(s *simulation) error {
		return changed(engine.ChangeVectors(s.Account, "v", vector.DeleteWhereCommand{Filter: s.filterOfVectors()}))
	},
	"endResumable": func(s *simulation) error {
		return changed(engine.ChangeVectors(s.Account, "v", vector.EndCommand{ID: pick(s, s.queries)}))
	},
	"finishRun":  func(s *simulation) error { return s.FinishRun(s.run(), []byte("\xff"), time.Time{}) },
	"fixture":    (*simulation).fixture,
	"forget":     func(s *simulation) error { s.Forget(int64(s.IntN(100_000))); return nil },
	"deliverNow": func(s *simulation) error { return s.DeliverNow(s.message()) },
	"nextResumable": func(s *simulation) error {
		return changed(engine.ChangeVectors(s.Account, "v", vector.NextCommand{ID: pick(s, s.queries), Count: 1}))
	},
	"notify":        func(s *simulation) error { _, err := s.Notify("", s.name("e", 2), []byte("data\x80")); return err },
	"notifyRun":     func(s *simulation) error { _, err := s.Notify(s.run(), s.name("e", 2), []byte("kept")); return err },
	"pauseFlow":     func(s *simulation) error { return s.SetFlowPaused(pick(s, simulatedKeys), true) },
	"pauseQueue":    func(s *simulation) error { return s.SetQueuePaused(pick(s, queueNames), true) },
	"pauseSchedule": func(s *simulation) error { return s.SetSchedulePaused(s.name("s", 2), true) },
	"pinFlow": func(s *simulation) error {
		return s.PinFlow(pick(s, simulatedKeys), engine.FlowControl{Parallelism: s.IntN(3), Rate: s.IntN(3), Period: time.Duration(s.IntN(9)) * time.Second})
	},
	"publish": func(s *simulation) error { _, err := s.Publish(s.request()); return err },
	"publishBatch": func(s *simulation) error {
		_, err := s.PublishBatch([]engine.PublishRequest{s.request(), s.request()})
		return err
	},
	"putSchedule": func(s *simulation) error {
		_, err := s.PutSchedule(s.name("s", 2), pick(s, []string{"*/7 * * * *", "CRON_TZ=Europe/Berlin 30 2 * * *", "@hourly"}), engine.PublishRequest{URL: "https://app.test/cron", Options: s.options()})
		return err
	},
	"removeEndpoints": func(s *simulation) error {
		return s.RemoveEndpoints("g", []engine.Endpoint{{URL: "https://app.test/g/" + s.name("", 3)}})
	},
	"renameSearchIndex": func(s *simulation) error {
		return changed(engine.ChangeSearch(s.Account, search.RenameCommand{ID: s.searchIndex(), Name: s.name("n", 3)}))
	},
	"renameVectorNamespace": func(s *simulation) error {
		return changed(engine.ChangeVectors(s.Account, "v", vector.RenameNamespaceCommand{From: s.name("ns", 2), To: s.name("ns", 3), Replace: true}))
	},
	"repeatCallback": func(s *simulation) error { _, err := s.RepeatCallback(s.entry()); return err },
	"reset":          func(s *simulation) error { return s.Reset(nil, false) },
	"resetClock":     (*simulation).restartClock,
	"resetFlow":      func(s *simulation) error { return s.ResetFlow(pick(s, simulatedKeys)) },
	"resetSearchIndexTokens": func(s *simulation) error {
		return changed(engine.ChangeSearch(s.Account, search.ResetTokensCommand{ID: s.searchIndex()}))
	},
	"resetVectors": func(s *simulation) error {
		return changed(engine.ChangeVectors(s.Account, "v", vector.ResetCommand{Namespace: s.name("ns", 2), All: s.IntN(2) == 0}))
	},
	"restartAll": func(s *simulation) error {
		_, _, err := s.RestartAll(s.filter(), engine.Options{Retries: new(1)}, s.IntN(2) == 0)
		return err
	},
	"restartRun": func(s *simulation) error {
		if s.IntN(2) == 0 {
			_, err := s.Restart(s.entry(), engine.Options{Retries: new(1)}, false)
			return err
		}
		_, err := s.Restart(s.entry(), engine.Options{}, true)
		return err
	},
	"restore":        (*simulation).goBack,
	"resumeFlow":     func(s *simulation) error { return s.SetFlowPaused(pick(s, simulatedKeys), false) },
	"resumeQueue":    func(s *simulation) error { return s.SetQueuePaused(pick(s, queueNames), false) },
	"resumeSchedule": func(s *simulation) error { return s.SetSchedulePaused(s.name("s", 2), false) },
	"retryDLQ": func(s *simulation) error {
		_, err := s.RetryDLQ(s.entry(), engine.Options{Retries: new(1)})
		return err
	},
	"retryDLQs":   func(s *simulation) error { _, _, err := s.RetryDLQs(s.filter(), engine.Options{}); return err },
	"rotateKeys":  func(s *simulation) error { _, _, err := s.RotateKeys(); return err },
	"runSchedule": func(s *simulation) error { _, err := s.RunSchedule(s.name("s", 2)); return err },
	"setClock":    (*simulation).turn,
	"startResumable": func(s *simulation) error {
		started, err := engine.ChangeVectors(s.Account, "v", vector.StartCommand{Query: vector.ResumableQuery{Query: vector.Query{Values: []float32{1, 2}, TopK: 1, Filter: s.filterOfVectors()}, MaxIdle: time.Minute}})
		s.queries = append(s.queries, started.ID)
		return err
	},
	"tick":      (*simulation).passTime,
	"unpinFlow": func(s *simulation) error { return s.UnpinFlow(pick(s, simulatedKeys), true, s.IntN(2) == 0) },
	"updateGroup": func(s *simulation) error {
		_, err := s.UpdateGroup("g", engine.Header{"A": {"b"}}, nil, s.options())
		return err
	},
	"updateVector": func(s *simulation) error {
		return changed(engine.ChangeVectors(s.Account, "v", vector.UpdateCommand{Vector: s.vectors()[0], Patch: s.IntN(2) == 0}))
	},
	"upsertQueue": func(s *simulation) error {
		_, err := s.UpsertQueue(pick(s, queueNames), new(s.IntN(3)), new(s.IntN(4) == 0))
		return err
	},
	"upsertVectors": func(s *simulation) error {
		return changed(engine.ChangeVectors(s.Account, "v", vector.UpsertCommand{Namespace: pick(s, []string{"", "ns0", "ns1"}), Vectors: s.vectors()}))
	},
	"wait": func(s *simulation) error {
		return s.Wait(engine.WaitRequest{RunID: s.run(), EventID: s.name("e", 2), Timeout: "90s", Step: []byte(`{"stepId":3,"stepName":"w","stepType":"Wait"}`)})
	},
}

// passTime lets time pass, or, rarely, forgets everything.
func (s *simulation) passTime() (err error) {
	switch s.IntN(120) {
	case 0:
		return s.Reset(nil, false)
	case 1:
		return s.restartClock()
	case 2, 3:
		return s.goBack()
	}
	s.opened(func(ctx context.Context) { _, err = s.Advance(ctx, s.Now().Add(s.duration())) })
	return err
}

func (s *simulation) restartClock() error {
	return s.Reset(clock.NewManual(epoch.Add(s.duration())), false)
}

// goBack restores an earlier snapshot, or takes one.
func (s *simulation) goBack() error {
	if s.saved == nil || s.IntN(3) == 0 {
		if s.saving { // one snapshot is written after the other
			return nil
		}
		s.saved = s.document()
		return nil
	}
	s.load(s.saved)
	return nil
}

// turn takes another clock, and mostly goes back to a manual one.
func (s *simulation) turn() error {
	switch s.IntN(4) {
	case 0:
		return s.SetClock(clock.NewReal(), false)
	case 1:
		return s.SetClock(clock.NewManual(s.Now()), true)
	}
	return s.SetClock(clock.NewManual(s.Now()), false)
}

// fixture puts something of everything into the account.
func (s *simulation) fixture() error {
	now := s.Now()
	ago := now.Add(-time.Hour)
	return s.AddFixture(engine.Fixture{
		Groups:    []engine.Group{{Name: "g", Endpoints: []engine.Endpoint{{URL: sink}}}},
		Queues:    []engine.Queue{{Name: pick(s, queueNames), Parallelism: 1 + s.IntN(2)}},
		FlowKeys:  []engine.FlowKey{{Key: pick(s, simulatedKeys), Parallelism: s.IntN(3), Paused: s.IntN(5) == 0}},
		Schedules: []engine.Schedule{{ID: s.name("s", 2), Cron: "0 * * * *", Request: engine.PublishRequest{URL: sink}}},
		Messages:  []engine.PublishRequest{{URL: sink, Options: s.options()}},
		DLQ:       []engine.Failure{{At: ago, Request: engine.PublishRequest{URL: sink}, Retried: s.IntN(3), Last: engine.Outcome{Status: 500}}},
		Runs: []engine.PastRun{
			{State: engine.RunFailed, CreatedAt: ago, EndedAt: now,
				Request: engine.PublishRequest{URL: "https://app.test/wf", Options: engine.Options{FailureCallback: &engine.Callback{URL: "https://fcb.test/"}}},
				Failure: engine.Failure{Last: engine.Outcome{Err: "gone"}, Callback: &engine.CallbackInfo{State: engine.CallbackFail}}},
			{State: engine.RunStarted, CreatedAt: ago, EndedAt: ago, NextAt: now, Request: engine.PublishRequest{URL: "https://app.test/wf"}, Steps: []engine.Step{{Name: "s1", Type: "Run", Out: `"x"`}}},
			{State: engine.RunStarted, CreatedAt: ago, EndedAt: ago, Request: engine.PublishRequest{URL: "https://app.test/wf"}, Waits: []engine.WaitRequest{{EventID: "e0"}}},
		},
		Usage:  []usage.Point{{At: ago, Counts: usage.Counts{Created: 4}}},
		Search: []search.Index{{Name: "s"}},
		Vectors: []engine.FixtureVectors{{Config: vector.Config{Name: s.name("seeded", 2), Type: vector.Dense, Similarity: vector.Euclidean},
			Vectors: []vector.Vector{{ID: "a", Values: []float32{1, 2}}}}},
	})
}
