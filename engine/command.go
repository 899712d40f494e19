package engine

import (
	"reflect"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/engine/vector"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// change is a command: one thing that changes an account, and gives an R. It is
// plain data, so that it can be recorded, and a value, so that it costs no
// allocation.
type change[R any] interface {
	// apply changes the state. It sees neither the clock, but a.now, nor a lock, nor
	// anything outside of the account, so that it does the same again in replay. A
	// command that is refused has changed nothing, ids included (changes names the
	// one exception), and is not recorded.
	apply(a *Account) (R, error)
}

// nothing is what a command gives that has nothing to give.
type nothing = struct{}

// done leaves out what a command gives.
func done[R any](_ R, err error) error { return err }

// given leaves out why a command was refused.
func given[R any](r R, _ error) R { return r }

// pair is what a command gives that gives two things.
type pair[T, U any] struct {
	first  T
	second U
}

// both takes a pair apart.
func both[T, U any](p pair[T, U], err error) (T, U, error) { return p.first, p.second, err }

// do is the door: it stamps, applies and records a command, starts what may
// start, and returns when the record is durable.
func do[R any, C change[R]](a *Account, c C) (R, error) {
	return durably(a, func() (R, error) { return step(a, c) })
}

// doEither does the first of two commands, or the second.
func doEither[R any, C, D change[R]](a *Account, first bool, c C, d D) (R, error) {
	if first {
		return do(a, c)
	}
	return do(a, d)
}

// durably runs steps under the lock and waits, without it, until their records are
// durable. While records of earlier commands are not, it runs nothing.
func durably[R any](a *Account, steps func() (R, error)) (R, error) {
	var zero R
	if err := a.caughtUp(); err != nil {
		return zero, err
	}
	r, lsn, err := locked(a, steps)
	if lsn == 0 {
		return r, err
	}
	if lost := a.commit(lsn); lost != nil {
		return zero, lost
	}
	return r, err
}

// locked gives the sequence of the last record too, 0 when there is nothing to
// wait for.
func locked[R any](a *Account, steps func() (R, error)) (r R, lsn uint64, err error) {
	a.lock()
	defer a.unlock()
	before := a.lsn
	if r, err = steps(); a.lsn != before {
		lsn = a.lsn
	}
	return r, lsn, err
}

// step applies one command under the lock, and records it.
func step[R any, C change[R]](a *Account, c C) (R, error) {
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
		a.record(at, c)
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
	brief bool // about something that no snapshot has: it may be gone in replay
	body  reflect.Type
	form  *journal.Form
	apply func(a *Account, body []byte) error
}

// command is the kind of commands of type C; R follows from C.
func command[C change[R], R any](name string) kind {
	k := kind{name: name, body: reflect.TypeFor[C](), form: journal.FormOf(reflect.TypeFor[C]())}
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

// ofBrief is a kind of commands on what lives only as long as the process.
func ofBrief(k kind) kind {
	k.brief = true
	return k
}

// encode is a command as JSON.
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
	for i := range commands {
		kinds[commands[i].body] = &commands[i]
	}
	return kinds
}()

// kindNamed finds a kind of commands.
func kindNamed(name string) (kind, bool) {
	i, ok := slices.BinarySearchFunc(commands, name, func(k kind, name string) int { return strings.Compare(k.name, name) })
	if !ok {
		return kind{}, false
	}
	return commands[i], true
}

// commands are all kinds of commands, sorted by name.
var commands = []kind{
	command[addEndpoints]("addEndpoints"),
	command[begin]("begin"),
	command[cancel]("cancel"),
	command[cancelCallback]("cancelCallback"),
	command[cancelMessages]("cancelMessages"),
	command[cancelRun]("cancelRun"),
	command[cancelRuns]("cancelRuns"),
	command[changeSearch[search.CreateCommand]]("createSearchIndex"),
	command[deleteDLQ]("deleteDLQ"),
	command[deleteDLQs]("deleteDLQs"),
	command[deleteGroup]("deleteGroup"),
	command[deleteQueue]("deleteQueue"),
	command[deleteSchedule]("deleteSchedule"),
	command[changeSearch[search.DeleteCommand]]("deleteSearchIndex"),
	command[changeVectors[vector.Nothing, vector.DeleteNamespaceCommand]]("deleteVectorNamespace"),
	command[changeVectors[int, vector.DeleteCommand]]("deleteVectors"),
	command[changeVectors[int, vector.DeleteWhereCommand]]("deleteVectorsWhere"),
	command[deliverNow]("deliverNow"),
	ofBrief(command[changeVectors[vector.Nothing, vector.EndCommand]]("endResumable")),
	command[finishRun]("finishRun"),
	command[Fixture]("fixture"),
	command[forget]("forget"),
	ofBrief(command[changeVectors[vector.Further, vector.NextCommand]]("nextResumable")),
	command[notify]("notify"),
	command[notifyRun]("notifyRun"),
	command[outcome]("outcome"),
	command[pauseFlow]("pauseFlow"),
	command[pauseQueue]("pauseQueue"),
	command[pauseSchedule]("pauseSchedule"),
	command[pinFlow]("pinFlow"),
	command[publishOne]("publish"),
	command[publishBatch]("publishBatch"),
	command[putSchedule]("putSchedule"),
	command[removeEndpoints]("removeEndpoints"),
	command[changeSearch[search.RenameCommand]]("renameSearchIndex"),
	command[changeVectors[bool, vector.RenameNamespaceCommand]]("renameVectorNamespace"),
	command[repeatCallback]("repeatCallback"),
	command[reset]("reset"),
	command[resetClock]("resetClock"),
	command[resetFlow]("resetFlow"),
	command[changeSearch[search.ResetTokensCommand]]("resetSearchIndexTokens"),
	command[changeVectors[vector.Nothing, vector.ResetCommand]]("resetVectors"),
	command[restartAll]("restartAll"),
	command[restartRun]("restartRun"),
	command[restore]("restore"),
	command[resumeFlow]("resumeFlow"),
	command[resumeQueue]("resumeQueue"),
	command[resumeSchedule]("resumeSchedule"),
	command[retryDLQ]("retryDLQ"),
	command[retryDLQs]("retryDLQs"),
	command[rotateKeys]("rotateKeys"),
	command[setClock]("setClock"),
	command[changeVectors[vector.Started, vector.StartCommand]]("startResumable"),
	command[tick]("tick"),
	command[unpinFlow]("unpinFlow"),
	command[updateGroup]("updateGroup"),
	command[changeVectors[bool, vector.UpdateCommand]]("updateVector"),
	command[upsertQueue]("upsertQueue"),
	command[changeVectors[vector.Nothing, vector.UpsertCommand]]("upsertVectors"),
	command[WaitRequest]("wait"),
}
