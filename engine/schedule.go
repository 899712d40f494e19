package engine

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // time zones of schedules, on machines without them

	"github.com/adhocore/gronx"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Schedule publishes again and again (extension; wire.md, "Further operations").
type Schedule struct {
	ID         string
	Cron       string // with its CRON_TZ prefix, as given
	CreatedAt  time.Time
	Request    PublishRequest
	Paused     bool
	Next       time.Time         // zero while paused
	Last       time.Time         // zero before the first
	LastStates map[string]string // message of the last time -> its state

	timer timer
	line  cronLine
}

// PutSchedule creates a schedule, or replaces the one with that id; an empty
// id asks for a new one.
func (a *Account) PutSchedule(id, cron string, r PublishRequest) (Schedule, error) {
	return do(a, putSchedule{id, cron, r})
}

type putSchedule struct {
	ID      string
	Cron    string
	Request PublishRequest
}

func (c putSchedule) apply(a *Account) (Schedule, error) {
	line, err := parseCron(c.Cron)
	if err != nil {
		return Schedule{}, err
	}
	next, err := line.next(a.now)
	if err != nil {
		return Schedule{}, err
	}
	if _, err := a.acceptable(c.Request); err != nil {
		return Schedule{}, err
	}
	if err := a.roomFor(c.Request); err != nil {
		return Schedule{}, err
	}
	s := &Schedule{ID: c.ID, Cron: c.Cron, CreatedAt: a.now, Request: c.Request, line: line}
	if c.ID == "" {
		s.ID = a.ids.id("scd_", a.now)
	}
	if old := a.schedules[s.ID]; old != nil {
		s.CreatedAt, s.Last, s.LastStates, s.Paused = old.CreatedAt, old.Last, old.LastStates, old.Paused
	}
	a.setSchedule(s, next)
	return *s, nil
}

// setSchedule puts a schedule in place of the one with its id.
func (a *Account) setSchedule(s *Schedule, next time.Time) {
	if old := a.schedules[s.ID]; old != nil {
		a.addWork(-int64(old.weight()))
		a.timers.remove(old)
	}
	s.Request.schedule = s.ID
	a.schedules[s.ID] = s
	a.addWork(int64(s.weight()))
	a.book(s, next)
}

// cronLine is a cron expression and the zone that it is read in.
type cronLine struct {
	expression string
	zone       *time.Location
}

// parseCron takes a cron line apart: five fields or @daily and the like,
// behind an optional CRON_TZ=Zone.
func parseCron(cron string) (c cronLine, err error) {
	c = cronLine{strings.TrimSpace(cron), time.UTC}
	if rest, ok := strings.CutPrefix(c.expression, "CRON_TZ="); ok {
		name, after, _ := strings.Cut(rest, " ")
		if c.zone, err = time.LoadLocation(name); err != nil || name == "" {
			return cronLine{}, refusal.OfValue("cron", cron, fmt.Sprintf("unknown time zone %q", name), "an IANA name such as Europe/Berlin")
		}
		c.expression = strings.TrimSpace(after)
	}
	if !strings.HasPrefix(c.expression, "@") && len(strings.Fields(c.expression)) != 5 || !gronx.IsValid(c.expression) {
		return cronLine{}, refusal.OfValue("cron", cron, "", "five fields (minute hour day month weekday), for example */5 * * * *, after an optional CRON_TZ=Zone")
	}
	return c, nil
}

// next is the first time after the given one.
func (c cronLine) next(after time.Time) (time.Time, error) {
	next, err := gronx.NextTickAfter(c.expression, after.In(c.zone), false)
	if err != nil {
		return time.Time{}, refusal.Of(refusal.Invalid, "cron", c.expression, "no next time")
	}
	return next, nil
}

// book sets the timer for the schedule's next time, unless it is paused.
func (a *Account) book(s *Schedule, next time.Time) {
	a.timers.remove(s)
	s.Next, a.zoned = time.Time{}, a.zoned || s.line.zone != time.UTC
	if !s.Paused && !next.IsZero() {
		s.Next = next
		a.timers.add(next, wakeSchedule, s)
	}
}

