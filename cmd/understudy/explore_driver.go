package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"

	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/mockserver/explore"
	"github.com/understudy-mock/understudy/mockserver/explore/program"
	"github.com/understudy-mock/understudy/mockserver/stub"
)

// drive explores a scenario that the process at the other end of standard input and output plays:
// explore() of the packages for JavaScript and Python. Its first line is a configuration, as in
// a file but in one line of JSON; the last line of this side is the result.
func (c *ExploreCmd) drive(e *env) error {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	file := &program.File{}
	if err == nil {
		err = json.Unmarshal(line, file)
	}
	if err != nil {
		return usageError("explore: configuration: %w", err)
	}
	cfg, err := c.config(e, file)
	if err != nil {
		return err
	}
	ctx, gone := context.WithCancel(e.ctx)
	defer gone()
	e.ctx = ctx // nothing is played without the other process
	played := program.NewDriven(file, in, e.out, gone)
	open := func(st store.Store) (*explored, error) {
		s, service, err := runExplored(file, st)
		if err != nil {
			return nil, err
		}
		start := map[string]any{"do": "start", "url": s.ListensAt(), "token": s.Token(), "env": byName(s.Env()), "outside": s.ListensAt() + stub.OutsidePath}
		return &explored{server: s, worker: explore.Worker{Service: service, Scenario: played}}, json.NewEncoder(e.out).Encode(start)
	}
	x, err := open(nil)
	if err != nil {
		return err
	}
	defer x.close()
	result, err := explore.Run(ctx, cfg, x.worker)
	if err := c.write(e, cfg, result, open); err != nil {
		return err
	}
	return json.NewEncoder(e.out).Encode(driven(result, err))
}

// driven is the last line: what was found, in words.
func driven(r *explore.Result, err error) map[string]any {
	findings := []map[string]string{}
	for _, f := range r.Findings {
		findings = append(findings, map[string]string{"case": f.ID, "text": f.Text(), "replay": f.Replay})
	}
	out := map[string]any{"do": "result", "findings": findings, "summary": r.Summary()}
	if err != nil {
		out["error"] = err.Error()
	}
	return out
}
