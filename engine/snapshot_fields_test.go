package engine

import (
	"reflect"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/engine/usage"
)

// kept are the fields that a snapshot saves by hand, or leaves out on purpose.
// Exported fields of exported types need no mention: they are saved as they are.
var kept = map[reflect.Type]string{
	reflect.TypeFor[state]():        "now ids seq timers ready messages dedup groups flows queues schedules log dlq reports runs runList waiters usage search vectors current next, left out: running shares headers options tally",
	reflect.TypeFor[ids]():          "source secret",
	reflect.TypeFor[timers]():       "heap issued, left out: cron",
	reflect.TypeFor[timer]():        "place kind",
	reflect.TypeFor[booking]():      "due seq owner",
	reflect.TypeFor[turn]():         "message key",
	reflect.TypeFor[Message]():      "timer queue canceled step cut last, left out: cancel weight saved",
	reflect.TypeFor[item]():         "messageID body callType step errors ended settled, left out: waiter saved",
	reflect.TypeFor[slot]():         "queue open, left out: saved",
	reflect.TypeFor[queue]():        "waiting active, left out: saved",
	reflect.TypeFor[flowKey]():      "waiting starts offered timer pausedAt",
	reflect.TypeFor[Schedule]():     "timer, left out: line",
	reflect.TypeFor[mark]():         "key id until",
	reflect.TypeFor[Run]():          "items open calls kept invoked bare proven, left out: weight endSeq saved",
	reflect.TypeFor[invocation]():   "run item raw headers",
	reflect.TypeFor[waiter]():       "id timer raw item run",
	reflect.TypeFor[DLQEntry]():     "run, left out: counted",
	reflect.TypeFor[eventLog]():     "events issued, left out: created eventsByTime createdByTime bare",
	reflect.TypeFor[event]():        "seq at next state msg run",
	reflect.TypeFor[detail]():       "out err rule dlqID invoker step",
	reflect.TypeFor[usage.Minute](): "Number",
	reflect.TypeFor[Group]():        "",
	reflect.TypeFor[Options]():      "",
	reflect.TypeFor[Outcome]():      "left out: answer",
	reflect.TypeFor[Step]():         "",
}

// A field that is new must be saved, or left out for a reason: here it is asked.
func TestASnapshotKnowsEveryField(t *testing.T) {
	t.Parallel()
	for typ, text := range kept {
		known := map[string]bool{}
		for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" ,:", r) }) {
			known[name] = true
		}
		for f := range typ.Fields() {
			if !f.IsExported() && !f.Anonymous && !known[f.Name] {
				t.Errorf("%s.%s is new: save it in snapshot.go, or leave it out, and name it here", typ.Name(), f.Name)
			}
			delete(known, f.Name)
		}
		for name := range known {
			if name != "left" && name != "out" {
				t.Errorf("%s.%s is gone", typ.Name(), name)
			}
		}
	}
}
