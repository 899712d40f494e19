package engine

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// The lists that a search reads.
const (
	SearchMessages = "message"
	SearchRuns     = "run"
	SearchDLQ      = "dlq"
	SearchLog      = "log"
	SearchAnswers  = "answers" // events of the log with details, such as a response, an error or a step
)

// SearchItem is the searchable content of a message, a run, a DLQ entry or an event of the
// log. Its strings, bodies and headers are shared with the account, which never changes
// them, so it can be read without the lock.
type SearchItem struct {
	List     string // one of the lists above
	Seq      uint64 // of an event
	Time     int64  // Unix ms of the creation, the failure or the event
	State    string
	ID       string // of the message, "" for a run-level event
	RunID    string
	DLQID    string
	SourceID string // message that a callback reports on
	URL      string
	Method   string
	Group    string
	Queue    string
	Schedule string
	FlowKey  string
	Labels   []string
	Step     string           // name of the step that a message or an event is about
	Tried    string           // name of the step that the latest attempt was for, from its response
	Steps    []string         // names of the steps of a run
	Header   state.HeaderText // as published
	Forward  state.HeaderText // headers that the destination of a message receives
	Other    state.Header     // of a run: headers that its endpoint receives; of an event: those of the response
	Body     []byte           // of a message or DLQ entry; for a run: its payload
	Texts    []string         // for a run: results of its steps, and contents of third-party calls
	Result   []byte           // of a run; otherwise the body of the latest response, for an event: of its response
	Status   int              // of that response
	Error    string           // why there was no response, or why the run failed

	place state.Position
	ids   state.IDs
}

// Cursor returns the cursor that continues the list after the item.
func (it *SearchItem) Cursor() string { return it.ids.Cursor(cursorList(it.List), it.place) }

// Headers yields the names and values of all headers of the item.
func (it *SearchItem) Headers() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, h := range []state.HeaderText{it.Header, it.Forward, state.TextOf(it.Other)} {
			for name, value := range h.All() {
				if !yield(name, value) {
					return
				}
			}
		}
	}
}

// cursorList is the name of the list for cursors of a search.
func cursorList(list string) string {
	if list == SearchAnswers {
		list = SearchLog
	}
	return "search " + list
}

// Search fills items with the next entries of a list below the cursor of the filter, newest
// first, that are in one of its states. It returns the number of items and the cursor after
// all examined entries, "" at the end of the list.
func (a *Account) Search(list string, f *Filter, items []SearchItem) (n int, next string, err error) {
	a.lock()
	defer a.unlock()
	below, err := a.state.IDs.Position(cursorList(list), f.Cursor)
	if err != nil {
		return 0, "", err
	}
	leavesOut := func(state string) bool { return !isWanted(f, f.States, state) }
	switch l := &a.state.Log; list {
	case SearchMessages:
		n, next = fillItems(a, list, items, l.NewestCreated(below), func(e *state.LogEntry) bool { return leavesOut(string(e.Message.State)) }, a.searchCreated)
	case SearchRuns:
		n, next = fillItems(a, list, items, a.state.RunList.Newest(below), func(r *state.Run) bool { return leavesOut(string(r.State)) }, a.searchRun)
	case SearchDLQ:
		n, next = fillItems(a, list, items, a.state.DLQ.Newest(below), func(e *state.DLQEntry) bool { return leavesOut(string(e.Message.State)) }, a.searchEntry)
	case SearchLog:
		n, next = fillItems(a, list, items, l.Newest(below), func(e *state.LogEntry) bool { return leavesOut(e.State) }, a.searchEvent)
	case SearchAnswers:
		n, next = fillItems(a, SearchLog, items, l.Newest(below), func(e *state.LogEntry) bool { return e.LogDetail == nil || leavesOut(e.State) }, a.searchEvent)
	default:
		return 0, "", refusal.OfValue("list", list, "", "message, run, dlq, log or answers")
	}
	return n, next, nil
}

// searchWalk limits how many entries one call examines: this number for each item. Skipping
// an entry is much cheaper than filling an item.
const searchWalk = 4

