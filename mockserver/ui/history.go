package ui

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// history is the state of an account after a record of its journal, and before it.
type history struct {
	Step    journalStep
	Before  *journalStep // nil at the first state
	Around  []journalStep
	Refused string // why this is the last state and not the requested one
}

// journalStep is a state from the control API.
type journalStep struct {
	Snapshot    bool
	First, Last journalEnd
	Record      struct {
		LSN       uint64
		At        int64
		Kind      string
		Arguments string
	}
	State struct {
		Messages, Runs                                                          map[string]int
		DLQ, InFlight, FlowKeys, Paused, Groups, QueueCount, Schedules, Waiters int
		NextDue                                                                 int64
		Queues                                                                  []struct {
			Name             string
			Parallelism, Lag int
			Paused           bool
		}
	}
}

type journalEnd struct {
	LSN uint64
	At  int64
}

// aroundRecord is how many records are listed before and after the shown one.
const aroundRecord = 3

// historyView loads the state after a record or at a time. If that does not exist, it
// loads the last state.
func historyView(v *visit) (any, error) {
	h := &history{}
	asked := url.Values{}
	for _, name := range []string{"lsn", "time"} {
		if text := v.query.Get(name); text != "" && len(asked) == 0 {
			asked.Set(name, text)
		}
	}
	err := v.get(&h.Step, "journal", asked)
	if refused, ok := errors.AsType[*failure](err); ok && len(asked) > 0 && refused.status == http.StatusBadRequest {
		h.Refused = refused.text
		err = v.get(&h.Step, "journal", nil)
	}
	if err != nil {
		return nil, err
	}
	at := h.Step.Record.LSN
	for lsn := max(at, h.Step.First.LSN+aroundRecord) - aroundRecord; lsn <= min(at+aroundRecord, h.Step.Last.LSN); lsn++ {
		var s journalStep
		if err := v.get(&s, "journal", url.Values{"lsn": {strconv.FormatUint(lsn, 10)}}); err != nil {
			return nil, err
		}
		h.Around = append(h.Around, s)
		if lsn+1 == at {
			h.Before = &s
		}
	}
	return h, nil
}

// Go is the query value for a record some steps away; "" if there is none.
func (h *history) Go(steps int) string {
	at := int64(h.Step.Record.LSN) + int64(steps)
	if at < int64(h.Step.First.LSN) || at > int64(h.Step.Last.LSN) {
		return ""
	}
	return strconv.FormatInt(at, 10)
}

// historyRow is one number of a state, before and after the record.
type historyRow struct {
	Name        string
	Before, Now int
	Changed     bool
}

// Rows returns the numbers of the state, sorted by name.
func (h *history) Rows() []historyRow {
	now := h.Step.numbers()
	before := now
	if h.Before != nil {
		before = h.Before.numbers()
	}
	names := maps.Clone(now)
	maps.Copy(names, before)
	rows := []historyRow{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		rows = append(rows, historyRow{name, before[name], now[name], before[name] != now[name]})
	}
	return rows
}

// numbers returns the numbers of a state by name.
func (s *journalStep) numbers() map[string]int {
	o := &s.State
	all := map[string]int{
		"attempts in flight": o.InFlight, "DLQ entries": o.DLQ, "flow-control keys": o.FlowKeys, "flow-control keys, paused": o.Paused,
		"URL groups": o.Groups, "queues": o.QueueCount, "schedules": o.Schedules, "waiting runs": o.Waiters,
	}
	for state, n := range o.Messages {
		all[fmt.Sprintf("messages, %s", state)] = n
	}
	for state, n := range o.Runs {
		all[fmt.Sprintf("runs, %s", state)] = n
	}
	return all
}
