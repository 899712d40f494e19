package engine

import (
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/internal/state"
)

// Link is a relation of a message, a run or a DLQ entry to another object: to its origin,
// or to what followed from it. Origins come first, the most distant one at the beginning.
type Link struct {
	Relation string // such as "resumes" or "resumed as"
	Before   bool   // the other object is an origin
	Kind     string // message, run, schedule, DLQ entry
	ID       string
	State    string    // "" if it has none or was forgotten
	At       time.Time // when it began; zero if unknown
	Known    bool      // the account still has it
}

// The relations: to an origin, and in the other direction.
const (
	Restarts, RestartedAs   = "restarts", "restarted as"
	Resumes, ResumedAs      = "resumes", "resumed as"
	Retries, RetriedAs      = "retries", "retried as"
	Repeats, RepeatedAs     = "publishes again", "published again as"
	InvokedBy, Invokes      = "invoked by", "invokes"
	ReportsOn, CallbackTo   = "reports on", "callback"
	FailureCallback         = "failure callback"
	ScheduledBy, BelongsTo  = "published by the schedule", "belongs to the run"
	KeptAs, KeepsFailed     = "in the DLQ as", "keeps"
	longestChain, mostAfter = 20, 20 // largest number of links to origins, and in the other direction
)

// runLineage returns the known origins of a run, and what followed from it.
func (a *Account) runLineage(r *state.Run, events []*state.LogEntry) []Link {
	var before, after []Link
	for at := r; at != nil && len(before) < longestChain; {
		link := Link{Before: true, Kind: "run"}
		switch {
		case at.Predecessor != nil:
			link.Relation, link.ID = Restarts, at.Predecessor.ID
			if at.Predecessor.Resumed {
				link.Relation = Resumes
			}
		case at.Invoker != nil:
			link.Relation, link.ID = InvokedBy, at.Invoker.ID
		default:
			at = nil
			continue
		}
		at = a.knownRun(&link)
		before = append(before, link)
	}
	schedule := ""
	for _, e := range events {
		if m := e.Message; m != nil && m.ScheduleID != "" && schedule == "" {
			schedule = m.ScheduleID
			before = append(before, a.scheduleLink(schedule))
		}
	}
	for _, e := range a.state.Log.Created {
		if m := e.Message; m.RunID == r.ID && m.Role.Conduct().ReportsFailed && len(after) < mostAfter {
			after = append(after, messageLink(FailureCallback, m))
		}
	}
	slices.Reverse(before)
	for at := r; at != nil && at.Successor != nil && len(after) < mostAfter; {
		link := Link{Relation: RestartedAs, Kind: "run", ID: at.Successor.ID}
		if at.Successor.Resumed {
			link.Relation = ResumedAs
		}
		at = a.knownRun(&link)
		after = append(after, link)
	}
	return slices.Concat(before, a.invokedLinks(r), a.entryLink(r.DLQID), after)
}

// invokedLinks returns the runs that a run has invoked, each once.
func (a *Account) invokedLinks(r *state.Run) (links []Link) {
	seen := map[string]bool{}
	for _, it := range slices.Concat(r.Items, r.Open) {
		if child := it.Step.Invoked; child != nil && !seen[child.ID] && len(links) < mostAfter {
			seen[child.ID] = true
			link := Link{Relation: Invokes, Kind: "run", ID: child.ID}
			a.knownRun(&link)
			links = append(links, link)
		}
	}
	return links
}

// knownRun completes a link to a run; it returns nil if the run was forgotten.
func (a *Account) knownRun(link *Link) *state.Run {
	r := a.state.Runs[link.ID]
	if r != nil {
		link.State, link.At, link.Known = string(r.State), r.CreatedAt, true
	}
	return r
}

func messageLink(relation string, m *state.Message) Link {
	return Link{Relation: relation, Kind: "message", ID: m.ID, State: string(m.State), At: m.CreatedAt.Time(), Known: true}
}

func (a *Account) scheduleLink(id string) Link {
	s := a.state.Schedules[id]
	link := Link{Relation: ScheduledBy, Before: true, Kind: "schedule", ID: id, Known: s != nil}
	if s != nil {
		link.At = s.CreatedAt
	}
	return link
}

