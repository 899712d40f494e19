package query

import (
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/spec/api"
	"github.com/understudy-mock/understudy/spec/mask"
)

// Hit is where the first word of a query was found. It is empty for a query that has
// only filters.
type Hit struct {
	Place   string // such as body, url, label, or "header X-Order"
	Excerpt *api.Excerpt
}

// searchedPerPage is how much text the search of a page may look through, in bytes, for all
// lists together, and leastSearched what each item counts at least.
const (
	searchedPerPage = 256 << 20
	leastSearched   = 512
)

// BeginList allows a search to look through at least one item of the next list.
func (q *Query) BeginList() { q.begun = false }

// Match reports whether an item matches the words and filters of a query. Callers check
// the list, the state and the time: they select the items to read by them.
//
// again reports that the item must be matched again, on the next page: the items before it have
// used up the work for this one.
func (q *Query) Match(it *engine.SearchItem) (hit Hit, ok, again bool) {
	size := leastSearched + len(it.Body) + len(it.Result)
	for _, text := range it.Texts {
		size += len(text)
	}
	if q.begun && q.searched+size > searchedPerPage {
		return Hit{}, false, true
	}
	q.begun, q.searched = true, q.searched+size
	hit, ok = q.match(it)
	return hit, ok, false
}

func (q *Query) match(it *engine.SearchItem) (hit Hit, ok bool) {
	for _, tests := range q.filters {
		if !slices.ContainsFunc(tests, func(fits test) bool { return fits(it) }) {
			return Hit{}, false
		}
	}
	for i := range q.words {
		found, ok := q.words[i].find(it)
		if !ok {
			return Hit{}, false
		}
		if i == 0 {
			hit = found
		}
	}
	return hit, true
}

// textField is a text of an item that is searched for words.
type textField struct {
	place string
	of    func(*engine.SearchItem) string
	shown func(string) string // masks the credentials; nil: there are none
}

// textFields are the short texts of an item, the most specific first.
var textFields = append(slices.Clone(ownFields), []textField{
	{"messageId", func(it *engine.SearchItem) string { return it.ID }, nil},
	{"workflowRunId", func(it *engine.SearchItem) string { return it.RunID }, nil},
	{"dlqId", func(it *engine.SearchItem) string { return it.DLQID }, nil},
	{"sourceMessageId", func(it *engine.SearchItem) string { return it.SourceID }, nil},
	{"url", func(it *engine.SearchItem) string { return it.URL }, mask.URL},
	{"flow-control key", func(it *engine.SearchItem) string { return it.FlowKey }, nil},
	{"URL group", func(it *engine.SearchItem) string { return it.Group }, nil},
	{"queue", func(it *engine.SearchItem) string { return it.Queue }, nil},
	{"schedule", func(it *engine.SearchItem) string { return it.Schedule }, nil},
}...)

// ownFields are the fields of a log event that its message or run does not have.
var ownFields = []textField{
	{"step", func(it *engine.SearchItem) string { return it.Step }, nil},
	{"step", func(it *engine.SearchItem) string { return it.Tried }, nil},
	{"error", func(it *engine.SearchItem) string { return it.Error }, mask.Text},
}

// find looks for a word in all fields of an item.
func (w word) find(it *engine.SearchItem) (Hit, bool) {
	if hit, ok := w.findBodies(it); ok {
		return hit, true
	}
	fields := textFields
	if it.List == "log" { // the other fields are those of its message or run, which is found itself
		fields = ownFields
	}
	for i := range fields {
		f := &fields[i]
		text := f.of(it)
		if text == "" { // most fields of most items
			continue
		}
		if hit, ok := findIn(w, f.place, text, f.shown); ok {
			return hit, true
		}
	}
	if it.List != "log" {
		for _, label := range it.Labels {
			if hit, ok := findIn(w, "label", label, nil); ok {
				return hit, true
			}
		}
	}
	for _, step := range it.Steps {
		if hit, ok := findIn(w, "step", step, nil); ok {
			return hit, true
		}
	}
	if it.List == "log" {
		return Hit{}, false
	}
	return w.findHeader(it)
}

