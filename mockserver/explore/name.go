package explore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/engine"
)

// names gives the messages of a case names that are the same in each case: the cause, what
// happens, a key of the body, and the number among those that are equal in these three.
type names struct {
	keys     []string          // JSON pointers of members that identify a body
	messages map[string]string // name by message id
	runs     map[string]string // name by run id
	next     map[string]int    // the next number of a name
	order    map[string]int    // when a message was created, by its name
}

func newNames(keys []string) *names {
	return &names{keys: keys, messages: map[string]string{}, runs: map[string]string{}, next: map[string]int{}, order: map[string]int{}}
}

// number adds the number among equal names, from #0.
func (n *names) number(name string) string {
	i := n.next[name]
	n.next[name]++
	return fmt.Sprintf("%s#%d", name, i)
}

// ofMessage names a message when it is created. cause is the name of what was in progress.
func (n *names) ofMessage(e *engine.Event, cause string) {
	m := e.Message
	switch {
	case m.SourceID != "":
		cause = n.messages[m.SourceID]
	case m.ScheduleID != "" && e.Run == nil:
		cause = "schedule"
	}
	var name string
	switch {
	case m.RunID == "" && m.SourceID != "": // the body of a callback has ids and times
		name = n.number(cause + " > " + roleOf(m) + pathOf(m.URL))
	case m.RunID == "":
		name = n.number(cause + " > " + pathOf(m.URL) + n.key(m.Body, m.Options.DedupID))
	default:
		run, known := n.runs[m.RunID]
		if !known {
			run = n.number(cause + " > run " + pathOf(m.URL) + n.key(m.Body, ""))
			n.runs[m.RunID] = run
		}
		name = n.number(run + " > " + roleOf(m) + stepOf(e))
	}
	n.messages[m.ID], n.order[name] = name, len(n.order)
}

// stepPrefix begins the name of a call that submits steps of a run.
const stepPrefix = "submit "

// ofCall names a call of the application to the service.
func (n *names) ofCall(cause, method, path string, body []byte) string {
	what := strings.ToLower(method) + " " + steadyPath(path)
	for _, kind := range []string{"publish", "trigger", "enqueue"} {
		if _, destination, found := strings.Cut(path, "/v2/"+kind+"/"); found && method == http.MethodPost {
			what = kind + " " + pathOf(destination)
		}
	}
	var step struct{ StepName string }
	if json.Unmarshal(body, &step) == nil && step.StepName != "" { // the result of a call; it may differ
		what, body = stepPrefix+step.StepName, nil
	}
	var batch []struct{ Destination, Body string }
	if strings.HasSuffix(path, "/v2/batch") && json.Unmarshal(body, &batch) == nil && len(batch) > 0 {
		what, body = "batch", []byte(batch[0].Body)
		var steps []string
		for _, one := range batch[:min(len(batch), 3)] {
			what += " " + pathOf(one.Destination)
			step.StepName = ""
			if json.Unmarshal([]byte(one.Body), &step) == nil && step.StepName != "" {
				steps = append(steps, step.StepName)
			}
		}
		if len(steps) > 0 { // its result may differ
			what, body = stepPrefix+strings.Join(steps, ", "), nil
		}
	}
	return n.number(cause + " > " + what + n.key(body, ""))
}

// ofEffect names a call of the application to an outside service: SERVICE METHOD PATH {KEY}.
func (n *names) ofEffect(service, method, path string, query url.Values, body []byte) string {
	path = steadyPath(path)
	if len(query) > 0 {
		for _, values := range query {
			for i := range values {
				values[i] = steadyPath(values[i])
			}
		}
		path += "?" + query.Encode()
	}
	return strings.TrimSpace(service + " " + method + " /" + path + " " + n.key(body, ""))
}

// stepOf is the step of a run that a message belongs to.
func stepOf(e *engine.Event) string {
	switch s := e.Step; {
	case s == nil || s.Type == "Initial":
		return "start"
	case s.ID == 0:
		return "plan " + s.Name
	default:
		return "after " + s.Name
	}
}

func roleOf(m *engine.Message) string {
	switch m.Role {
	case engine.RoleCallback, engine.RoleFailureCallback, engine.RoleCall:
		return string(m.Role) + " "
	}
	return ""
}

// pathOf is the steady part of a destination: the path, and the host unless it is of this machine.
func pathOf(destination string) string {
	u, err := url.Parse(destination)
	if err != nil {
		return steadyPath(destination)
	}
	host := u.Hostname()
	if at, err := netip.ParseAddr(host); host == "localhost" || err == nil && at.IsLoopback() {
		host = ""
	}
	return host + steadyPath(u.Path)
}

// volatile matches values that differ between cases: UUIDs, generated ids, times, ports.
var volatile = regexp.MustCompile(`(?i)^(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?:msg|wfr|run|dlq|scd)_[\w-]+|\d{10,}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?|[0-9a-f]{20,}|https?://(?:127\.0\.0\.1|localhost)[:\d]*.*)$`)

// steadyPath replaces volatile segments by *.
func steadyPath(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if volatile.MatchString(s) {
			segments[i] = "*"
		}
	}
	return strings.Join(segments, "/")
}

// shortKey is the longest key that a name shows; a longer one is a hash.
const shortKey = 40

// key identifies a body: the configured members, else the deduplication id, else the steady
// members of a small JSON object, else a hash.
func (n *names) key(body []byte, dedupID string) string {
	var value any
	isJSON := json.Unmarshal(body, &value) == nil
	if isJSON {
		for _, pointer := range n.keys {
			if v, ok := at(value, pointer); ok {
				return fmt.Sprintf("{%s:%v}", strings.TrimPrefix(pointer, "/"), v)
			}
		}
	}
	switch {
	case dedupID != "":
		return "{" + dedupID + "}"
	case len(body) == 0:
		return ""
	case !isJSON:
		return shown(string(body))
	}
	return shown(brief(steady(value)))
}

// shown is a key as a name has it.
func shown(text string) string {
	if len(text) <= shortKey && !strings.ContainsAny(text, "\n>#@") {
		return "{" + strings.Trim(text, "{}") + "}"
	}
	return "{" + hash(text) + "}"
}

// hash is short; names of one case are few.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:3])
}

// steady removes the values that differ between cases from a JSON value.
func steady(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			out[name] = steady(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = steady(one)
		}
		return out
	case string:
		var nested any
		switch {
		case volatile.MatchString(v):
			return "*"
		case (strings.HasPrefix(v, "{") || strings.HasPrefix(v, "[")) && json.Unmarshal([]byte(v), &nested) == nil:
			return steady(nested)
		}
	case float64:
		if v >= 1e9 {
			return "*"
		}
	}
	return value
}

// brief writes a JSON value without quotes: order:1,total:20.
func brief(value any) string {
	object, ok := value.(map[string]any)
	if !ok {
		text, _ := json.Marshal(value) // it was decoded from JSON
		return strings.Trim(string(text), `"`)
	}
	parts := make([]string, 0, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		parts = append(parts, name+":"+brief(object[name]))
	}
	return strings.Join(parts, ",")
}

// at returns the member of a JSON value at a JSON pointer of plain names.
func at(value any, pointer string) (any, bool) {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = object[name]; !ok {
			return nil, false
		}
	}
	return value, true
}
