package engine

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // time zones of schedules, for machines without time-zone data

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// PutSchedule creates a schedule, or replaces the one with that id; an empty id draws a new
// one. It returns ErrInvalid for an invalid cron expression or request.
func (a *Account) PutSchedule(id, cron string, r PublishRequest) (Schedule, error) {
	return runCommand(a, putSchedule{id, cron, r})
}

type putSchedule struct {
	ID      string
	Cron    string
	Request PublishRequest
}

// apply checks the request as if it were published now, and keeps the history
// and the pause of the schedule that it replaces.
func (c putSchedule) apply(a *Account) (Schedule, error) {
	line, err := state.ParseCron(c.Cron)
	if err != nil {
		return Schedule{}, err
	}
	next, err := a.nextTime(c.ID, line)
	if err != nil {
		return Schedule{}, err
	}
	if _, err := a.acceptable(c.Request); err != nil {
		return Schedule{}, err
	}
	if err := a.roomFor(c.Request); err != nil {
		return Schedule{}, err
	}
	s := &Schedule{ID: c.ID, Cron: c.Cron, CreatedAt: a.state.Now, Request: c.Request, Line: line}
	if c.ID == "" {
		s.ID = a.state.IDs.New("scd_", a.state.Now)
	}
	if old := a.state.Schedules[s.ID]; old != nil {
		s.CreatedAt, s.Last, s.LastStates, s.Paused = old.CreatedAt, old.Last, old.LastStates, old.Paused
	}
	a.setSchedule(s, next)
	return *s, nil
}

// setSchedule stores a schedule, in place of one with the same id.
func (a *Account) setSchedule(s *Schedule, next time.Time) {
	if old := a.state.Schedules[s.ID]; old != nil {
		a.addWork(-int64(old.Weight()))
		a.state.Timers.Remove(old)
	}
	s.Request.ScheduleID = s.ID
	a.state.Schedules[s.ID] = s
	a.addWork(int64(s.Weight()))
	a.book(s, next)
}

// book sets the timer for the schedule's next time, unless it is paused.
func (a *Account) book(s *Schedule, next time.Time) {
	a.state.Timers.Remove(s)
	s.Next = time.Time{}
	if !s.Paused && !next.IsZero() {
		s.Next = next
		a.state.Timers.Add(next, state.WakeSchedule, s)
	}
}

// publishSchedule publishes the request of a schedule, and records the time and the messages.
func (a *Account) publishSchedule(s *Schedule) (ids []string, err error) {
	s.Last, s.LastStates = a.state.Now, map[string]string{}
	c, err := a.acceptable(s.Request)
	if err != nil {
		return nil, err
	}
	for _, r := range a.publish(&c).all() {
		s.LastStates[r.MessageID] = "IN_PROGRESS"
		ids = append(ids, r.MessageID)
	}
	return ids, nil
}

// RunSchedule publishes the request of a schedule now, on behalf of the tester, also while it
// is paused. Its next time does not change. It returns the ids of the messages.
func (a *Account) RunSchedule(id string) ([]string, error) { return runCommand(a, runSchedule{id}) }

type runSchedule struct{ ID string }

// apply checks the request first: a schedule that cannot publish keeps its last time.
func (c runSchedule) apply(a *Account) ([]string, error) {
	s, err := a.knownSchedule(c.ID)
	if err != nil {
		return nil, err
	}
	if _, err := a.acceptable(s.Request); err != nil {
		return nil, err
	}
	if err := a.roomFor(s.Request); err != nil {
		return nil, err
	}
	return a.publishSchedule(s)
}

// fireSchedule publishes and sets the timer for the next time. A schedule whose
// request is no longer acceptable, because its group is gone, skips this time.
func (a *Account) fireSchedule(s *Schedule) {
	if _, err := a.publishSchedule(s); err != nil {
		a.note(slog.LevelWarn, "schedule could not publish", "schedule", s.ID, "error", err)
	}
	next, err := a.nextTime(s.ID, s.Line)
	if err != nil {
		a.note(slog.LevelWarn, "schedule ended", "schedule", s.ID, "error", err)
	}
	a.book(s, next)
}

// viewSchedule is the schedule as lists show it, with the current states of its messages.
func (a *Account) viewSchedule(s *Schedule) Schedule {
	v := a.showSchedule(s)
	v.LastStates = maps.Clone(s.LastStates)
	for id := range v.LastStates {
		if a.state.Messages[id] == nil {
			v.LastStates[id] = "SUCCESS"
		}
	}
	for e := range a.state.DLQ.Newest(state.NewestPosition) {
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
	list := make([]Schedule, 0, len(a.state.Schedules))
	for _, s := range a.state.Schedules {
		list = append(list, a.viewSchedule(s))
	}
	slices.SortFunc(list, func(x, y Schedule) int { return strings.Compare(x.ID, y.ID) })
	return list
}

// Schedule returns one schedule, or ErrNotFound.
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
	if s := a.state.Schedules[id]; s != nil {
		return s, nil
	}
	return nil, refusal.Of(ErrNotFound, "schedule", id, "not found")
}

// DeleteSchedule removes a schedule, or returns ErrNotFound. Messages that it
// has published are still delivered.
func (a *Account) DeleteSchedule(id string) error {
	return do(a, deleteSchedule{id})
}

type deleteSchedule struct{ ID string }

func (c deleteSchedule) apply(a *Account) error {
	s, err := a.knownSchedule(c.ID)
	if err != nil {
		return err
	}
	delete(a.state.Schedules, c.ID)
	a.state.Timers.Remove(s)
	a.addWork(-int64(s.Weight()))
	return nil
}

// SetSchedulePaused pauses a schedule, or resumes it from its next time. Times
// that pass during a pause are skipped.
func (a *Account) SetSchedulePaused(id string, paused bool) error {
	if paused {
		return do(a, pauseSchedule{id})
	}
	return do(a, resumeSchedule{id})
}

type pauseSchedule struct{ ID string }

func (c pauseSchedule) apply(a *Account) error {
	return a.pauseSchedule(c.ID, true)
}

type resumeSchedule struct{ ID string }

func (c resumeSchedule) apply(a *Account) error {
	return a.pauseSchedule(c.ID, false)
}

// pauseSchedule computes the next time from now, so that times during a pause are skipped.
func (a *Account) pauseSchedule(id string, paused bool) error {
	s, err := a.knownSchedule(id)
	if err != nil || s.Paused == paused {
		return err
	}
	next, err := a.nextTime(s.ID, s.Line)
	if err != nil && !paused {
		return err
	}
	s.Paused = paused
	a.book(s, next)
	return nil
}
