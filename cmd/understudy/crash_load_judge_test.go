package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
)

// crashVerdict is the result of a load.
type crashVerdict struct {
	Cuts     int
	Accepted int // promises
	Visits   int // attempts that the destination has seen
	Lost     int // promises that were broken
	Cut      int // attempts during which the server closed the connection
	Excused  int // repeated deliveries after an attempt that may have been cut
	Twice    int // repeated deliveries without that reason
	AtOnce   int // largest number of concurrent attempts of a flow-control key
	Over     int // attempts above the limit of a key, except in faults with two servers
	Problems []string
}

// String is a summary in one line, and up to 20 problems.
func (v crashVerdict) String() string {
	return fmt.Sprintf("%d cuts, %d accepted, %d attempts seen, %d lost, %d delivered twice without a cut (%d with one), %d attempts cut, at most %d at once of a key\n%s",
		v.Cuts, v.Accepted, v.Visits, v.Lost, v.Twice, v.Excused, v.Cut, v.AtOnce, strings.Join(v.Problems[:min(len(v.Problems), 20)], "\n"))
}

// Judge stops the load and waits until everything that was accepted has ended, or until
// nothing has ended for the time patience. Then it compares. All servers must be running.
func (l *crashLoad) Judge(patience time.Duration) crashVerdict {
	l.Stop()
	dead := map[string]bool{}
	left, since := 0, wall.Now()
	for first := true; first || left > 0 && wall.Now().Sub(since) < patience; first = false {
		if l.cfg.Manual {
			l.advance(l.cfg.Tokens[0])
		}
		dead = l.dead()
		now := len(l.unkept(dead))
		if first || now < left {
			left, since = now, wall.Now()
		}
		_ = clock.Pause(context.Background(), 50*time.Millisecond) // never fails
	}
	schedules, runs := l.schedules(), l.openRuns()
	ended := l.endedUnseen(dead)
	l.mu.Lock()
	defer l.mu.Unlock()
	v := crashVerdict{Cuts: len(l.faults), Accepted: len(l.promises) + len(l.exist) + len(l.never) + len(l.gone), AtOnce: l.most, Problems: slices.Clone(l.problems)}
	for _, p := range l.unkeptLocked(dead) {
		if ended[p.name] {
			continue
		}
		v.Lost++
		v.fault("%s of crashLane %s (message %s) is lost", p.name, p.crashLane, p.id)
	}
	for entry := range l.gone {
		if dead[entry] {
			v.lose("the DLQ has the entry %s again", entry)
		}
	}
	for id, must := range l.exist {
		if schedules[id] != must {
			v.lose("schedule %s: exists is %v, want %v", id, schedules[id], must)
		}
	}
	for _, id := range runs {
		if l.runs[id] {
			v.lose("run %s has not ended", id)
		}
	}
	l.judgeVisits(&v)
	l.judgeOrder(&v)
	for _, e := range l.over {
		if !slices.ContainsFunc(l.faults, func(f *fault) bool { return f.twofold && l.concerns(f, e.account, e.at, e.at) }) {
			v.Over++
			v.fault("%d attempts of a key of account %d at once, want at most %d", e.running, e.account, keyLimit)
		}
	}
	return v
}

