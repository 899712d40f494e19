package kv

import (
	"context"
	"crypto/sha1"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ScriptRun is the arguments of the last run of a script with a first key.
type ScriptRun struct {
	Keys, Args []string
}

// maxRecent limits the number of recorded runs; beyond it, the older half is removed.
// Runs of limiters have at most maxRecentText bytes; longer ones are not recorded.
const (
	maxRecent     = 10_000
	maxRecentText = 4096
)

// recent records the runs of scripts: limiters store only counters, and pass their
// limits in each call.
type recent struct {
	mu   sync.Mutex
	runs map[string]recentRun // by script and first key
	last int
}

type recentRun struct {
	ScriptRun
	number int
}

// note records a command if it runs a script with keys.
func (r *recent) note(command []string) {
	if len(command) < 4 || !strings.HasPrefix(strings.ToUpper(command[0]), "EVAL") {
		return
	}
	n, err := strconv.Atoi(command[2])
	if err != nil || n < 1 || n > len(command)-3 {
		return
	}
	script := command[1]
	if len(script) > sha1.Size*2 {
		script = scriptDigest(script)
	}
	if len(strings.Join(command[2:], "")) > maxRecentText {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[string]recentRun{}
	}
	r.last++
	r.runs[script+" "+command[3]] = recentRun{ScriptRun{command[3 : 3+n], command[3+n:]}, r.last}
	if len(r.runs) > maxRecent {
		for key, run := range r.runs {
			if run.number <= r.last-maxRecent/2 {
				delete(r.runs, key)
			}
		}
	}
}

func (r *recent) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = nil
}

// ScriptRuns returns the last run for each script and first key, latest first.
func (k *KV) ScriptRuns() []ScriptRun {
	k.recent.mu.Lock()
	defer k.recent.mu.Unlock()
	list := make([]recentRun, 0, len(k.recent.runs))
	for _, run := range k.recent.runs {
		list = append(list, run)
	}
	slices.SortFunc(list, func(x, y recentRun) int { return y.number - x.number })
	out := make([]ScriptRun, len(list))
	for i := range list {
		out[i] = list[i].ScriptRun
	}
	return out
}

// Do runs commands, and starts the store if necessary. The reply to a command that
// fails is its error.
func (k *KV) Do(ctx context.Context, commands ...[]string) ([]any, error) {
	b, err := k.started()
	if err != nil {
		return nil, err
	}
	return b.run(ctx, commands), nil
}
