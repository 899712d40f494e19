package mockserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/replay"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/spec"
	"github.com/understudy-mock/understudy/spec/mask"
)

// readingOperations change nothing although their method is not GET. A call
// below /as/ is judged by the operation that it calls. Sorted.
var readingOperations = []string{
	"asDelete", "asPatch", "asPost", "asPut",
	"fetchVectors", "fetchVectorsIn", "getVectorInfoPost", "listVectorNamespacesPost", "pageAction", "queryVectorData", "queryVectorDataIn", "queryVectors", "queryVectorsIn",
	"randomVectorInPost", "randomVectorPost", "rangeVectors", "rangeVectorsIn",
}

// hookOperations is the prefix of their operation ids.
const hookOperations = "callHook"

// changesState reports whether an operation may change something. Commands of
// the key-value store and hooks of runs may with every method.
func changesState(op *spec.Operation) bool {
	switch {
	case op.Area == "kv_url" || strings.HasPrefix(op.ID, hookOperations):
		return true
	case op.Method == http.MethodGet || op.Method == http.MethodHead || op.Method == http.MethodOptions:
		return false
	}
	return !slices.Contains(readingOperations, op.ID)
}

// mayChange refuses operations that would change a server that shows a replayed
// journal.
func (s *Server) mayChange(c *call.Call) error {
	if s.cfg.Replay == nil || !changesState(c.Op) {
		return nil
	}
	text := "this server replays a journal and is read-only: nothing can be published, delivered or changed; start `understudy serve` for that"
	if c.Op.Area == "kv_url" {
		text = "this server replays a journal, which does not have the key-value store"
	}
	if strings.HasPrefix(c.Op.ID, hookOperations) { // their document declares no 403
		return refusal.Of(refusal.Closed, text, "", "")
	}
	return response.Forbidden(text)
}

// Position is where the replay of an account has ended.
func (s *Server) Position(account string) (replay.Position, bool) {
	t := s.tenants.Find(func(t *tenant.Tenant) bool { return t.ID == account })
	if t == nil {
		return replay.Position{}, false
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
		line += "  " + response.OneLine(mask.Text(e.Error))
	}
	if !e.NextAt.IsZero() && e.NextAt.After(e.Time) {
		line += "  next " + e.NextAt.UTC().Format(time.DateTime)
	}
	return line
}
