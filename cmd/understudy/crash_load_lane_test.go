package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/spec/header"
)

// kind is what a crashLane does in each iteration.
type kind struct {
	name string
	once func(l *crashLane, name string)
}

// kinds are sorted by name.
var kinds = []kind{
	{"batch", batch},
	{"big", big},
	{"callback", withCallback},
	{"cancel", cancel},
	{"dead", deadLetter},
	{"dedup", deduplicated},
	{"delay", func(l *crashLane, name string) { l.publish("/v2/publish/", name, "", retried, "Svc-Delay", "1s") }},
	{"group", toGroup},
	{"key", func(l *crashLane, name string) {
		l.publish("/v2/publish/", name, "", retried, header.FlowControlKey, "key", header.FlowControlValue, fmt.Sprintf("parallelism=%d", keyLimit))
	}},
	{"plain", func(l *crashLane, name string) { l.publish("/v2/publish/", name, "", retried) }},
	{"queue", func(l *crashLane, name string) { l.publish("/v2/enqueue/line/", name, "", retried) }},
	{"run", runWorkflow},
	{"schedule", schedule},
}

// keyLimit is the parallelism of the flow-control key of the lanes "key".
const keyLimit = 2

// padding makes a message large, so that journals grow and are compacted. maxBig limits the
// number of large messages: a server keeps them in its state and reads them at each start.
var padding = strings.Repeat("0123456789abcdef", 8<<10)

const maxBig = 300

// retried are the options of messages that may fail.
var retried = []string{header.Retries, "3", header.RetryDelay, "50"}

// maxOpen is the largest number of messages of a crashLane that have not ended. Without it, a crashLane
// that is faster than its queue would leave hours of work.
const maxOpen = 30

// crashLane is one goroutine that sends requests of one kind as one account.
type crashLane struct {
	kind    *kind
	account int
	token   string
	load    *crashLoad
	made    int
	open    []string // names of accepted messages that may not have ended
}

// run repeats the requests of a crashLane until ctx ends.
func (l *crashLoad) run(ctx context.Context, ln *crashLane) {
	for ctx.Err() == nil {
		for ln.waiting() > maxOpen && clock.Pause(ctx, 10*time.Millisecond) == nil {
			continue
		}
		ln.made++
		before := len(ln.open)
		ln.kind.once(ln, fmt.Sprintf("%s-%d-%06d", ln.kind.name, ln.account, ln.made))
		if len(ln.open) == before { // nothing was accepted: the server may be dead
			_ = clock.Pause(ctx, 5*time.Millisecond) // the loop checks ctx
		}
		if l.cfg.Pause > 0 {
			_ = clock.Pause(ctx, l.cfg.Pause) // the loop checks ctx
		}
	}
}

// waiting is the number of messages of the crashLane that have not ended.
func (ln *crashLane) waiting() int {
	ln.load.mu.Lock()
	defer ln.load.mu.Unlock()
	ln.open = slices.DeleteFunc(ln.open, func(name string) bool {
		visits := ln.load.seen[name]
		return deliveredVisits(visits) > 0 || len(visits) > 3
	})
	return len(ln.open)
}

// promise records a message that must be delivered or be in the DLQ.
func (ln *crashLane) promise(name, id string) {
	ln.load.mu.Lock()
	defer ln.load.mu.Unlock()
	ln.load.promises = append(ln.load.promises, promise{ln.account, ln.kind.name, name, id})
	ln.open = append(ln.open, name)
}

// receipt is an item of the answer to a publish.
type receipt struct {
	MessageID     string `json:"messageId"`
	ScheduleID    string `json:"scheduleId"`
	WorkflowRunID string `json:"workflowRunId"`
}

// send sends a request. options are names and values of headers, in turn. It returns nil when
// the request may not have been accepted.
func (ln *crashLane) send(method, path, body string, options ...string) []byte {
	h := map[string]string{}
	for i := 0; i < len(options); i += 2 {
		h[options[i]] = options[i+1]
	}
	return ln.load.ask(ln.token, method, path, h, body)
}

// publish publishes one message and returns its id, "" when it may not have been accepted.
func (ln *crashLane) publish(path, name, rest string, options []string, more ...string) string {
	var r receipt
	if !ln.read(ln.send(http.MethodPost, path+ln.load.target, name+"\n"+rest, slices.Concat(options, more)...), &r) {
		return ""
	}
	ln.promise(name, r.MessageID)
	return r.MessageID
}

// read decodes the answer to an accepted request; it reports false for nil.
func (ln *crashLane) read(text []byte, into any) bool {
	if text == nil {
		return false
	}
	if err := json.Unmarshal(text, into); err != nil {
		ln.load.problem("answer %q: %v", text, err)
		return false
	}
	return true
}

// big publishes large messages, at most maxBig.
func big(ln *crashLane, name string) {
	if ln.made > maxBig {
		_ = clock.Pause(context.Background(), 100*time.Millisecond) // never fails
		return
	}
	ln.publish("/v2/publish/", name, padding, retried)
}

// batch publishes four messages in one request: all of them are accepted, or none.
func batch(ln *crashLane, name string) {
	var items []map[string]any
	for i := range 4 {
		items = append(items, map[string]any{"destination": ln.load.target, "body": fmt.Sprintf("%s-%d\n", name, i), "headers": map[string]string{header.Retries: "3", header.RetryDelay: "50"}})
	}
	text, _ := json.Marshal(items) // never fails
	var receipts []receipt
	if ln.read(ln.send(http.MethodPost, "/v2/batch", string(text), "Content-Type", "application/json"), &receipts) {
		for i, r := range receipts {
			ln.promise(fmt.Sprintf("%s-%d", name, i), r.MessageID)
		}
	}
}