// NextTimes are the next times of a schedule, at most n of them; none while it
// is paused.
func (s *Schedule) NextTimes(n int) (list []time.Time) {
	for at := s.Next; !at.IsZero() && len(list) < n; {
		list = append(list, at)
		next, err := s.line.next(at)
		if err != nil {
			break
		}
		at = next
	}
	return list
}

// fireSchedule publishes and books the next time. A schedule whose request is
// no longer acceptable, because its group is gone, skips this time.
func (a *Account) fireSchedule(s *Schedule) {
	s.Last, s.LastStates = a.now, map[string]string{}
	if c, err := a.acceptable(s.Request); err != nil {
		a.note(slog.LevelWarn, "schedule could not publish", "schedule", s.ID, "error", err)
	} else {
		for _, r := range a.publish(&c).List {
			s.LastStates[r.MessageID] = "IN_PROGRESS"
		}
	}
	next, err := s.line.next(a.now)
	if err != nil {
		a.note(slog.LevelWarn, "schedule ended", "schedule", s.ID, "error", err)
	}
	a.book(s, next)
}

// view is the schedule as lists show it: with the states as they are now.
func (a *Account) viewSchedule(s *Schedule) Schedule {
	v := *s
	v.LastStates = maps.Clone(s.LastStates)
	for id := range v.LastStates {
		if a.messages[id] == nil {
			v.LastStates[id] = "SUCCESS"
		}
	}
	for e := range a.dlq.newest(newestPosition) {
		if _, ok := v.LastStates[e.Message.ID]; ok {
			v.LastStates[e.Message.ID] = "FAIL"
		}
	}
	return v
}

// Schedules lists all schedules by id.
func (a *Account) Schedules() []Schedule {
	a.lock()
	defer a.unlock()
	list := make([]Schedule, 0, len(a.schedules))
	for _, s := range a.schedules {
		list = append(list, a.viewSchedule(s))
	}
	slices.SortFunc(list, func(x, y Schedule) int { return strings.Compare(x.ID, y.ID) })
	return list
}

// Schedule is one schedule.
func (a *Account) Schedule(id string) (Schedule, error) {
	a.lock()
	defer a.unlock()
	s, err := a.knownSchedule(id)
	if err != nil {
		return Schedule{}, err
	}
	return a.viewSchedule(s), nil
}

func (a *Account) knownSchedule(id string) (*Schedule, error) {
	if s := a.schedules[id]; s != nil {
		return s, nil
	}
	return nil, refusal.Of(ErrNotFound, "schedule", id, "not found")
}

// DeleteSchedule removes a schedule; messages on their way stay.
func (a *Account) DeleteSchedule(id string) error { return done(do(a, deleteSchedule{id})) }

type deleteSchedule struct{ ID string }

func (c deleteSchedule) apply(a *Account) (nothing, error) {
	s, err := a.knownSchedule(c.ID)
	if err != nil {
		return nothing{}, err
	}
	delete(a.schedules, c.ID)
	a.timers.remove(s)
	a.addWork(-int64(s.weight()))
	return nothing{}, nil
}

// SetSchedulePaused keeps a schedule from publishing, or lets it publish again from
// its next time on. Times that pass meanwhile are lost.
func (a *Account) SetSchedulePaused(id string, paused bool) error {
	return done(doEither(a, paused, pauseSchedule{id}, resumeSchedule{id}))
}

type pauseSchedule struct{ ID string }

func (c pauseSchedule) apply(a *Account) (nothing, error) {
	return nothing{}, a.pauseSchedule(c.ID, true)
}

type resumeSchedule struct{ ID string }

func (c resumeSchedule) apply(a *Account) (nothing, error) {
	return nothing{}, a.pauseSchedule(c.ID, false)
}

func (a *Account) pauseSchedule(id string, paused bool) error {
	s, err := a.knownSchedule(id)
	if err != nil || s.Paused == paused {
		return err
	}
	next, err := s.line.next(a.now)
	if err != nil && !paused {
		return err
	}
	s.Paused = paused
	a.book(s, next)
	return nil
}
