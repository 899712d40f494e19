package ui

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/spec/route"
)

// current is the data of the first view: what needs attention, what has happened, what comes next.
type current struct {
	Attention []notice
	All       int // notices, of which the first of each kind are shown
	Activity  []happening
	Timers    []timer
	Pace      chart
	Undo      []doc
}

// notice is something that needs attention: equal causes are one.
type notice struct {
	Tone, Subject, Text, Link string
	Entries                   []doc // of the DLQ, with this cause
	At                        any   // Unix ms; nil: not known
	Label, Do                 string
	Fields                    doc
}

// happening is the latest event of a message or a run; equal ones that follow each other are one.
type happening struct {
	Event, Row doc
	Count      int
}

// timer is a time at which something happens, unless something else does before.
type timer struct {
	At         float64 // Unix ms
	Text, Link string
}

// Lengths of the lists.
const (
	mostNotices    = 8 // of a kind
	mostHappenings = 14
	mostTimers     = 6
)

func nowView(v *visit) (any, error) {
	var c current
	var undo struct{ Points []doc }
	at := v.frame()
	err := cmp.Or(v.get(&undo, "undo", nil), c.failed(v, at), c.held(v, at), c.happened(v), c.comes(v, at))
	if err != nil {
		return nil, err
	}
	c.Undo, c.All = undo.Points, len(c.Attention)
	shown := map[string]int{}
	c.Attention = slices.DeleteFunc(c.Attention, func(n notice) bool {
		shown[n.Tone]++
		return shown[n.Tone] > mostNotices
	})
	usage, err := v.usage("1d")
	kinds := slices.DeleteFunc(manySeries(messageSeries(usage)), func(s series) bool { return !slices.Contains([]string{"delivered", "retried", "failed"}, s.Name) })
	c.Pace = newChart("Messages of the last day", "", kinds)
	return &c, err
}

// failed groups the latest entries of the DLQ.
func (c *current) failed(v *visit, at *frame) error {
	var d doc
	err := v.get(&d, "dlq", url.Values{"count": {"200"}})
	c.Attention = failures(d, at)
	return err
}

// failures groups entries of a page of the DLQ by destination and cause. If there are more pages, a group may have more.
func failures(page doc, at *frame) (list []notice) {
	var keys []string
	least := map[bool]string{true: "at least "}[page["cursor"] != nil]
	for _, e := range asList(page["entries"]) {
		what, do, label := "message", "dlq.retrySome", "Retry"
		if e["source"] == "workflow" {
			what, do, label = "run", "dlq.resumeSome", "Resume"
		}
		to, _, _ := strings.Cut(text(e["url"]), "?")
		key := what + to + BriefReason(e["cause"])
		i := slices.Index(keys, key)
		if i < 0 {
			i, keys = len(keys), append(keys, key)
			list = append(list, notice{Tone: "bad", Text: BriefReason(e["cause"]), Link: at.Of("dlq", text(e["dlqId"])), At: e["failedAt"], Do: do, Label: label, Fields: doc{"sure": "yes"}})
		}
		n := &list[i]
		n.Entries = append(n.Entries, e)
		n.Fields["pick"] = strings.TrimPrefix(text(n.Fields["pick"])+","+text(e["dlqId"]), ",")
		if n.Subject = pathOf(e["url"]); len(n.Entries) > 1 {
			n.Subject, n.Label = fmt.Sprintf("%s%d %ss to %s", least, len(n.Entries), what, pathOf(e["url"])), fmt.Sprintf("%s %d", label, len(n.Entries))
			n.Link = at.Link("dlq", "url", to, "source", text(e["source"]))
		}
	}
	return list
}