// findBodies looks for the word in bodies, and in the texts of a run.
func (w word) findBodies(it *engine.SearchItem) (Hit, bool) {
	if hit, ok := findIn(w, "body", it.Body, maskJSON); ok {
		return hit, true
	}
	if hit, ok := findIn(w, "answer", it.Result, maskJSON); ok {
		return hit, true
	}
	for _, text := range it.Texts {
		if hit, ok := findIn(w, "step result", text, maskJSON); ok {
			return hit, true
		}
	}
	return Hit{}, false
}

func maskJSON(text string) string { return string(mask.JSON([]byte(text))) }

// findHeader looks for the word in the values of all headers. It looks through the names and
// values of a header as one text first, which nearly always is enough.
func (w word) findHeader(it *engine.SearchItem) (Hit, bool) {
	_, kept := index(w, it.Header)
	_, sent := index(w, it.Forward)
	if kept+sent+len(it.Other) == 0 {
		return Hit{}, false
	}
	for key, value := range it.Headers() {
		if hit, ok := w.findField(key, value, ""); ok {
			return hit, true
		}
	}
	return Hit{}, false
}

// findField looks for the word in the value of a header, unless it must have another name.
func (w word) findField(key, value, name string) (Hit, bool) {
	if name != "" && !strings.EqualFold(name, key) {
		return Hit{}, false
	}
	return findIn(w, "header "+key, value, func(value string) string { return mask.Header(http.Header{key: {value}})[key][0] })
}

// textFilter matches items in which find finds the value.
func textFilter(find func(word, *engine.SearchItem) bool) func(Reader, string) (test, error) {
	return func(_ Reader, value string) (test, error) {
		w := newWord(value)
		return func(it *engine.SearchItem) bool { return find(w, it) }, nil
	}
}

func bodyFields(w word, it *engine.SearchItem) bool {
	_, ok := w.findBodies(it)
	return ok
}

func errorFields(w word, it *engine.SearchItem) bool {
	_, ok := findIn(w, "", it.Error, mask.Text)
	return ok
}

func urlFields(w word, it *engine.SearchItem) bool {
	_, ok := findIn(w, "", it.URL, mask.URL)
	return ok
}

// pathField searches the path of the URL, without the query.
func pathField(w word, it *engine.SearchItem) bool {
	at, _ := index(w, pathOf(it.URL))
	return at >= 0
}

// pathOf is the path of a URL; "/" if it has none.
func pathOf(address string) string {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		rest = address
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return "/"
}