func (v *crashVerdict) fault(format string, args ...any) {
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

func (v *crashVerdict) lose(format string, args ...any) {
	v.Lost++
	v.fault(format, args...)
}

// unkept returns the promises whose messages are neither delivered nor in the DLQ.
func (l *crashLoad) unkept(dead map[string]bool) []promise {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unkeptLocked(dead)
}

func (l *crashLoad) unkeptLocked(dead map[string]bool) (list []promise) {
	for _, p := range l.promises {
		if deliveredVisits(l.seen[p.name]) == 0 && (p.id == "" || !dead[p.id]) {
			list = append(list, p)
		}
	}
	return list
}

// judgeVisits finds messages that were delivered more than once, or after they were
// cancelled.
func (l *crashLoad) judgeVisits(v *crashVerdict) {
	for name, visits := range l.seen {
		v.Visits += len(visits)
		times := 0
		for i, at := range visits {
			if at.cut {
				v.Cut++
			}
			if since, ok := l.never[name]; ok && at.began.After(since) {
				v.fault("%s was delivered after it was cancelled", name)
			}
			if at.status != http.StatusOK || at.cut {
				continue
			}
			if times++; times < 2 {
				continue
			}
			if account := accountOf(name); slices.ContainsFunc(visits[:i], func(v visit) bool { return l.near(account, v) }) {
				v.Excused++
			} else {
				v.Twice++
				v.fault("%s was delivered twice without a cut in between: %s", name, l.times(visits))
			}
		}
	}
}

// judgeOrder checks that each queue delivered its messages in the order of publishing.
func (l *crashLoad) judgeOrder(v *crashVerdict) {
	for account := range l.cfg.Tokens {
		var order []string
		for _, p := range l.promises {
			if p.crashLane == "queue" && p.account == account && len(l.seen[p.name]) > 0 {
				order = append(order, p.name)
			}
		}
		first := slices.Clone(order)
		slices.SortStableFunc(first, func(x, y string) int { return l.seen[x][0].began.Compare(l.seen[y][0].began) })
		for i := range order {
			if order[i] != first[i] {
				v.fault("the queue of account %d has delivered %s in place of %s", account, first[i], order[i])
				break
			}
		}
	}
}

// dead returns the ids of the messages and of the entries in the DLQs.
func (l *crashLoad) dead() map[string]bool {
	dead := map[string]bool{}
	for account, token := range l.cfg.Tokens {
		for cursor, more := "", true; more; more = cursor != "" {
			var page struct {
				Cursor   string
				Messages []struct{ MessageID, DLQID string }
			}
			l.fetch(token, "/v2/dlq?count=100&cursor="+cursor, &page)
			for _, m := range page.Messages {
				dead[m.MessageID], dead[entryOf(account, m.DLQID)] = true, true
			}
			cursor = page.Cursor
		}
	}
	return dead
}

// entryOf is a key for a DLQ entry: entry ids are unique within an account only.
func entryOf(account int, id string) string { return fmt.Sprint(account, " ", id) }

// schedules returns the existing schedules, by account and id.
func (l *crashLoad) schedules() map[string]bool {
	all := map[string]bool{}
	for account, token := range l.cfg.Tokens {
		var list []struct{ ScheduleID string }
		l.fetch(token, "/v2/schedules", &list)
		for _, s := range list {
			all[fmt.Sprint(account, " ", s.ScheduleID)] = true
		}
	}
	return all
}

// endedUnseen returns the last steps of runs that have succeeded, although the answer to the
// request that ended them was lost.
func (l *crashLoad) endedUnseen(dead map[string]bool) map[string]bool {
	ended := map[string]bool{}
	for _, p := range l.unkept(dead) {
		if p.crashLane != "run" {
			continue
		}
		var page struct {
			Runs []struct{ WorkflowRunID string }
		}
		l.fetch(l.cfg.Tokens[p.account], "/v2/workflows/logs?state=RUN_SUCCESS&workflowRunId=wfr_"+strings.TrimPrefix(p.name, "end-"), &page)
		ended[p.name] = len(page.Runs) > 0
	}
	return ended
}

// openRuns returns the ids of the runs that have not succeeded.
func (l *crashLoad) openRuns() (ids []string) {
	for _, token := range l.cfg.Tokens {
		for _, state := range []string{"RUN_STARTED", "RUN_FAILED", "RUN_CANCELED"} {
			var page struct {
				Runs []struct{ WorkflowRunID string }
			}
			l.fetch(token, "/v2/workflows/logs?count=100&state="+state, &page)
			for _, r := range page.Runs {
				ids = append(ids, r.WorkflowRunID)
			}
		}
	}
	return ids
}

// fetch reads a document. It must succeed, because the servers are running.
func (l *crashLoad) fetch(token, path string, into any) {
	text := l.ask(token, http.MethodGet, path, nil, "")
	if err := json.Unmarshal(text, into); err != nil {
		l.problem("GET %s: %q: %v", path, text, err)
	}
}
