package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// interrupter is a stream that ends a context when it has received a text, as a user does who
// has read it.
type interrupter struct {
	bytes.Buffer
	on   string
	stop context.CancelFunc
}

func (w *interrupter) Write(b []byte) (int, error) {
	n, err := w.Buffer.Write(b)
	if strings.Contains(w.String(), w.on) {
		w.stop()
	}
	return n, err
}

// TestAnInterruptedAdvanceIsHarmless interrupts an advance by a year, in which a schedule fires
// each minute. The clock stays where it is, and can be advanced again.
func TestAnInterruptedAdvanceIsHarmless(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	u.Stub("https://app.test/*", 200)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, u.URL()+"/v2/schedules/https://app.test/tick", http.NoBody)
	expect.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+u.Token())
	r.Header.Set("Svc-Cron", "* * * * *")
	response, err := http.DefaultClient.Do(r)
	expect.NoError(t, err)
	_ = response.Body.Close()
	expect.Equal(t, "status of the schedule", response.StatusCode, http.StatusOK)

	ctx, stop := context.WithCancel(t.Context())
	var out bytes.Buffer
	errs := &interrupter{on: "the clock has reached", stop: stop}
	expect.Equal(t, "exit code", runProgram(ctx, []string{"ctl", "advance", "365d", "--url", u.URL()}, &out, errs), 1)
	expect.Equal(t, "output", out.String(), "")
	lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
	expect.Contains(t, "last line", lines[len(lines)-1], "understudy: interrupted: the clock has reached 202")
	u.Settle()
	out.Reset()
	expect.Equal(t, "exit code of the rest", runProgram(t.Context(), []string{"ctl", "advance", "1h", "--url", u.URL()}, &out, errs), 0)
	var rest struct{ Attempts int }
	expect.NoError(t, json.Unmarshal(out.Bytes(), &rest))
	expect.Equal(t, "attempts of the rest", rest.Attempts, 60)
}
