package engine

import (
	"reflect"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine/codec"
	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/vector"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// change is a command, which changes an account and returns an R. It is plain data, so that it
// can be recorded, and a value, so that it costs no allocation.
type change[R any] interface {
	// apply changes the state. It uses no clock except the stamped time of the account, takes
	// no lock, and reads nothing outside of the account, so that a replay has the same result.
	// A command that is refused has changed nothing, ids included (changesState names the one
	// exception), and is not recorded.
	apply(a *Account) (R, error)
}

// deed is a command without a result.
type deed interface{ apply(a *Account) error }

// resultOnly drops the error of a command.
func resultOnly[R any](r R, _ error) R { return r }

// pair is the result of a command with two results.
type pair[T, U any] struct {
	first  T
	second U
}

// splitPair returns the two results of a command.
func splitPair[T, U any](p pair[T, U], err error) (T, U, error) { return p.first, p.second, err }

// runCommand is the only way to change an account: it stamps, applies and records a command,
// starts the attempts that may start, and returns when the record is durable.
func runCommand[R any, C change[R]](a *Account, c C) (R, error) {
	return runDurably(a, func() (R, error) { return applyCommand(a, c) })
}

// do is runCommand for a command without a result.
func do[C deed](a *Account, c C) error {
	return doDurably(a, func() error { return applyDeed(a, c) })
}

// doDurably is runDurably for steps without a result.
func doDurably(a *Account, steps func() error) error {
	_, err := runDurably(a, func() (struct{}, error) { return struct{}{}, steps() })
	return err
}

// runDurably runs steps under the lock, releases it, and waits until their records are durable.
// While records of earlier commands are not durable, it refuses to run.
func runDurably[R any](a *Account, steps func() (R, error)) (R, error) {
	var zero R
	if err := a.caughtUp(); err != nil {
		return zero, err
	}
	r, lsn, err := runLocked(a, steps)
	if lsn == 0 {
		return r, err
	}
	if lost := a.commit(lsn); lost != nil {
		return zero, lost
	}
	return r, err
}

// runLocked also returns the sequence number of the last record; 0 when nothing was recorded.
func runLocked[R any](a *Account, steps func() (R, error)) (r R, lsn uint64, err error) {
	a.lock()
	defer a.unlock()
	before := a.lsn
	if r, err = steps(); a.lsn != before {
		lsn = a.lsn
	}
	return r, lsn, err
}

// applyCommand applies one command under the lock, and records it.
func applyCommand[R any, C change[R]](a *Account, c C) (R, error) {
	return recorded(a, c, C.apply)
}

// applyDeed is applyCommand for a command without a result.
func applyDeed[C deed](a *Account, c C) error {
	_, err := recorded(a, c, func(c C, a *Account) (struct{}, error) { return struct{}{}, c.apply(a) })
	return err
}

func recorded[R, C any](a *Account, c C, apply func(C, *Account) (R, error)) (R, error) {
	if a.closed || a.replaying {
		var zero R
		return zero, refusal.Of(ErrClosed, "account", a.cfg.ID, "closed")
	}
	at := a.state.Now
	r, err := apply(c, a)
	if err != nil && !changesState(err) {
		return r, err
	}
	if a.cfg.Journal != nil {
		kept := c // so that only a command with a record is allocated
		a.record(at, &kept)
	}
	if a.turned {
		a.turnClock()
	}
	a.launch()
	return r, err
}

// kind is one kind of command.
type kind struct {
	name  string
	brief bool // about something that snapshots leave out, and that may be missing in replay
	body  reflect.Type
	form  *codec.Form
	apply func(a *Account, body []byte) error
}

// commandKind is the kind of commands of type C; R follows from C.
func commandKind[C change[R], R any](name string) kind {
	return kindOf(name, func(c C, a *Account) error {
		_, err := c.apply(a)
		return err
	})
}

// deedKind is commandKind for commands without a result.
func deedKind[C deed](name string) kind { return kindOf(name, C.apply) }

func kindOf[C any](name string, apply func(C, *Account) error) kind {
	k := kind{name: name, body: reflect.TypeFor[C](), form: codec.RecordOf(reflect.TypeFor[C]())}
	k.apply = func(a *Account, body []byte) error {
		var c C
		if err := k.decode(body, &c); err != nil {
			return err
		}
		if err := apply(c, a); err != nil && !changesState(err) {
			return err
		}
		return nil
	}
	return k
}

// ofBrief marks commands on data that exists only as long as the process.
func ofBrief(k kind) kind {
	k.brief = true
	return k
}

// encode returns the command that c points to as JSON.
func (k *kind) encode(c any) []byte { return k.form.Encode(c) }

// decode reads what encode has written; c points at a command.
func (k *kind) decode(body []byte, c any) error {
	if err := k.form.Decode(body, c); err != nil {
		return refusal.Of(ErrInvalid, "damaged", "", err.Error())
	}
	return nil
}

// kindsByType finds the kind of a command.
var kindsByType = func() map[reflect.Type]*kind {
	kinds := map[reflect.Type]*kind{}
	for i := range commandTable {
		kinds[commandTable[i].body] = &commandTable[i]
	}
	return kinds
}()

// kindNamed finds a kind of commands.
func kindNamed(name string) (kind, bool) {
	i, ok := slices.BinarySearchFunc(commandTable, name, func(k kind, name string) int { return strings.Compare(k.name, name) })
	if !ok {
		return kind{}, false
	}
	return commandTable[i], true
}

// commandTable has all kinds of commands, sorted by name.
var commandTable = []kind{
	commandKind[addEndpoints]("addEndpoints"),
	deedKind[begin]("begin"),
	deedKind[cancel]("cancel"),
	deedKind[cancelCallback]("cancelCallback"),
	commandKind[cancelFamily]("cancelFamily"),
	commandKind[cancelMessages]("cancelMessages"),
	deedKind[cancelRun]("cancelRun"),
	commandKind[cancelRuns]("cancelRuns"),
	commandKind[changeSearch[search.CreateCommand]]("createSearchIndex"),
	deedKind[deleteDLQ]("deleteDLQ"),
	commandKind[deleteDLQs]("deleteDLQs"),
	deedKind[deleteGroup]("deleteGroup"),
	deedKind[deleteQueue]("deleteQueue"),
	deedKind[deleteSchedule]("deleteSchedule"),
	commandKind[changeSearch[search.DeleteCommand]]("deleteSearchIndex"),
	commandKind[changeVectors[vector.Nothing, vector.DeleteNamespaceCommand]]("deleteVectorNamespace"),
	commandKind[changeVectors[int, vector.DeleteCommand]]("deleteVectors"),
	commandKind[changeVectors[int, vector.DeleteWhereCommand]]("deleteVectorsWhere"),
	deedKind[deliverNow]("deliverNow"),
	ofBrief(commandKind[changeVectors[vector.Nothing, vector.EndCommand]]("endResumable")),
	deedKind[finishRun]("finishRun"),
	deedKind[Fixture]("fixture"),
	commandKind[forget]("forget"),
	ofBrief(commandKind[changeVectors[vector.Further, vector.NextCommand]]("nextResumable")),
	commandKind[notify]("notify"),
	commandKind[notifyRun]("notifyRun"),
	deedKind[outcome]("outcome"),
	deedKind[pauseFlow]("pauseFlow"),
	deedKind[pauseQueue]("pauseQueue"),
	deedKind[pauseSchedule]("pauseSchedule"),
	deedKind[pinFlow]("pinFlow"),
	commandKind[publishOne]("publish"),
	commandKind[publishBatch]("publishBatch"),
	commandKind[putSchedule]("putSchedule"),
	deedKind[removeEndpoints]("removeEndpoints"),
	commandKind[changeSearch[search.RenameCommand]]("renameSearchIndex"),
	commandKind[changeVectors[bool, vector.RenameNamespaceCommand]]("renameVectorNamespace"),
	commandKind[repeatCallback]("repeatCallback"),
	deedKind[reset]("reset"),
	deedKind[resetClock]("resetClock"),
	deedKind[resetFlow]("resetFlow"),
	commandKind[changeSearch[search.ResetTokensCommand]]("resetSearchIndexTokens"),
	commandKind[changeVectors[vector.Nothing, vector.ResetCommand]]("resetVectors"),
	commandKind[restartAll]("restartAll"),
	commandKind[restartRun]("restartRun"),
	deedKind[restore]("restore"),
	deedKind[resumeFlow]("resumeFlow"),
	deedKind[resumeQueue]("resumeQueue"),
	deedKind[resumeSchedule]("resumeSchedule"),
	commandKind[retryDLQ]("retryDLQ"),
	commandKind[retryDLQs]("retryDLQs"),
	commandKind[rotateKeys]("rotateKeys"),
	commandKind[runSchedule]("runSchedule"),
	deedKind[setClock]("setClock"),
	commandKind[changeVectors[vector.Started, vector.StartCommand]]("startResumable"),
	commandKind[tick]("tick"),
	deedKind[unpinFlow]("unpinFlow"),
	commandKind[updateGroup]("updateGroup"),
	commandKind[changeVectors[bool, vector.UpdateCommand]]("updateVector"),
	commandKind[upsertQueue]("upsertQueue"),
	commandKind[changeVectors[vector.Nothing, vector.UpsertCommand]]("upsertVectors"),
	deedKind[WaitRequest]("wait"),
}
