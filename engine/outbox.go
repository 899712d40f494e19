package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
)

// maxNotes is how many lines wait for a slow log; further ones are dropped and counted.
const maxNotes = 1024

// outbox is what commands leave to do after the lock is released, because
// everything outside of the account may be slow.
type outbox struct {
	notes   []func() // log lines and reports of failed attempts, in order of the events
	dropped int      // notes beyond maxNotes
	telling bool     // a goroutine is working through notes
	alarm   alarm    // the alarm that was set last
	arming  bool     // a goroutine is setting it
}

// alarm is when a clock calls the account; the zero time means never.
type alarm struct {
	clock clock.Clock
	due   time.Time
}

// note adds a log line to the outbox.
func (a *Account) note(level slog.Level, text string, attrs ...any) {
	a.later(func() { a.cfg.Log.Log(context.Background(), level, text, attrs...) })
}

// later adds a function to the outbox, which runs without the lock. It must not
// call the account.
func (a *Account) later(do func()) {
	if a.replaying {
		return
	}
	if len(a.outbox.notes) == maxNotes {
		a.outbox.dropped++
		return
	}
	a.outbox.notes = append(a.outbox.notes, do)
}

// free releases the lock and empties the outbox. One caller at a time sets the
// alarm, and one works through the notes, so that both keep their order.
func (a *Account) free() {
	a.show()
	o := &a.outbox
	for {
		due := a.alarmDue()
		switch {
		case !o.arming && due != o.alarm:
			was := o.alarm
			o.alarm, o.arming = due, true
			a.mu.Unlock()
			a.ring(was, due)
			a.mu.Lock()
			o.arming = false
		case !o.telling && len(o.notes) > 0:
			notes, dropped := o.notes, o.dropped
			o.notes, o.dropped, o.telling = nil, 0, true
			a.mu.Unlock()
			a.tell(notes, dropped)
			a.mu.Lock()
			o.telling = false
			a.quiet.Broadcast()
		default:
			a.mu.Unlock()
			return
		}
	}
}

// alarmDue is the alarm as it should be.
func (a *Account) alarmDue() alarm {
	due, ok := a.state.Timers.Next()
	if !ok || a.closed || a.replaying {
		due = time.Time{}
	}
	return alarm{a.cfg.Clock, due}
}

// ring replaces an alarm by another one.
func (a *Account) ring(was, now alarm) {
	if was.clock != now.clock && !was.due.IsZero() {
		was.clock.Alarm(time.Time{}, nil)
	}
	if now.due.IsZero() {
		now.clock.Alarm(time.Time{}, nil)
	} else {
		now.clock.Alarm(now.due, a.tick)
	}
}

// tell runs notes without the lock, one caller at a time.
func (a *Account) tell(notes []func(), dropped int) {
	for _, do := range notes {
		do()
	}
	if dropped > 0 {
		a.cfg.Log.Warn("the log is slower than what happens: lines were left out", "account", a.cfg.ID, "lines", dropped)
	}
}
