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

// nothing is the result of a command without a result.
type nothing = struct{}

// errorOnly drops the result of a command.
func errorOnly[R any](_ R, err error) error { return err }

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

// runEither runs the first of two commands, or the second.
func runEither[R any, C, D change[R]](a *Account, first bool, c C, d D) (R, error) {
	if first {
		return runCommand(a, c)
	}
	return runCommand(a, d)
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
	if a.closed || a.replaying {
		var zero R
		return zero, refusal.Of(ErrClosed, "account", a.cfg.ID, "closed")
	}
	at := a.state.Now
	r, err := c.apply(a)
	if err != nil && !changesState(err) {
		return r, err
	}
	if a.cfg.Journal != nil {
		recorded := c // so that only a command with a record is allocated
		a.record(at, &recorded)
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
	k := kind{name: name, body: reflect.TypeFor[C](), form: codec.RecordOf(reflect.TypeFor[C]())}
	k.apply = func(a *Account, body []byte) error {
		var c C
		if err := k.decode(body, &c); err != nil {
			return err
		}
		if _, err := c.apply(a); err != nil && !changesState(err) {
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
	commandKind[begin]("begin"),
	commandKind[cancel]("cancel"),
	commandKind[cancelCallback]("cancelCallback"),
	commandKind[cancelFamily]("cancelFamily"),
	commandKind[cancelMessages]("cancelMessages"),
	commandKind[cancelRun]("cancelRun"),
	commandKind[cancelRuns]("cancelRuns"),
	commandKind[changeSearch[search.CreateCommand]]("createSearchIndex"),
	commandKind[deleteDLQ]("deleteDLQ"),
	commandKind[deleteDLQs]("deleteDLQs"),
	commandKind[deleteGroup]("deleteGroup"),
	commandKind[deleteQueue]("deleteQueue"),
	commandKind[deleteSchedule]("deleteSchedule"),
	commandKind[changeSearch[search.DeleteCommand]]("deleteSearchIndex"),
	commandKind[changeVectors[vector.Nothing, vector.DeleteNamespaceCommand]]("deleteVectorNamespace"),
	commandKind[changeVectors[int, vector.DeleteCommand]]("deleteVectors"),
	commandKind[changeVectors[int, vector.DeleteWhereCommand]]("deleteVectorsWhere"),
	commandKind[deliverNow]("deliverNow"),
	ofBrief(commandKind[changeVectors[vector.Nothing, vector.EndCommand]]("endResumable")),
	commandKind[finishRun]("finishRun"),
	commandKind[Fixture]("fixture"),
	commandKind[forget]("forget"),
	ofBrief(commandKind[changeVectors[vector.Further, vector.NextCommand]]("nextResumable")),
	commandKind[notify]("notify"),
	commandKind[notifyRun]("notifyRun"),
	commandKind[outcome]("outcome"),
	commandKind[pauseFlow]("pauseFlow"),
	commandKind[pauseQueue]("pauseQueue"),
	commandKind[pauseSchedule]("pauseSchedule"),
	commandKind[pinFlow]("pinFlow"),
	commandKind[publishOne]("publish"),
	commandKind[publishBatch]("publishBatch"),
	commandKind[putSchedule]("putSchedule"),
	commandKind[removeEndpoints]("removeEndpoints"),
	commandKind[changeSearch[search.RenameCommand]]("renameSearchIndex"),
	commandKind[changeVectors[bool, vector.RenameNamespaceCommand]]("renameVectorNamespace"),
	commandKind[repeatCallback]("repeatCallback"),
	commandKind[reset]("reset"),
	commandKind[resetClock]("resetClock"),
	commandKind[resetFlow]("resetFlow"),
	commandKind[changeSearch[search.ResetTokensCommand]]("resetSearchIndexTokens"),
	commandKind[changeVectors[vector.Nothing, vector.ResetCommand]]("resetVectors"),
	commandKind[restartAll]("restartAll"),
	commandKind[restartRun]("restartRun"),
	commandKind[restore]("restore"),
	commandKind[resumeFlow]("resumeFlow"),
	commandKind[resumeQueue]("resumeQueue"),
	commandKind[resumeSchedule]("resumeSchedule"),
	commandKind[retryDLQ]("retryDLQ"),
	commandKind[retryDLQs]("retryDLQs"),
	commandKind[rotateKeys]("rotateKeys"),
	commandKind[runSchedule]("runSchedule"),
	commandKind[setClock]("setClock"),
	commandKind[changeVectors[vector.Started, vector.StartCommand]]("startResumable"),
	commandKind[tick]("tick"),
	commandKind[unpinFlow]("unpinFlow"),
	commandKind[updateGroup]("updateGroup"),
	commandKind[changeVectors[bool, vector.UpdateCommand]]("updateVector"),
	commandKind[upsertQueue]("upsertQueue"),
	commandKind[changeVectors[vector.Nothing, vector.UpsertCommand]]("upsertVectors"),
	commandKind[WaitRequest]("wait"),
}
