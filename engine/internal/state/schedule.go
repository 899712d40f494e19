package state

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // time zones of schedules, for machines without a time zone database

	"github.com/adhocore/gronx"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Schedule publishes a message repeatedly (extension; wire.md, "Further operations").
type Schedule struct {
	ID         string
	Cron       string // with its CRON_TZ prefix, as given
	CreatedAt  time.Time
	Request    PublishRequest
	Paused     bool
	Next       time.Time         // zero while paused
	Last       time.Time         // zero before the first publish
	LastStates map[string]string // id of each message of the last publish -> its state

	timer TimerPlace
	Line  CronLine `journal:"-" saved:"no"` // Cron, parsed
}

// CronLine is a cron expression and its time zone.
type CronLine struct {
	expression string
	Zone       *time.Location
}

// ParseCron parses a cron line: an optional CRON_TZ=Zone, then five fields or a name such
// as @daily.
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
		return CronLine{}, wrongCron(cron, c.expression)
	}
	return c, nil
}

// cronFields are the fields of an expression in order, with their numbers.
var cronFields = []struct{ name, numbers string }{
	{"minute", "0 to 59"},
	{"hour", "0 to 23"},
	{"day", "1 to 31"},
	{"month", "1 to 12, or JAN to DEC"},
	{"weekday", "0 to 7, or SUN to SAT"},
}

// wrongCron is the error for an invalid line. If one of its five fields is invalid, it
// names the first of those.
func wrongCron(cron, expression string) error {
	given := strings.Fields(expression)
	for i, field := range cronFields {
		if len(given) != len(cronFields) {
			break
		}
		alone := []string{"*", "*", "*", "*", "*"}
		if alone[i] = given[i]; !gronx.IsValid(strings.Join(alone, " ")) {
			return refusal.OfValue("cron", cron, fmt.Sprintf("%s %q", field.name, given[i]),
				"*, numbers from "+field.numbers+", ranges such as 1-5 from the smaller to the larger, lists such as 1,3, or steps such as */2")
		}
	}
	return refusal.OfValue("cron", cron, "", "five fields (minute hour day month weekday), for example */5 * * * *, after an optional CRON_TZ=Zone")
}

// Expression is the line without its time zone.
func (c CronLine) Expression() string { return c.expression }

// Next returns the first time after the given one.
func (c CronLine) Next(after time.Time) (time.Time, error) {
	next, err := gronx.NextTickAfter(c.expression, after.In(c.Zone), false)
	if err != nil {
		return time.Time{}, refusal.OfValue("cron", c.expression, "no next time", "a time that exists, unlike 31 February")
	}
	return next, nil
}

// NextTimes returns at most n next times of a schedule; none while it is paused.
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
