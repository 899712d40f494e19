package engine

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // time zones of schedules, on machines without them

	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/refusal"
)

// PutSchedule creates a schedule, or replaces the one with that id; an empty
// id asks for a new one.
func (a *Account) PutSchedule(id, cron string, r PublishRequest) (Schedule, error) {
	return runCommand(a, putSchedule{id, cron, r})
}

type putSchedule struct {
	ID      string
	Cron    string
	Request PublishRequest
}

// apply tries the request as if it were published now, and keeps the history and the pause
// of the schedule that it replaces.
func (c putSchedule) apply(a *Account) (Schedule, error) {
	line, err := state.ParseCron(c.Cron)
	if err != nil {
		return Schedule{}, err
	}
	next, err := line.Next(a.state.Now)
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

// setSchedule puts a schedule in place of the one with its id.
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
	s.Next, a.zoned = time.Time{}, a.zoned || s.Line.Zone != time.UTC
	if !s.Paused && !next.IsZero() {
		s.Next = next
		a.state.Timers.Add(next, state.WakeSchedule, s)
	}
}

// fireSchedule publishes and books the next time. A schedule whose request is
// no longer acceptable, because its group is gone, skips this time.
func (a *Account) fireSchedule(s *Schedule) {
	s.Last, s.LastStates = a.state.Now, map[string]string{}
	if c, err := a.acceptable(s.Request); err != nil {
		a.note(slog.LevelWarn, "schedule could not publish", "schedule", s.ID, "error", err)
	} else {
		for _, r := range a.publish(&c).List {
			s.LastStates[r.MessageID] = "IN_PROGRESS"
		}
	}
	next, err := s.Line.Next(a.state.Now)
	if err != nil {
		a.note(slog.LevelWarn, "schedule ended", "schedule", s.ID, "error", err)
	}
	a.book(s, next)
}

// viewSchedule is the schedule as lists show it: with the states as they are now.
func (a *Account) viewSchedule(s *Schedule) Schedule {
	v := *s
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
	if s := a.state.Schedules[id]; s != nil {
		return s, nil
	}
	return nil, refusal.Of(ErrNotFound, "schedule", id, "not found")
}

// DeleteSchedule removes a schedule; messages on their way stay.
func (a *Account) DeleteSchedule(id string) error {
	return errorOnly(runCommand(a, deleteSchedule{id}))
}

type deleteSchedule struct{ ID string }

// apply leaves messages on their way: they are no part of the schedule any more.
func (c deleteSchedule) apply(a *Account) (nothing, error) {
	s, err := a.knownSchedule(c.ID)
	if err != nil {
		return nothing{}, err
	}
	delete(a.state.Schedules, c.ID)
	a.state.Timers.Remove(s)
	a.addWork(-int64(s.Weight()))
	return nothing{}, nil
}

// SetSchedulePaused keeps a schedule from publishing, or lets it publish again from
// its next time on. Times that pass meanwhile are lost.
func (a *Account) SetSchedulePaused(id string, paused bool) error {
	return errorOnly(runEither(a, paused, pauseSchedule{id}, resumeSchedule{id}))
}

type pauseSchedule struct{ ID string }

func (c pauseSchedule) apply(a *Account) (nothing, error) {
	return nothing{}, a.pauseSchedule(c.ID, true)
}

type resumeSchedule struct{ ID string }

func (c resumeSchedule) apply(a *Account) (nothing, error) {
	return nothing{}, a.pauseSchedule(c.ID, false)
}

// pauseSchedule computes the next time from now, so that times during a pause are lost
// and not made up for.
func (a *Account) pauseSchedule(id string, paused bool) error {
	s, err := a.knownSchedule(id)
	if err != nil || s.Paused == paused {
		return err
	}
	next, err := s.Line.Next(a.state.Now)
	if err != nil && !paused {
		return err
	}
	s.Paused = paused
	a.book(s, next)
	return nil
}
