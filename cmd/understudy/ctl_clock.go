package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/command"
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
func (k *ctlAdvance) Run(e *env, c *cli) error {
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
	c.Ctl.flags = clockFlags
	m, err := c.Ctl.moved(e)
	if err != nil {
		return err
	}
	stop := m.print(e)
	var answer json.RawMessage
	err = c.Ctl.call(e, http.MethodPost, "clock/advance", nil, body, &answer)
	stop()
	switch {
	case e.ctx.Err() != nil:
		return m.interrupted(e)
	case err != nil:
		return err
	}
	return c.Ctl.print(e, answer, nil)
}

// Run waits until the stand-in has settled.
func (k *ctlSettle) Run(e *env, c *cli) error {
	c.Ctl.flags = clockFlags
	return c.Ctl.show(e, http.MethodPost, "settle", nil, map[string]string{"timeout": k.Timeout})
}

// movement is a clock that is being moved. Of several accounts, it is that of the first.
type movement struct {
	remote
	before int // attempts before it
}

// moved reads what the account has done so far.
func (c *CtlCmd) moved(e *env) (*movement, error) {
	m := movement{remote: c.remote}
	if m.Account == "*" {
		m.Account = ""
	}
	err := m.call(e, http.MethodGet, "overview", nil, nil, &struct{ Attempts *int }{&m.before})
	return &m, err
}

// reached says in words what the clock has reached.
func (m *movement) reached(e *env) (string, error) {
	var now struct {
		Clock    struct{ Now int64 }
		Attempts int
	}
	err := m.call(e, http.MethodGet, "overview", nil, nil, &now)
	return fmt.Sprintf("the clock has reached %s; attempts: %d", time.UnixMilli(now.Clock.Now).UTC().Format(time.RFC3339), now.Attempts-m.before), err
}

// print prints once a second what the clock has reached, until the returned function is called,
// which waits for its end.
func (m *movement) print(e *env) (stop func()) {
	ctx, cancel := context.WithCancel(e.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for clock.Pause(ctx, time.Second) == nil {
			if text, err := m.reached(&env{ctx: ctx, err: e.err}); err == nil {
				_, _ = fmt.Fprintln(e.err, "understudy: "+text)
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// interrupted is the error of an advance that its user has stopped. The clock stays where it is.
func (m *movement) interrupted(e *env) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), 2*time.Second)
	defer cancel()
	text, err := m.reached(&env{ctx: ctx, err: e.err})
	if err != nil {
		return err
	}
	return command.Fail(command.ExitFailed, errors.New("interrupted: "+text+"; advance it again for the rest"))
}
