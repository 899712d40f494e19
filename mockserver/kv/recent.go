package kv

import (
	"context"
	"crypto/sha1"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ScriptRun is what a script was last given with a first key.
type ScriptRun struct {
	Keys, Args []string
}

// maxRecent bounds how many runs are remembered; the older half goes. A run with
// longer arguments than maxRecentText bytes is that of another script.
const (
	maxRecent     = 10_000
	maxRecentText = 4096
)

// recent remembers the runs of scripts: limiters keep only counters in the
// store, and tell their limits with each call.
type recent struct {
	mu   sync.Mutex
	runs map[string]recentRun // by script and first key
	last int
}

type recentRun struct {
	ScriptRun
	number int
}

// note keeps a command if it runs a script on keys.
func (r *recent) note(command []string) {
	if len(command) < 4 || !strings.HasPrefix(strings.ToUpper(command[0]), "EVAL") {
		return
	}
	n, err := strconv.Atoi(command[2])
	if err != nil || n < 1 || n > len(command)-3 {
		return
	}
	if len(command[1]) > sha1.Size*2 {
		command = replaceArgument(command, 1, scriptDigest(command[1]))
	}
	length := 0
	for _, argument := range command {
		length += len(argument)
	}
	if length > maxRecentText {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[string]recentRun{}
	}
	r.last++
	r.runs[command[1]+" "+command[3]] = recentRun{ScriptRun{command[3 : 3+n], command[3+n:]}, r.last}
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

// ScriptRuns are the last runs, one for each script and first key, latest first.
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

// Do runs commands; a failed one has an error in the place of its reply. A store
// that nobody has used yet starts for it.
func (k *KV) Do(ctx context.Context, commands ...[]string) ([]any, error) {
	b, err := k.started()
	if err != nil {
		return nil, err
	}
	return b.run(ctx, commands), nil
}
