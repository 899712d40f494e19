// Package engine is all behaviour of the stand-in: it publishes, delivers
// through a port, retries, calls back, fans out, holds and resumes by
// flow-control key, runs workflows, fills and restarts the DLQ, and keeps logs.
//
//	acct := engine.New(engine.Config{Clock: clock.NewManual(start), Deliver: deliver, Wire: wire.Format{}})
//	acct.Publish(engine.PublishRequest{URL: "https://app.example/hook"})
//	acct.Advance(ctx, start.Add(24*time.Hour))
//
// # The life of a message
//
// Publish puts it in ready, unlock starts it, settle ends it:
//
//	Publish -> create -> (queue) -> waitUntil -> due -> (flow-control key) -> ready
//	        -> launch -> Config.Deliver -> settle -> delivered | retry -> waitUntil | fail -> DLQ
//
// # Lock and time
//
// An account has one mutex over one state of plain values. Exported methods that
// read lock first and defer unlock; those that change something go through runCommand;
// unexported methods never lock. lock also stamps the instant of the command, which
// is never before the one of the last command. Whatever is outside of
// the account and may be slow comes after the lock: attempts, the log, reports of
// failures, the clock's alarm (outbox.go). A snapshot has the lock for a few records at a
// time. The only goroutines are the attempts in flight and the step of an auto clock;
// Close waits for both.
//
// # Commands and the journal
//
// Whatever changes an account is a command: plain data with a method apply, which
// sees no clock, no lock and nothing outside of the account (command.go has the
// table of all of them). runCommand applies one, records it in Config.Journal, launches
// what may start, and returns when the record is durable. Time that passes (tick) and the
// end of an attempt (outcome) are commands as well; launches follow from them and
// are not recorded. So the records of a journal, replayed, give the same state to
// the byte: Replay for reading, Open to continue. An attempt waits until the record
// that caused it is durable. If the journal fails, callers receive ErrNotDurable,
// further commands are refused, and what was applied takes effect as a whole once
// the journal works again, or is gone as a whole with the process.
//
// # What it guarantees
//
// Every accepted message ends in exactly one of DELIVERED, DLQ, cancelled;
// attempts are at most 1 + retries; a key's attempts in flight never pass its
// parallelism, its starts within any span of one period never pass its rate; a
// paused key starts nothing; the log of a message only moves along the
// transition table. With a seed and a manual clock the same commands give the
// same log. Reading changes nothing (reading_test.go), and neither does a command
// that is refused (refusal_test.go), with one exception: a step that cannot be
// read, published alone, fails its run, since the run cannot go on.
//
// # Saving and going on
//
// Snapshot is the whole state as one document, Restore goes on from it: the
// same commands then give the same events as if the account had never stopped.
// An attempt that was in flight is made again.
//
// # Rooms
//
// What an account knows is in engine/internal/state: values, their containers and what
// they mean. engine/internal/snapshot writes them to a document and reads them again,
// engine/internal/view is what callers see of them. This package has what happens: one
// file for each noun, with the commands on it and what follows from them. A retry, for
// one, is retry.go: how long it waits, and when the message is due again.
//
// Vectors (engine/vector) and search indexes (engine/search) are packages of
// plain values without locks, which take the time and ids as arguments. An
// account holds them in its state, and its methods are the only way in.
//
// It knows no credentials, keeps nothing on disk, opens no connection and sees no
// request: neither net/http nor the interface document is in its reach. What the
// service itself sends and what comes back to it pass through a port of pure
// functions (wire.go): the engine has values, the adapter their names and bytes.
package engine
