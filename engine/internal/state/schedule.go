package state

import (
	"fmt"
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

	timer TimerPlace
	Line  CronLine `journal:"-" saved:"no"` // Cron, as it was read
}

// CronLine is a cron expression and the zone that it is read in.
type CronLine struct {
	expression string
	Zone       *time.Location
}

// ParseCron takes a cron line apart: five fields or @daily and the like,
// behind an optional CRON_TZ=Zone.
func ParseCron(cron string) (c CronLine, err error) {
	c = CronLine{strings.TrimSpace(cron), time.UTC}
	if rest, ok := strings.CutPrefix(c.expression, "CRON_TZ="); ok {
		name, after, _ := strings.Cut(rest, " ")
		if c.Zone, err = time.LoadLocation(name); err != nil || name == "" {
			return CronLine{}, refusal.OfValue("cron", cron, fmt.Sprintf("unknown time zone %q", name), "an IANA name such as Europe/Berlin")
		}
		c.expression = strings.TrimSpace(after)
	}
	if !strings.HasPrefix(c.expression, "@") && len(strings.Fields(c.expression)) != 5 || !gronx.IsValid(c.expression) {
		return CronLine{}, refusal.OfValue("cron", cron, "", "five fields (minute hour day month weekday), for example */5 * * * *, after an optional CRON_TZ=Zone")
	}
	return c, nil
}

// Next is the first time after the given one.
func (c CronLine) Next(after time.Time) (time.Time, error) {
	next, err := gronx.NextTickAfter(c.expression, after.In(c.Zone), false)
	if err != nil {
		return time.Time{}, refusal.Of(refusal.Invalid, "cron", c.expression, "no next time")
	}
	return next, nil
}

// NextTimes are the next times of a schedule, at most n of them; none while it
// is paused.
func (s *Schedule) NextTimes(n int) (list []time.Time) {
	for at := s.Next; !at.IsZero() && len(list) < n; {
		list = append(list, at)
		next, err := s.Line.Next(at)
		if err != nil {
			break
		}
		at = next
	}
	return list
}