// withCallback publishes a message with a callback and a failure callback.
func withCallback(ln *crashLane, name string) {
	back := ln.load.target + "/back/" + name
	if ln.publish("/v2/publish/", name, "", nil, header.Callback, back, header.FailureCallback, back, header.CallbackPrefix+"Retries", "5", header.CallbackPrefix+"Retry-Delay", "50") != "" {
		ln.promise("back-"+name, "")
	}
}

// cancel cancels a message long before it is due: it must never be delivered.
func cancel(ln *crashLane, name string) {
	var r receipt
	if !ln.read(ln.send(http.MethodPost, "/v2/publish/"+ln.load.target, name+"\n", header.Delay, "20s"), &r) {
		return
	}
	if ln.send(http.MethodDelete, "/v2/messages/"+r.MessageID, "") == nil {
		return // it may be cancelled or not
	}
	ln.load.mu.Lock()
	defer ln.load.mu.Unlock()
	ln.load.never[name] = wall.Now()
}

// deadLetter lets a message fail, and retries or deletes its entry in the DLQ.
func deadLetter(ln *crashLane, name string) {
	id := ln.publish("/v2/publish/", name, "", []string{header.Retries, "0"})
	if id == "" {
		return
	}
	entry := ""
	for range 50 {
		var page struct{ Messages []struct{ DLQID string } }
		if ln.read(ln.send(http.MethodGet, "/v2/dlq?messageId="+id, ""), &page) && len(page.Messages) > 0 {
			entry = page.Messages[0].DLQID
			break
		}
		if clock.Pause(ln.load.live, 10*time.Millisecond) != nil {
			return
		}
	}
	switch {
	case entry == "":
		return // the promise stays
	case ln.made%2 == 0:
		ln.load.revive(name)
		if ln.send(http.MethodPost, "/v2/dlq/retry/"+entry, "") != nil {
			ln.promise(name, "")
		}
	case ln.send(http.MethodDelete, "/v2/dlq/"+entry, "") == nil:
		ln.load.forget(name) // it may be deleted or not
	default:
		ln.load.forget(name)
		ln.load.mu.Lock()
		defer ln.load.mu.Unlock()
		ln.load.gone[entryOf(ln.account, entry)] = true
	}
}

// revive makes the destination accept a message.
func (l *crashLoad) revive(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revived[name] = true
}

// forget removes the promise of a message that was deleted.
func (l *crashLoad) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.promises = slices.DeleteFunc(l.promises, func(p promise) bool { return p.name == name })
}

// deduplicated repeats its request until it is accepted, as clients do. The message must be
// deliveredVisits once.
func deduplicated(ln *crashLane, name string) {
	for range 100 {
		if ln.publish("/v2/publish/", name, "", nil, header.DeduplicationID, name) != "" {
			ln.send(http.MethodPost, "/v2/publish/"+ln.load.target, name+"\n", header.DeduplicationID, name) // a duplicate
			return
		}
		_ = clock.Pause(context.Background(), 20*time.Millisecond) // never fails
	}
}

// toGroup publishes to a URL group of two endpoints.
func toGroup(ln *crashLane, name string) {
	if ln.made%50 == 1 {
		endpoints := fmt.Sprintf(`{"endpoints":[{"url":"%s/group/a"},{"url":"%s/group/b"}]}`, ln.load.target, ln.load.target)
		if ln.send(http.MethodPost, "/v2/topics/both/endpoints", endpoints, "Content-Type", "application/json") == nil {
			ln.made--
			return
		}
	}
	var receipts []receipt
	if !ln.read(ln.send(http.MethodPost, "/v2/publish/both", name+"\n", retried...), &receipts) {
		return
	}
	if len(receipts) != 2 {
		ln.load.problem("%s: published to %d endpoints, want 2", name, len(receipts))
		return
	}
	ln.promise("a-"+name, receipts[0].MessageID)
	ln.promise("b-"+name, receipts[1].MessageID)
}

// schedule creates schedules and deletes every second one.
func schedule(ln *crashLane, name string) {
	l := ln.load
	if ln.made > 200 {
		_ = clock.Pause(context.Background(), 100*time.Millisecond) // enough schedules
		return
	}
	id := fmt.Sprintf("%s-%d", name, ln.account)
	if ln.send(http.MethodPost, "/v2/schedules/"+l.target, name, header.Cron, "0 0 1 1 *", header.ScheduleID, id) == nil {
		return
	}
	l.settleSchedule(ln, id, true)
	if ln.made%2 == 0 {
		l.unknownSchedule(ln, id)
		if ln.send(http.MethodDelete, "/v2/schedules/"+url.PathEscape(id), "") != nil {
			l.settleSchedule(ln, id, false)
		}
	}
}

// settleSchedule records whether a schedule must exist.
func (l *crashLoad) settleSchedule(ln *crashLane, id string, exists bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.exist[fmt.Sprint(ln.account, " ", id)] = exists
}

// unknownSchedule records that a schedule may exist or not.
func (l *crashLoad) unknownSchedule(ln *crashLane, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.exist, fmt.Sprint(ln.account, " ", id))
}
