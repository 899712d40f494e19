package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/engine/duration"
	"github.com/understudy-mock/understudy/internal/command"
	"github.com/understudy-mock/understudy/spec/route"
)

type (
	ctlAdvance struct {
		By      string `arg:"" help:"A duration with units, such as 90s, 24h or 7d; 'to:UNIX_MS'; 'next' for the next timer; 'idle' until only timers of schedules are left."`
		Timeout string `default:"60s" help:"Timeout, in real time. The clock keeps what it has reached by then."`
	}
	ctlSettle struct {
		Timeout string `default:"5s" help:"Timeout, in real time."`
	}
)

// clockFlags are the flags of the commands below in place of the members of their requests.
var clockFlags = strings.NewReplacer("body /by:", "<by>:", "body /timeout:", "--timeout:", "timeout: ", "--timeout: ")

// Run advances the clock. After a second, it prints how far the clock is.
func (k *ctlAdvance) Run(e *env, c *CtlCmd) error {
	body := map[string]any{"by": k.By, "timeout": k.Timeout}
	if at, ok := strings.CutPrefix(k.By, "to:"); ok {
		to, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return usageError("<by>: invalid value %q: must be to: with a time in Unix ms, such as to:1767225600000", k.By)
		}
		body = map[string]any{"to": to, "timeout": k.Timeout}
	} else if k.By == "next" || k.By == "idle" {
		body = map[string]any{"until": k.By, "timeout": k.Timeout}
	}
	c.flags = clockFlags
	m, err := c.moved(e, body)
	if err != nil {
		return err
	}
	stop := e.progress(m.reached, m.bar)
	answer, err := c.ask(e, route.ControlAdvance, nil, nil, body)
	stop()
	if e.ctx.Err() != nil {
		return m.interrupted(e)
	}
	return c.print(e, answer, err, words("advanced"))
}

// Run waits until the stand-in has settled.
func (k *ctlSettle) Run(e *env, c *CtlCmd) error {
	c.flags = clockFlags
	return c.show(e, words("Settled: no attempt is ready or in flight."), map[string]string{"timeout": k.Timeout}, route.ControlSettle)
}

// movement is a clock that is being moved. Of several accounts, it is that of the first.
type movement struct {
	remote
	before   int       // attempts before it
	from, to int64     // Unix ms; to is 0 if it is not known
	began    time.Time // real time
}

// moved reads what the account has done so far.
func (c *CtlCmd) moved(e *env, body map[string]any) (*movement, error) {
	m := movement{remote: c.remote, began: clock.NewReal().Now()}
	if m.Account == "*" {
		m.Account = ""
	}
	now, err := m.read(e.ctx)
	m.before, m.from = now.Attempts, now.Clock.Now
	m.to, _ = body["to"].(int64)
	if by, _ := body["by"].(string); by != "" {
		if d, err := duration.Parse(by); err == nil {
			m.to = m.from + d.Milliseconds()
		}
	}
	return &m, err
}

// movedNow is how far a movement is.
type movedNow struct {
	Clock    struct{ Now int64 }
	Attempts int
}

func (m *movement) read(ctx context.Context) (now movedNow, err error) {
	return now, m.call(&env{ctx: ctx, err: io.Discard}, http.MethodGet, "overview", nil, nil, &now)
}

// reached says in words what the clock has reached; "" if it cannot be read.
func (m *movement) reached(ctx context.Context) string {
	now, err := m.read(ctx)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("the clock has reached %s; attempts: %d", time.UnixMilli(now.Clock.Now).UTC().Format(time.RFC3339), now.Attempts-m.before)
}

// bar is reached for a terminal.
func (m *movement) bar(ctx context.Context) string {
	now, err := m.read(ctx)
	if err != nil {
		return ""
	}
	done, rate := now.Attempts-m.before, float64(now.Attempts-m.before)/max(clock.NewReal().Now().Sub(m.began).Seconds(), 0.001)
	return fmt.Sprintf("%s%s  %s, %.0f/s", barOf(now.Clock.Now-m.from, m.to-m.from), time.UnixMilli(now.Clock.Now).UTC().Format(time.DateTime), countOf(float64(done), "attempt"), rate)
}

// interrupted is the error of an advance that its user has stopped. The clock stays where it is.
func (m *movement) interrupted(e *env) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), 2*time.Second)
	defer cancel()
	text := m.reached(ctx)
	if text == "" {
		return command.Fail(command.ExitUnreachable, fmt.Errorf("interrupted: stand-in unreachable at %s", m.URL))
	}
	return command.Fail(command.ExitFailed, errors.New("interrupted: "+text+"; advance it again for the rest"))
}
