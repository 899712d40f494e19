package ui

import (
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// view is one view: what it asks for, and what one of its things asks for. Its
// templates are called as it is, and with .one behind it.
type view struct {
	name, title string
	key         string // behind g on the keyboard
	load        func(*visit) (any, error)
	one         func(*visit, string) (any, error)
}

// allViews in the order of the navigation; empty lines there are between groups.
var allViews []view

// The functions of the table look at the table, so it is made at the start.
func init() {
	allViews = []view{
		{"now", "Now", "n", nowView, nil},
		{"messages", "Messages", "m", messagesView, messageView},
		{"runs", "Runs", "r", runsView, runView},
		{"dlq", "DLQ", "d", dlqView, dlqEntry},
		{"flow", "Flow control", "f", flowKeys, nil},
		{"groups", "URL groups", "g", groupsView, nil},
		{"queues", "Queues", "q", queuesView, nil},
		{"schedules", "Schedules", "s", schedulesView, nil},
		{"statistics", "Statistics", "t", statisticsView, nil},
		{"indexes", "Search & vector", "i", indexesView, nil},
		{"limits", "Rate limits", "l", limitsView, nil},
		{"requests", "Requests", "a", requestsView, nil},
		{"stubs", "Stubs & faults", "b", stubsView, nil},
	}
}

// askView asks before a button does what cannot be undone. The navigation does
// not lead there.
var askView = view{name: "ask", title: "Confirm", one: confirmText}

func viewNamed(name string) *view {
	if name == askView.name {
		return &askView
	}
	for i := range allViews {
		if allViews[i].name == name {
			return &allViews[i]
		}
	}
	return nil
}

// overview is what the control API says of an account at a glance.
type overview struct {
	Account   string
	Clock     clock
	Real      int64 // Unix ms
	NextDue   int64 // Unix ms, 0 for never
	Messages  map[string]int
	Runs      map[string]int
	PerSecond float64
	InFlight  int
	Parallel  int
	DLQ       int
	FlowKeys  int
	Paused    int
	Groups    int
	Queues    int
	Schedules int
	Waiters   int
	Stubs     int
	Faults    int
}

type clock struct {
	Mode string
	Now  int64 // Unix ms
}

// access is what clients of the account need.
type access struct {
	ID            string
	URL           string
	Token         string
	HeaderPrefix  string // of configuration headers
	Env           []struct{ Name, Value string }
	VectorIndexes []string
}

// frame is what the layout shows around a view.
type frame struct {
	Name     string // of the view
	ID       string // of the thing that it shows, "" for a list
	Title    string
	Account  string
	Accounts []string
	Access   access
	Now      overview
	Said     *saying
	Fault    string // why there is nothing to see
	Data     any

	Body template.HTML // the view

	template string
	path     string // of the view, escaped
	query    url.Values
}

// Views are those of the navigation.
func (f *frame) Views() []navigation {
	counts := map[string]int{
		"dlq": f.Now.DLQ, "flow": f.Now.FlowKeys, "groups": f.Now.Groups, "queues": f.Now.Queues, "schedules": f.Now.Schedules,
		"runs": f.Now.Runs["RUN_STARTED"], "stubs": f.Now.Stubs + f.Now.Faults,
	}
	for _, state := range []string{"CREATED", "ACTIVE", "RETRY", "ERROR"} {
		counts["messages"] += f.Now.Messages[state]
	}
	list := make([]navigation, len(allViews))
	for i, v := range allViews {
		list[i] = navigation{v.title, f.Link(v.name), v.key, counts[v.name], v.name == f.Name}
	}
	return list
}

// navigation is a link to a view. Of messages and runs it counts those under way.
type navigation struct {
	Title, Link, Key string
	Count            int
	Here             bool
}

// Link is the address of a view, or of one of its things, in the same account;
// pairs are its query.
func (f *frame) Link(view string, pairs ...string) string {
	path := controlRoot + "ui/" + view
	if view == "now" {
		path = controlRoot
	}
	return path + f.search(pairs)
}

// Of is the address of one thing.
func (f *frame) Of(view, id string) string { return f.Link(view + "/" + url.PathEscape(id)) }

// Search is the query that names the account, where it must be named.
func (f *frame) Search() string { return f.search(nil) }

// Do is the address of a button.
func (f *frame) Do(action string) string { return f.Link("do/" + action) }

// search keeps the account that the address names, so that links stay within it;
// empty values are left out.
func (f *frame) search(pairs []string) string {
	query := url.Values{}
	if f.query.Get("account") != "" {
		query.Set("account", f.Account)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

// Here is the address of the view that is shown.
func (f *frame) Here() string {
	if len(f.query) == 0 {
		return f.path
	}
	return f.path + "?" + f.query.Encode()
}

// Bare is the address of the view without a query, for filters.
func (f *frame) Bare() string { return f.path }

// Switch is the address of the view for another account: of the list, since its
// things are those of this one.
func (f *frame) Switch() string {
	if f.Name == "now" {
		return controlRoot
	}
	return controlRoot + "ui/" + f.Name
}

// SomeAccounts are enough of them to choose from.
func (f *frame) SomeAccounts() []string { return f.Accounts[:min(len(f.Accounts), 200)] }

// Raw is the address of what the view shows in the control API.
func (f *frame) Raw(list string) string {
	return controlRoot + list + "/" + url.PathEscape(f.ID) + f.search(nil)
}

// Blank is a message that nobody has written yet.
func (f *frame) Blank() *publishForm { return &publishForm{} }

// More is the address of the view's next page.
func (f *frame) More(cursor any) string {
	query := url.Values{}
	maps.Copy(query, f.query)
	text, _ := cursor.(string)
	query.Set("cursor", text)
	return f.path + "?" + query.Encode()
}

// Asked is what the query says of a filter.
func (f *frame) Asked(name string) string { return f.query.Get(name) }

// Filtered reports whether the list is narrowed down.
func (f *frame) Filtered() bool {
	for name, values := range f.query {
		if name != "account" && len(values) > 0 && values[0] != "" {
			return true
		}
	}
	return false
}

// Manual reports whether the clock moves by hand.
func (f *frame) Manual() bool { return f.Now.Clock.Mode == "manual" }

// Time shows an instant of the account's clock in Unix ms, and how far it is from now.
func (f *frame) Time(ms any) template.HTML {
	return stampedTime(ms, f.Now.Clock.Now, "clock")
}

// Real shows an instant of the wall clock in Unix ms.
func (f *frame) Real(ms any) template.HTML { return stampedTime(ms, f.Now.Real, "real") }

// Clock shows an instant in Unix ms with its date, for the header. The page lets
// one of a clock that runs go on.
func (f *frame) Clock(ms int64, kind string) template.HTML {
	at := time.UnixMilli(ms).UTC()
	runs := ""
	if kind == "real" || f.Now.Clock.Mode == "real" {
		runs = fmt.Sprintf(` data-runs="%d"`, ms-f.Now.Real)
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s"%s>%s</time>`, //nolint:gosec // numbers and constants
		at.Format(instantForm), runs, at.Format("2 Jan 2006 15:04:05 UTC")))
}

// saying is what the page says of the last button.
type saying struct {
	Text string
	Bad  bool
}

const cookieName = "understudy-said"

// keepSaying keeps a text for the next view; a bad one begins with an exclamation mark.
func keepSaying(w http.ResponseWriter, text string, bad bool) {
	const most = 1000 // a cookie holds 4 KB, and escaping trebles
	text = clipText(text, most)
	if bad {
		text = "!" + text
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: url.QueryEscape(text), Path: controlRoot, HttpOnly: true, SameSite: http.SameSiteStrictMode}) //nolint:gosec // not Secure: it is served over http
}

// takeSaying takes the text that was kept. A view that only follows the account leaves
// it: the text stands outside of what is followed.
func takeSaying(w http.ResponseWriter, r *http.Request) *saying {
	kept, err := r.Cookie(cookieName)
	if err != nil || r.Header.Get("Follow") != "" {
		return nil
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: controlRoot, MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode}) //nolint:gosec // not Secure: it is served over http
	text, err := url.QueryUnescape(kept.Value)
	if err != nil || text == "" {
		return nil
	}
	plain, bad := strings.CutPrefix(text, "!")
	return &saying{plain, bad}
}
