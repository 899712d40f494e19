// Package engine has all behaviour of the stand-in: publishing, delivery through a port,
// retries, callbacks, URL groups, flow control, workflows, the DLQ, and logs.
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
// An account has one mutex over one state of plain values. Exported methods that read lock
// first and defer unlock; those that change something use runCommand or do; unexported methods never
// lock. lock also stamps the time of the command, which is never before that of the previous
// command. Whatever is outside of the account and may be slow happens after the lock is
// released: attempts, the log, reports of failures, the clock's alarm (outbox.go). A snapshot
// takes the lock for a few records at a time. The only goroutines are the attempts in flight
// and the step of an auto clock; Close waits for both.
//
// # Commands and the journal
//
// Everything that changes an account is a command: plain data with a method apply, which uses
// no clock, no lock and nothing outside of the account (command.go has the table of all
// commands). runCommand applies one, records it in Config.Journal, launches what may start, and
// returns when the record is durable. The passing of time (tick) and the end of an attempt
// (outcome) are commands as well; launches follow from commands and are not recorded. The
// records of a journal, replayed, therefore give the same state to the byte: Replay for
// reading, Open to continue. An attempt waits until the record that caused it is durable. If
// the journal fails, callers receive ErrNotDurable, further commands are refused, and the
// applied commands take effect together once the journal works again, or are lost together with
// the process.
//
// # What it guarantees
//
// Every accepted message ends in exactly one of DELIVERED, DLQ, cancelled; a message has at
// most 1 + retries attempts; the attempts in flight of a key never exceed its parallelism, and
// its starts within any span of one period never exceed its rate; a paused key starts nothing;
// the states in the log of a message follow the transition table. With a seed and a manual
// clock the same commands give the same log. Reading changes nothing (reading_test.go), and
// neither does a command that is refused (refusal_test.go), with one exception: a step that
// cannot be read, published alone, fails its run, since the run cannot continue.
//
// # Saving and going on
//
// WriteSnapshot writes the whole state as one document, and Restore continues
// from it: the same commands then give the same events as in an account that
// never stopped. An attempt that was in flight is repeated.
//
// # Rooms
//
// engine/internal/state has the state of an account: values, their containers, and their form in a
// snapshot. This package has the behaviour: one file for each noun, with the commands on it, their consequences and its reads.
// For example, retry.go has how long a retry waits, and when the message is due again. Reads
// return copies, whose parts never change, and redact what must not be shown (redact.go).
//
// Vectors (engine/vector) and search indexes (engine/search) are packages of
// plain values without locks, which take the time and ids as arguments. An
// account holds them in its state, and its methods are the only way in.
//
// The package does not handle credentials, files, connections or requests: it
// imports neither net/http nor the interface document. What the service itself
// sends, and the answers to it, pass through a port of pure functions
// (wire.go): the engine has the values, the adapter their names and bytes.
package engine