// entryLink returns the link to a DLQ entry, none if it does not exist.
func (a *Account) entryLink(id string) []Link {
	e := a.state.DLQ.Get(id)
	if e == nil {
		return nil
	}
	return []Link{{Relation: KeptAs, Kind: "DLQ entry", ID: id, At: e.At, Known: true}}
}

// messageLineage returns the origins of a message, and what followed from it. It follows
// chains of retries and of messages published again in both directions.
func (a *Account) messageLineage(m *state.Message) []Link {
	var before []Link
	if m.RunID != "" {
		link := Link{Relation: BelongsTo, Before: true, Kind: "run", ID: m.RunID}
		a.knownRun(&link)
		before = append(before, link)
	}
	if m.ScheduleID != "" && !m.Role.Conduct().BringsAnswer && !m.Role.Conduct().ReportsFailed {
		before = append(before, a.scheduleLink(m.ScheduleID))
	}
	newer, older := a.createdMessages(m)
	for at, relation := m.SourceID, ReportsOn; at != "" && len(before) < longestChain; at = "" {
		before = append(before, olderLink(relation, at, older))
	}
	back := len(before)
	for at := m; at != nil && at.RetryOf != "" && len(before) < longestChain; at = older[at.RetryOf] {
		relation := Retries
		if at.Again {
			relation = Repeats
		}
		before = append(before, olderLink(relation, at.RetryOf, older))
	}
	slices.Reverse(before[back:])
	return slices.Concat(before, a.entryLink(a.keptAs(m.ID)), linksAfter(m.ID, newer))
}

// olderLink is a link to a message that was published earlier.
func olderLink(relation, id string, older map[string]*state.Message) Link {
	link := Link{Relation: relation, Kind: "message", ID: id}
	if m := older[id]; m != nil {
		link = messageLink(relation, m)
	}
	link.Before = true
	return link
}

// linksAfter returns the callbacks of a message, and the messages that retry it or publish it again.
func linksAfter(id string, newer []*state.Message) (links []Link) {
	known := map[string]bool{id: true} // the message, and those that retry it or publish it again
	for _, m := range newer {
		switch {
		case len(links) == mostAfter:
			return links
		case m.SourceID == id && m.Role.Conduct().ReportsFailed:
			links = append(links, messageLink(FailureCallback, m))
		case m.SourceID == id && m.RetryOf == "":
			links = append(links, messageLink(CallbackTo, m))
		case known[m.RetryOf] && m.Again:
			links, known[m.ID] = append(links, messageLink(RepeatedAs, m)), true
		case known[m.RetryOf]:
			links, known[m.ID] = append(links, messageLink(RetriedAs, m)), true
		}
	}
	return links
}

// createdMessages returns the messages of the log: those created after m in their order,
// and the possible origins of m by id. It stops early, because most messages have no origin
// and the log is long.
func (a *Account) createdMessages(m *state.Message) (newer []*state.Message, older map[string]*state.Message) {
	older = map[string]*state.Message{}
	wanted := m.RetryOf
	if wanted == "" {
		wanted = m.SourceID
	}
	passed := false
	for _, e := range slices.Backward(a.state.Log.Created) {
		switch {
		case e.Message == m:
			passed = true
		case !passed:
			newer = append(newer, e.Message)
		case e.Message.ID == wanted:
			older[wanted] = e.Message
			wanted = e.Message.RetryOf
		}
		if passed && wanted == "" {
			break
		}
	}
	slices.Reverse(newer)
	return newer, older
}

// entryLineage returns the message or run that a DLQ entry keeps, and its failure callback.
func (a *Account) entryLineage(e *state.DLQEntry) []Link {
	m := &e.Message
	links := []Link{messageLink(KeepsFailed, m)}
	if e.Run != nil {
		links = []Link{{Relation: KeepsFailed, Kind: "run", ID: e.Run.ID}}
		a.knownRun(&links[0])
	}
	links[0].Before = true
	if e.Callback != nil && e.Callback.MessageID != "" {
		link := Link{Relation: FailureCallback, Kind: "message", ID: e.Callback.MessageID, State: e.Callback.State}
		if x := a.lastEvent(link.ID); x != nil {
			link = messageLink(FailureCallback, x.Message)
		}
		links = append(links, link)
	}
	return links
}