// hostOf is the host of a URL without its port.
func hostOf(it *engine.SearchItem) string {
	u, err := url.Parse(it.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// sameName compares names regardless of case; * in want matches any text.
func sameName(want, have string) bool {
	if !strings.Contains(want, "*") {
		return strings.EqualFold(want, have)
	}
	return Like(strings.ToLower(want), strings.ToLower(have))
}

// Like compares texts, in which case matters; * in want matches any text.
func Like(want, have string) bool {
	parts := strings.Split(want, "*")
	if len(parts) == 1 {
		return want == have
	}
	rest, ok := strings.CutPrefix(have, parts[0])
	if !ok || !strings.HasSuffix(rest, parts[len(parts)-1]) {
		return false
	}
	rest = rest[:len(rest)-len(parts[len(parts)-1])]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}

// nameFilter matches a whole name; the value may contain * as a wildcard.
func nameFilter(of func(*engine.SearchItem) string) func(Reader, string) (test, error) {
	return func(_ Reader, value string) (test, error) {
		return func(it *engine.SearchItem) bool {
			have := of(it)
			return have != "" && sameName(value, have)
		}, nil
	}
}

// listFilter is nameFilter for a list of names: one of them must match.
func listFilter(of func(*engine.SearchItem) []string) func(Reader, string) (test, error) {
	return func(_ Reader, value string) (test, error) {
		return func(it *engine.SearchItem) bool {
			return slices.ContainsFunc(of(it), func(have string) bool { return have != "" && sameName(value, have) })
		}, nil
	}
}

func stepNames(it *engine.SearchItem) []string {
	if len(it.Steps) == 0 && it.Step == "" && it.Tried == "" {
		return nil
	}
	return append([]string{it.Step, it.Tried}, it.Steps...)
}

// idFilter matches ids that start with the value.
func idFilter(of func(*engine.SearchItem) []string) func(Reader, string) (test, error) {
	return func(_ Reader, value string) (test, error) {
		return func(it *engine.SearchItem) bool {
			return slices.ContainsFunc(of(it), func(id string) bool {
				return len(id) >= len(value) && strings.EqualFold(id[:len(value)], value)
			})
		}, nil
	}
}

// readHeader reads a header filter: NAME=TEXT, a name, or a text in any value.
func readHeader(r Reader, value string) (test, error) {
	neutral := r.HeaderName
	if neutral == nil {
		neutral = func(name string) string { return name }
	}
	name, text, both := strings.Cut(value, "=")
	w, whole, only := newWord(value), neutral(value), ""
	if both {
		w, only = newWord(text), neutral(name)
	}
	return func(it *engine.SearchItem) bool {
		for key, v := range it.Headers() {
			if !both && strings.EqualFold(key, whole) {
				return true
			}
			if _, ok := w.findField(key, v, only); ok {
				return true
			}
		}
		return false
	}, nil
}

// stateNames maps the names that a filter accepts to states: the states of messages and
// runs, the words that people see for them, and words such as failed that cover states of both.
var stateNames = map[string][]string{
	"active": {"ACTIVE"}, "attempt_failed": {"ERROR"}, "cancel_requested": {"CANCEL_REQUESTED"}, "canceled": {"CANCELED", "RUN_CANCELED"}, "canceling": {"CANCEL_REQUESTED"},
	"cancelled": {"CANCELED", "RUN_CANCELED"}, "created": {"CREATED"}, "delivered": {"DELIVERED"}, "error": {"ERROR"}, "failed": {"FAILED", "RUN_FAILED"}, "in_flight": {"ACTIVE"},
	"in_progress": {"ACTIVE", "RETRY", "ERROR", "RUN_STARTED"}, "invoked": {"INVOKED"}, "retry": {"RETRY"}, "retrying": {"RETRY"}, "run_canceled": {"RUN_CANCELED"}, "run_failed": {"RUN_FAILED"},
	"run_started": {"RUN_STARTED"}, "run_success": {"RUN_SUCCESS"}, "running": {"RUN_STARTED"}, "started": {"RUN_STARTED"}, "succeeded": {"RUN_SUCCESS"}, "success": {"DELIVERED", "RUN_SUCCESS"},
	"waiter_added": {"WAITER_ADDED"}, "waiting": {"CREATED"}, "waiting_for_event": {"WAITER_ADDED"},
}

// addState adds the states that a name stands for.
func (q *Query) addState(value string) error {
	states, ok := stateNames[strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(value))]
	if !ok {
		return refusal.OfValue("q", "state:"+value, "", "one of "+strings.Join(slices.Sorted(maps.Keys(stateNames)), ", "))
	}
	q.States = append(q.States, states...)
	return nil
}

// readStatus reads a status or a class such as 5xx.
func readStatus(_ Reader, value string) (test, error) {
	const least, most = 100, 599
	if ok, _ := path.Match("[1-5]xx", strings.ToLower(value)); ok {
		class := int(value[0] - '0')
		return func(it *engine.SearchItem) bool { return it.Status/100 == class }, nil
	}
	status, err := strconv.Atoi(value)
	if err != nil || status < least || status > most {
		return nil, refusal.OfValue("q", "status:"+value, "", "a status from 100 to 599, or a class such as 5xx")
	}
	return func(it *engine.SearchItem) bool { return it.Status == status }, nil
}
