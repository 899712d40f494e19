package state

import (
	"reflect"
	"strings"
	"testing"
)

// recordFields lists the fields of the types that are not written by the fields that they have:
// the writer and the reader of a snapshot have a record for each, or leave it out on purpose. So do
// they with the fields of other types that have the tag saved:"apart".
var recordFields = map[reflect.Type]string{
	reflect.TypeFor[State]():        "Now IDs Seq Timers Ready Messages Dedup Groups Flows Families Queues Schedules Log DLQ Reports Runs RunList Waiters Usage Search Vectors CurrentKey NextKey, left out: Running Shares Headers Options Origins Tally",
	reflect.TypeFor[IDs]():          "Source Secret",
	reflect.TypeFor[Timers]():       "Heap Issued, left out: Cron",
	reflect.TypeFor[TimerPlace]():   "Place Kind",
	reflect.TypeFor[Booking]():      "Due Seq Owner",
	reflect.TypeFor[ReadyTurn]():    "Message Key Under",
	reflect.TypeFor[QueueSlot]():    "Queue Open, left out: Saved",
	reflect.TypeFor[QueueBacklog](): "Waiting Active, left out: Saved",
	reflect.TypeFor[FlowGate]():     "Held Starts Offered Timer PausedAt",
	reflect.TypeFor[InvokerCall]():  "Run Item Raw Headers",
	reflect.TypeFor[PendingWait]():  "WaiterID timer Raw Item Run",
	reflect.TypeFor[EventLog]():     "Events Issued, left out: Created EventsByTime CreatedByTime Bare",
	reflect.TypeFor[LogEntry]():     "Seq At Next State Message Run",
}

// fieldsApart lists the fields of the other types that have the tag apart, and those that are not
// exported.
var fieldsApart = map[reflect.Type]string{
	reflect.TypeFor[Message]():        "Cut Timer Slot Canceled Step Last",
	reflect.TypeFor[Schedule]():       "timer",
	reflect.TypeFor[Run]():            "Items Open Calls Early Invoked Bare Proven, left out: call extra headers own from effective",
	reflect.TypeFor[DLQEntry]():       "FailedRun",
	reflect.TypeFor[LogDetail]():      "Step",
	reflect.TypeFor[StepItem]():       "",
	reflect.TypeFor[Group]():          "",
	reflect.TypeFor[Options]():        "",
	reflect.TypeFor[Outcome]():        "",
	reflect.TypeFor[PublishRequest](): "",
	reflect.TypeFor[Step]():           "",
}

// TestASnapshotKnowsEveryField fails for a new field that a snapshot would not have by itself,
// until it has a record or is left out for a reason.
func TestASnapshotKnowsEveryField(t *testing.T) {
	t.Parallel()
	for typ, text := range recordFields {
		checkFields(t, typ, text, func(reflect.StructField) bool { return false })
	}
	for typ, text := range fieldsApart {
		checkFields(t, typ, text, func(f reflect.StructField) bool { return f.IsExported() && f.Tag.Get("saved") != "apart" })
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
