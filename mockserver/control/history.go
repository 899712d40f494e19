package control

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/saved"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/api"
)

// The limits of a replay for a caller of the API: it needs the memory of a second
// account next to the live one.
const (
	maxReplayed   = 256 << 20 // bytes of the snapshot and of the records after it
	replayTimeout = 60 * time.Second
)

// journal returns the state of an account after a record of its journal. It reads
// the journal and does not touch the live account.
func (s *Service) journal(c *request.Call) (any, error) {
	until, err := untilOf(c)
	if err != nil {
		return nil, err
	}
	if b := s.Tenants.Behind(c.Tenant); b.Bytes+b.Snapshot > maxReplayed {
		return nil, refusal.Of(refusal.Unfit, "journal", "", fmt.Sprintf("has %s: at most %s are replayed here; export it (understudy ctl journal export) and replay the file (understudy replay)",
			response.ByteSize(b.Bytes+b.Snapshot), response.ByteSize(maxReplayed)))
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), replayTimeout)
	defer cancel()
	step, ends, err := s.Tenants.StateAt(ctx, c.Tenant, until)
	return stepBody(c.Tenant.ID, &step, &ends), err
}

// untilOf reads the parameter lsn or time. Without them it means the end of the journal.
func untilOf(c *request.Call) (tenant.Until, error) {
	lsn, at := c.Query.Get("lsn"), c.Query.Get("time")
	switch {
	case lsn != "" && at != "":
		return tenant.Until{}, response.Invalid("query lsn and time: must not be used together")
	case lsn != "":
		n, err := strconv.ParseUint(lsn, 10, 63)
		return tenant.Until{LSN: n}, err
	case at != "":
		until, err := tenant.ParseTime(at)
		if err != nil {
			return until, response.Refused([]spec.Problem{response.Value("query", "time", at, err)})
		}
		return until, nil
	}
	return tenant.Until{}, nil
}

func stepBody(account string, s *tenant.Step, ends *tenant.Ends) api.JournalStep {
	o := &s.State
	out := api.JournalStep{
		Account: account, Snapshot: ends.Snapshot,
		First: api.JournalEnd{LSN: int(ends.First), At: ends.FirstAt.UnixMilli()}, Last: api.JournalEnd{LSN: int(ends.Last), At: ends.LastAt.UnixMilli()},
		Record: api.JournalRecord(s.Listed),
		State: api.JournalState{
			Messages: byState(o.Messages), Runs: byState(o.Runs), DLQ: o.DLQ, InFlight: o.InFlight, FlowKeys: o.FlowKeys, Paused: o.Paused, Groups: o.Groups,
			QueueCount: o.Queues, Schedules: o.Schedules, Waiters: o.Waiters, NextDue: millis(o.NextDue), Queues: response.List(s.Queues, func(q *engine.Queue) api.JournalQueue {
				return api.JournalQueue{Name: q.Name, Parallelism: q.Parallelism, Lag: q.Lag, Paused: q.Paused}
			}),
		},
	}
	return out
}

// exportJournal streams a file for `understudy replay`. Streams are not validated
// against the document.
func (s *Service) exportJournal(c *request.Call) (any, error) {
	read := s.Tenants.ReadJournal
	if s.Store == nil {
		read = s.Tenants.ReadState
	}
	list := []*tenant.Tenant{c.Tenant}
	if id := c.Query.Get("account"); id == "" || id == "*" {
		if _, err := s.Fleet.Refresh(c.Request.Context()); err != nil {
			return nil, refusal.Of(refusal.NotDurable, "journal", "", "the cluster does not answer: "+err.Error())
		}
		list = s.Tenants.Everywhere()
	}
	cfg := saved.ExportConfig{Program: s.Version(), At: s.Wall.Now(), Bodies: c.Flag("bodies", true)}
	return response.Response{Stream: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		if r.Method == http.MethodHead {
			return
		}
		err := saved.Export(r.Context(), w, cfg, func(write func(tenant.History) error) error {
			for _, t := range list {
				if err := read(r.Context(), t, write); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			s.Log.Warn("a journal was not exported to its end", "error", err)
			panic(http.ErrAbortHandler) // what was sent must not look complete
		}
	}}, nil
}
