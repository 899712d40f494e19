package ui

import (
	"fmt"
	"net/http"
	"time"

	"github.com/understudy-mock/understudy/spec/api"
)

// advance moves the clock, and says what that has caused.
func advance(v *visit, f form) error {
	var before api.Overview
	if err := v.get(&before, "overview", nil); err != nil {
		return err
	}
	var p api.Progress
	if err := v.do(&p, request{method: http.MethodPost, path: "clock/advance", body: fieldsObject("by", "until", "timeout")(f)}); err != nil {
		return err
	}
	caused := fmt.Sprintf("%s, %d failed, %s", pluralText(p.Attempts, "attempt", "attempts"), p.Failed, pluralText(p.RunsWoken, "run woke", "runs woke"))
	if p.NextDue > p.Now {
		caused += "; next timer in " + durationText(p.NextDue-p.Now)
	}
	f.Set("later", durationText(p.Now-before.Clock.Now)+" later")
	if p.Now == before.Clock.Now {
		f.Set("later", "Nothing was due, and the clock stays")
	}
	f.Set("caused", caused)
	// What was at the instant at which the clock stood was not caused by the move.
	f.Set("moved-from", time.UnixMilli(before.Clock.Now+1).UTC().Format(fieldForm))
	f.Set("moved-to", time.UnixMilli(p.Now).UTC().Format(fieldForm))
	return nil
}

// fieldForm is the layout of times in queries.
const fieldForm = "2006-01-02T15:04:05.000"
