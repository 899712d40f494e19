package ui

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/spec/api"
)

// history is the state of an account after a record of its journal, and before it.
type history struct {
	Step    api.JournalStep
	Before  *api.JournalStep // nil at the first state
	Around  []api.JournalStep
	Refused string // why this is the last state and not the requested one
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
	if h.Refused = refusal(err, http.StatusBadRequest); h.Refused != "" {
		err = v.get(&h.Step, "journal", nil)
	}
	if err != nil {
		return nil, err
	}
	at := h.Step.Record.LSN
	for lsn := max(at, h.Step.First.LSN+aroundRecord) - aroundRecord; lsn <= min(at+aroundRecord, h.Step.Last.LSN); lsn++ {
		var s api.JournalStep
		if err := v.get(&s, "journal", url.Values{"lsn": {strconv.Itoa(lsn)}}); err != nil {
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
	at := h.Step.Record.LSN + steps
	if at < h.Step.First.LSN || at > h.Step.Last.LSN {
		return ""
	}
	return strconv.Itoa(at)
}

// historyRow is one number of a state, before and after the record.
type historyRow struct {
	Name        string
	Before, Now int
}

// Rows returns the numbers of the state, sorted by name.
func (h *history) Rows() []historyRow {
	now := numbersOf(&h.Step.State)
	names, before := maps.Clone(now), now
	if h.Before != nil {
		before = numbersOf(&h.Before.State)
	}
	maps.Copy(names, before)
	var rows []historyRow
	for _, name := range slices.Sorted(maps.Keys(names)) {
		rows = append(rows, historyRow{name, before[name], now[name]})
	}
	return rows
}

// recordField matches the name of a field in the arguments of a record.
var (
	recordField = regexp.MustCompile(`(?:^| )(?:[A-Z]\w*\.)*[A-Z]\w*=`)
	humps       = regexp.MustCompile(`([a-z])([A-Z])`)
)

// recordText is the arguments of a record with their last names as words.
func recordText(arguments string) string {
	return strings.TrimPrefix(recordField.ReplaceAllStringFunc(arguments, func(name string) string {
		return ", " + wordsOf(strings.Trim(name[strings.LastIndexByte(name, '.')+1:], " =")) + " "
	}), ", ")
}

// wordsOf is a name in camel case as words.
func wordsOf(name string) string { return strings.ToLower(humps.ReplaceAllString(name, "$1 $2")) }

// numbersOf returns the numbers of a state by name.
func numbersOf(o *api.JournalState) map[string]int {
	all := map[string]int{
		"attempts in flight": o.InFlight, "DLQ entries": o.DLQ, "flow-control keys": o.FlowKeys, "flow-control keys, paused": o.Paused,
		"URL groups": o.Groups, "queues": o.QueueCount, "schedules": o.Schedules, "waiting runs": o.Waiters,
	}
	for state, n := range o.Messages {
		all["messages, "+strings.ToLower(StateWord(state))] = n
	}
	for state, n := range o.Runs {
		all["runs, "+strings.ToLower(StateWord(state))] = n
	}
	return all
}
