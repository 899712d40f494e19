package mockserver

import (
	"fmt"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/spec/mask"
)

// Position is where the replay of an account has ended.
func (s *Server) Position(account string) (tenant.Position, bool) {
	t := s.tenants.Find(func(t *tenant.Tenant) bool { return t.ID == account })
	if t == nil {
		return tenant.Position{}, false
	}
	return t.Position, true
}

// LogLine is an event of the log for people and for programs.
type LogLine struct {
	Text string // in one line
	JSON any    // in the form of the log
}

// LogOf passes the log of an account to each, oldest event first, and stops at
// its first error. It reads the log in parts, so that commands can run in
// between.
func (s *Server) LogOf(account string, each func(LogLine) error) error {
	t := s.tenants.Find(func(t *tenant.Tenant) bool { return t.ID == account })
	const part = 1000
	for position := uint64(0); ; {
		events, _ := t.Account.Follow(position, part)
		for i := range events {
			position = events[i].Seq
			if err := each(LogLine{logText(&events[i]), s.control.Event(t, &events[i])}); err != nil {
				return err
			}
		}
		if len(events) < part {
			return nil
		}
	}
}

// logText is an event in one line.
func logText(e *engine.Event) string {
	id, url := "", ""
	switch {
	case e.Message != nil:
		id, url = e.Message.ID, e.Message.URL
	case e.Run != nil:
		id, url = e.Run.ID, e.Run.URL
	}
	line := fmt.Sprintf("%s  %-20s  %s  %s", e.Time.UTC().Format("2006-01-02 15:04:05.000"), e.State, id, mask.Value(url))
	if e.Outcome != nil && e.Outcome.Status > 0 {
		line += fmt.Sprintf("  %d", e.Outcome.Status)
	}
	if e.Error != "" {
		line += "  " + clip.Line(mask.Text(e.Error))
	}
	if !e.NextAt.IsZero() && e.NextAt.After(e.Time) {
		line += "  next " + e.NextAt.UTC().Format(time.DateTime)
	}
	return line
}