// held lists the runs that wait for events, and the paused keys and queues that hold messages.
func (c *current) held(v *visit, at *frame) error {
	var d struct{ Waiters, Keys []doc }
	var queues []doc
	if err := cmp.Or(v.get(&d, "waiters", nil), v.get(&d, "flow", nil), v.get(&queues, v.as(route.ListQueues), nil)); err != nil {
		return err
	}
	for _, w := range d.Waiters {
		run := text(w["workflowRunId"])
		c.Attention = append(c.Attention, notice{Tone: "wait", Subject: shortID(run), Text: fmt.Sprintf("waits for the event %q", w["eventId"]), Link: at.Of("runs", run)})
		c.Timers = append(c.Timers, timer{number(w["deadline"]), "Time-out of " + text(w["eventId"]), at.Of("runs", run)})
	}
	for _, k := range append(d.Keys, queues...) {
		name, held := cmp.Or(text(k["flowControlKey"]), text(k["name"])), number(k["waitListSize"])+number(k["lag"])
		if k["isPaused"] != true && k["paused"] != true || held == 0 {
			continue
		}
		n := notice{Tone: "held", Subject: "Flow key " + name, Text: "is paused and holds " + pluralText(int(held), "message", "messages"), Link: at.Link("flow", "key", name), Do: "flow.resume", Label: "Unpause", Fields: doc{"key": name}}
		if k["name"] != nil {
			n.Subject, n.Link, n.Do, n.Fields = "Queue "+name, at.Link("queues")+"#queue-"+name, "queue.resume", doc{"name": name}
		}
		c.Attention = append(c.Attention, n)
	}
	return nil
}

// happened loads the latest event of each message and run.
func (c *current) happened(v *visit) error {
	var log struct{ Events []doc }
	var known struct{ Messages []doc }
	if err := cmp.Or(v.get(&log, "log", url.Values{"count": {"150"}}), v.get(&known, "messages", url.Values{"count": {"100"}})); err != nil {
		return err
	}
	rows, seen := map[string]doc{}, map[string]bool{}
	for _, m := range known.Messages {
		rows[text(m["messageId"])] = m
	}
	for _, e := range log.Events {
		run, message := text(e["workflowRunId"]), text(e["messageId"])
		key := cmp.Or(run, message)
		if seen[key] {
			continue
		}
		seen[key] = true
		h := happening{Event: e, Row: rows[message], Count: 1}
		if n := len(c.Activity); n > 0 && run == "" {
			if last := &c.Activity[n-1]; last.like(&h) {
				last.Count++
				continue
			}
		}
		if c.Activity = append(c.Activity, h); len(c.Activity) == mostHappenings {
			break
		}
	}
	return nil
}

// like reports whether two events look the same.
func (h *happening) like(other *happening) bool {
	same := func(name string) bool { return h.Event[name] == other.Event[name] }
	return same("state") && same("url") && same("responseStatus") && same("cause") && same("workflowRunId") && h.Row["attempts"] == other.Row["attempts"]
}

// comes loads the next timers, and what is overdue.
func (c *current) comes(v *visit, at *frame) error {
	var d struct{ Messages, Schedules []doc }
	if err := cmp.Or(v.get(&d, "messages", url.Values{"count": {"500"}, "sort": {"next"}, "state": {"CREATED,RETRY,ERROR"}}), v.get(&d, "schedules", nil)); err != nil {
		return err
	}
	const late = time.Minute
	now := float64(v.now.Clock.Now)
	for _, m := range d.Messages {
		due, link := number(m["nextDeliveryTime"]), at.Of("messages", text(m["messageId"]))
		why, _ := m["why"].(doc)
		kind := text(why["kind"])
		switch word := map[string]string{"retrying": "Retry", "sleeping": "Wake"}[kind]; {
		case due > now:
			c.Timers = append(c.Timers, timer{due, cmp.Or(word, "Deliver") + " " + pathOf(m["url"]), link})
		case now-due > float64(late.Milliseconds()) && kind != "held":
			c.Attention = append(c.Attention, notice{Tone: "wait", Subject: pathOf(m["url"]), Text: "is overdue: " + text(why["reason"]), Link: link, At: m["nextDeliveryTime"]})
		}
	}
	for _, s := range d.Schedules {
		if times, _ := s["nextTimes"].([]any); len(times) > 0 && s["isPaused"] != true {
			c.Timers = append(c.Timers, timer{number(times[0]), "Schedule " + text(s["scheduleId"]), at.Link("schedules") + "#schedule-" + url.PathEscape(text(s["scheduleId"]))})
		}
	}
	slices.SortStableFunc(c.Timers, func(a, b timer) int { return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.Text, b.Text)) })
	c.Timers = c.Timers[:min(len(c.Timers), mostTimers)]
	return nil
}

// number reads a number; 0 for other values.
func number(v any) float64 {
	n, _ := readNumber(v)
	return n
}
