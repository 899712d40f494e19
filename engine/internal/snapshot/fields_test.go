package snapshot

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/usage"
)

// recordFields lists the fields of internal types: a snapshot has a record for each, or
// leaves it out on purpose.
var recordFields = map[reflect.Type]string{
	reflect.TypeFor[state.State]():        "Now IDs Seq Timers Ready Messages Dedup Groups Flows Families Queues Schedules Log DLQ Reports Runs RunList Waiters Usage Search Vectors CurrentKey NextKey, left out: Running Shares Headers Options Origins Tally",
	reflect.TypeFor[state.IDs]():          "Source Secret",
	reflect.TypeFor[state.Timers]():       "Heap Issued, left out: Cron",
	reflect.TypeFor[state.TimerPlace]():   "Place Kind",
	reflect.TypeFor[state.Booking]():      "Due Seq Owner",
	reflect.TypeFor[state.ReadyTurn]():    "Message Key",
	reflect.TypeFor[state.StepItem]():     "MessageID Body CallType Step Redact Errors Ended Settled, left out: Waiter Saved",
	reflect.TypeFor[state.QueueSlot]():    "Queue Open, left out: Saved",
	reflect.TypeFor[state.QueueBacklog](): "Waiting Active, left out: Saved",
	reflect.TypeFor[state.FlowGate]():     "Held Starts Offered Timer PausedAt",
	reflect.TypeFor[state.DedupMark]():    "Key ID Until",
	reflect.TypeFor[state.InvokerCall]():  "Run Item Raw Headers",
	reflect.TypeFor[state.PendingWait]():  "WaiterID timer Raw Item Run",
	reflect.TypeFor[state.EventLog]():     "Events Issued, left out: Created EventsByTime CreatedByTime Bare",
	reflect.TypeFor[state.LogEntry]():     "Seq At Next State Message Run",
	reflect.TypeFor[state.LogDetail]():    "Outcome Error Rule DLQID Invoker Step",
	reflect.TypeFor[usage.Minute]():       "Number",
}

// sharedValues lists types that callers of the engine use too. A snapshot has their fields
// unchanged, which TestASnapshotHasEveryExportedField checks, except those with a tag.
var sharedValues = map[reflect.Type]string{
	reflect.TypeFor[state.Message]():        "",
	reflect.TypeFor[state.Schedule]():       "timer",
	reflect.TypeFor[state.Run]():            "left out: call extra headers own from effective",
	reflect.TypeFor[state.DLQEntry]():       "",
	reflect.TypeFor[state.Group]():          "",
	reflect.TypeFor[state.Options]():        "",
	reflect.TypeFor[state.Outcome]():        "",
	reflect.TypeFor[state.PublishRequest](): "",
	reflect.TypeFor[state.Step]():           "",
}

// TestASnapshotKnowsEveryField fails for a new field until a snapshot saves it or leaves it
// out for a reason.
func TestASnapshotKnowsEveryField(t *testing.T) {
	t.Parallel()
	for typ, text := range recordFields {
		checkFields(t, typ, text, func(reflect.StructField) bool { return false })
	}
	for typ, text := range sharedValues {
		checkFields(t, typ, text, func(f reflect.StructField) bool {
			if got, want := f.Tag.Get("saved"), []string{"", "apart", "no"}; !slices.Contains(want, got) {
				t.Errorf("%s.%s, the tag saved: got %q, want one of %q", typ.Name(), f.Name, got, want)
			}
			return f.IsExported()
		})
	}
}

// checkFields compares the fields of a type with a list of names.
func checkFields(t *testing.T, typ reflect.Type, text string, covered func(reflect.StructField) bool) {
	t.Helper()
	known := map[string]bool{}
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" ,:", r) }) {
		known[name] = true
	}
	for f := range typ.Fields() {
		if saved := f.Anonymous || known[f.Name] || covered(f); !saved {
			t.Errorf("%s.%s is new: save it in a snapshot, or leave it out, and name it here", typ.Name(), f.Name)
		}
		delete(known, f.Name)
	}
	for name := range known {
		if name != "left" && name != "out" {
			t.Errorf("%s.%s does not exist", typ.Name(), name)
		}
	}
}