func fillItems[E state.Sequenced](a *Account, list string, items []SearchItem, newest iter.Seq[E], leavesOut func(E) bool, fill func(*SearchItem, E)) (n int, next string) {
	looked := 0
	for e := range newest {
		looked++
		out := leavesOut(e)
		if !out {
			it := &items[n]
			*it = SearchItem{List: list, Time: e.Position().At(), place: e.Position(), ids: a.state.IDs}
			fill(it, e)
			n++
		}
		if n == len(items) || looked == searchWalk*len(items) {
			return n, a.state.IDs.Cursor(cursorList(list), e.Position())
		}
	}
	return n, ""
}

// searchCreated fills in the current state of the message of a CREATED event.
func (a *Account) searchCreated(it *SearchItem, e *state.LogEntry) {
	a.searchMessage(it, e.Message)
	if o := e.Message.Last; o != nil {
		it.Status, it.Error, it.Result, it.Tried = o.Status, o.Err, o.Body, o.Answer.Step
	}
}

// searchMessage fills in the fields of a message.
func (a *Account) searchMessage(it *SearchItem, m *state.Message) {
	it.of(m)
	it.State, it.RunID = string(m.State), m.RunID
	shown := a.showMessage(m)
	it.Header, it.Forward, it.Body = shown.Headers.Published(), shown.Headers.Forward(), shown.Body
}

// of fills in what an event of a message also has.
func (it *SearchItem) of(m *state.Message) {
	it.ID, it.SourceID, it.URL, it.Method, it.Group, it.Queue, it.Schedule, it.FlowKey, it.Labels = m.ID, m.SourceID, m.URL, m.Method, m.Group, m.Options.Queue, m.ScheduleID, m.FlowKey(), m.Options.Labels
	if m.Step != nil {
		it.Step = m.Step.Step.Name
	}
}

// searchRun fills in a run. It copies what changes while the run continues.
func (a *Account) searchRun(it *SearchItem, r *state.Run) {
	it.State, it.RunID, it.DLQID, it.URL, it.Labels = string(r.State), r.ID, r.DLQID, r.URL, r.Options.Labels
	shown := a.showRun(r)
	it.Header, it.Other, it.Body, it.Result, it.Error = shown.Header, shown.Forward, shown.Payload, shown.Result, r.Cause
	if r.Options.Flow != nil {
		it.FlowKey = r.Options.Flow.Key
	}
	for _, steps := range []iter.Seq[*state.StepItem]{slices.Values(r.Items), slices.Values(r.Open), maps.Values(r.Calls)} {
		for step := range steps {
			s := a.showItem(r, step)
			for _, text := range []string{s.Out, s.CallURL, s.CallBody, s.CallResponseBody, s.InvokedBody, s.WaitEventID} {
				if text != "" {
					it.Texts = append(it.Texts, text)
				}
			}
			if s.Name != "" {
				it.Steps = append(it.Steps, s.Name)
			}
			if n := len(step.Errors); n > 0 { // the failed step is not in the list yet
				last := &step.Errors[n-1]
				it.Tried = cmp.Or(a.cfg.Wire.ReadAnswer(&state.Outcome{Status: last.Status, Header: last.Header}).Step, it.Tried)
			}
		}
	}
}

// searchEntry fills in a DLQ entry with the last response.
func (a *Account) searchEntry(it *SearchItem, e *state.DLQEntry) {
	a.searchMessage(it, &e.Message)
	it.DLQID, it.Status, it.Error, it.Result = e.ID, e.Last.Status, e.Last.Err, e.Last.Body
	it.Tried = e.Last.Answer.Step
	if e.Run != nil {
		it.RunID, it.URL = e.Run.ID, e.Run.URL
	}
}

// searchEvent fills in an event. It leaves out what the event shares with its message or
// run, because a search finds that in the message or run.
func (a *Account) searchEvent(it *SearchItem, e *state.LogEntry) {
	if m := e.Message; m != nil {
		it.of(m)
	}
	if r := e.Run; r != nil {
		it.RunID, it.URL = r.ID, r.URL
		if e.Message == nil {
			it.Labels = r.Options.Labels
		}
	}
	it.Seq, it.State = e.Seq, e.State
	d := e.LogDetail
	if d == nil {
		return
	}
	it.Error, it.DLQID = d.Error, d.DLQID
	if d.Outcome != nil {
		it.Status, it.Other, it.Result = d.Outcome.Status, d.Outcome.Header, d.Outcome.Body
		it.Tried = d.Outcome.Answer.Step
	}
	if d.Step != nil {
		it.Step = d.Step.Step.Name
	}
}
