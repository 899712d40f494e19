package ui

import (
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/spec/api"
)

// view is one view: load loads its data, one loads the data of one of its entries. Its
// templates are name and name.one.
type view struct {
	name, title string
	key         string // key to press after g; "" for views that are not in the navigation
	group       string // heading above it in the navigation, if it is the first of its group
	load        func(*visit) (any, error)
	one         func(*visit, string) (any, error)
}

// allViews are the views in the order of the navigation.
var allViews []view

// The table is set in init because its functions refer to it.
func init() {
	allViews = []view{
		{"now", "Now", "n", "", nowView, nil},
		{"messages", "Messages", "m", "", messagesView, messageView},
		{"runs", "Runs", "r", "", runsView, runView},
		{"dlq", "DLQ", "d", "", dlqView, dlqEntry},
		{"flow", "Flow control", "f", "Control", flowKeys, nil},
		{"queues", "Queues", "q", "", queuesView, nil},
		{"groups", "URL groups", "g", "", groupsView, nil},
		{"schedules", "Schedules", "s", "", schedulesView, nil},
		{"limits", "Rate limits", "l", "", document("limits"), nil},
		{"stubs", "Stubs & faults", "b", "Simulate", stubsView, nil},
		{"requests", "Requests", "a", "Look back", requestsView, nil},
		{"history", "History", "h", "", historyView, nil},
		{"statistics", "Statistics", "t", "", statisticsView, nil},
		{"indexes", "Search & vector", "i", "", indexesView, nil},
		{"fleet", "Fleet", "e", "", document("fleet"), nil}, // the navigation has it only in a fleet
		{"search", "Search", "", "", searchResults, nil},
		{"ask", "Confirm", "", "", nil, confirmText},
		{"body", "Body", "", "", nil, bodyText},
		{"compare", "Compare", "", "", nil, comparedThings},
	}
}

// document returns a function that loads a document of the control API.
func document(path string) func(*visit) (any, error) {
	return func(v *visit) (any, error) {
		var d doc
		err := v.get(&d, path, nil)
		return d, err
	}
}

func viewNamed(name string) *view {
	for i := range allViews {
		if allViews[i].name == name {
			return &allViews[i]
		}
	}
	return nil
}

// frame is the data of the layout around a view.
type frame struct {
	Name     string // of the view
	ID       string // of the entry; "" for a list
	Title    string
	Account  string
	Accounts []string
	Fleet    bool // the server belongs to a fleet
	Access   api.Account
	Now      api.Overview
	Said     *saying
	Fault    string // error that replaces the view
	Status   int
	Settings bool // the browser has settings that affect the look, see theme.js
	Data     any
	List     any // the data of the list next to an entry

	Body  template.HTML // the view
	Aside template.HTML // the list next to it; "": none

	Path  string // of the view, escaped
	Query url.Values

	template string
}

// Views returns the links of the navigation.
func (f *frame) Views() []navigation {
	counts := map[string]int{
		"dlq": f.Now.DLQ, "flow": f.Now.FlowKeys, "groups": f.Now.Groups, "queues": f.Now.Queues, "schedules": f.Now.Schedules,
		"runs": f.Now.Runs["RUN_STARTED"], "stubs": f.Now.Stubs + f.Now.Faults,
	}
	for _, state := range []string{"CREATED", "ACTIVE", "RETRY", "ERROR"} {
		counts["messages"] += f.Now.Messages[state]
	}
	var list []navigation
	for _, v := range allViews {
		if v.key == "" || v.name == "history" && !f.Now.Journal || v.name == "fleet" && !f.Fleet {
			continue
		}
		list = append(list, navigation{v.name, v.title, f.Link(v.name), v.key, v.group, counts[v.name], v.name == f.Name})
	}
	return list
}

// navigation is a link to a view. For messages and runs, Count has only those in progress.
type navigation struct {
	Name, Title, Link, Key, Group string
	Count                         int
	Here                          bool
}

// Place is the view of an entry, for the path above it; nil for other pages.
func (f *frame) Place() *navigation {
	if at := viewNamed(f.Name); f.ID != "" && at != nil && at.load != nil {
		return &navigation{Title: at.title, Link: f.Back()}
	}
	return nil
}

// Headline is the name of the entry, or its id.
func (f *frame) Headline() string {
	if named, ok := f.Data.(interface{ Headline() string }); ok {
		return named.Headline()
	}
	return f.ID
}

// viewPath is the path of a view, or of an entry.
func viewPath(name string) string {
	if name == "now" {
		return controlRoot
	}
	return controlRoot + "ui/" + name
}

// Link is the address of a view or an entry in the same account; pairs are names and
// values of its query.
func (f *frame) Link(view string, pairs ...string) string {
	return viewPath(view) + f.search(pairs)
}

// Of is the address of an entry.
func (f *frame) Of(view, id string, pairs ...string) string {
	return f.Link(view+"/"+url.PathEscape(id), pairs...)
}

// Only is the address of a list of some messages.
func (f *frame) Only(rows []doc) string {
	var ids []string
	for _, row := range rows {
		ids = append(ids, text(row["messageId"]))
	}
	return f.Link("messages", "messageId", strings.Join(ids, ","))
}

// Search is the query with the account, if the current address names one; else "".
func (f *frame) Search() string { return f.search(nil) }

// Do is the address of the action of a button.
func (f *frame) Do(action string) string { return f.Link("do/" + action) }

// search builds a query. It keeps the account of the current address, and omits empty
// values.
func (f *frame) search(pairs []string) string {
	query := url.Values{}
	if f.Query.Get("account") != "" {
		query.Set("account", f.Account)
	}
	return address("", query, pairs...)
}

// address is a path with a query, which pairs of names and values change; an empty value
// removes the name.
func address(path string, query url.Values, pairs ...string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if query.Del(pairs[i]); pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// Here is the address of the current view.
func (f *frame) Here() string { return address(f.Path, f.Query) }

// Switch is the address for a change of the account: the list of the view, because its
// entries belong to this account.
func (f *frame) Switch() string { return viewPath(f.Name) }

// Raw is the address of the entry in the control API.
func (f *frame) Raw() string {
	return controlRoot + f.Name + "/" + url.PathEscape(f.ID) + f.Search()
}

// With is the address of the view with a changed query.
func (f *frame) With(pairs ...string) string { return address(f.Path, maps.Clone(f.Query), pairs...) }

// Asked is the value of a filter in the query.
func (f *frame) Asked(name string) string { return f.Query.Get(name) }

// Filtered reports whether the list has filters.
func (f *frame) Filtered() bool {
	for name := range f.Query {
		if name != "account" && name != "sort" && f.Query.Get(name) != "" {
			return true
		}
	}
	return false
}

// Manual reports whether the account has a manual clock.
func (f *frame) Manual() bool { return f.Now.Clock.Mode == "manual" }

// Time shows a time on the account's clock, in Unix ms, and its distance from now.
func (f *frame) Time(ms any) template.HTML {
	return stampedTime(ms, f.Now.Clock.Now, "clock", false)
}

// Away shows only the distance from now of a time on the account's clock; the time is in
// the title attribute.
func (f *frame) Away(ms any) template.HTML {
	return stampedTime(ms, f.Now.Clock.Now, "clock", true)
}

// Real shows a time on the wall clock, in Unix ms.
func (f *frame) Real(ms any) template.HTML { return stampedTime(ms, f.Now.Real, "real", false) }

// Clock shows a time in Unix ms without the current year, for the header. The script updates
// it for a clock that runs.
func (f *frame) Clock(ms int64, kind string) template.HTML {
	at := time.UnixMilli(ms).UTC()
	form, runs := "2 Jan 15:04:05", ""
	if at.Year() != time.UnixMilli(f.Now.Real).UTC().Year() {
		form = "2 Jan 2006 15:04:05"
	}
	if kind == "real" || f.Now.Clock.Mode == "real" {
		runs = fmt.Sprintf(` data-runs="%d"`, ms-f.Now.Real)
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s" data-face%s>%s</time>`, //nolint:gosec // numbers and constants
		at.Format(instantForm), at.Format(clockForm), runs, at.Format(form)))
}

// saying is the message after the action of a button.
type saying struct {
	Text  string
	Bad   bool
	Undo  string // id of the undo point; "": none
	Label string // of the undo point
	Scope string
	From  string // of a move of the clock: the times before and after it
	To    string
}

// cookieName is the name of the cookie with the message. It has the port, because browsers
// send a cookie to all ports of a host: another server must not show the message.
func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		port = "default"
	}
	return "understudy-said-" + port
}

// keepSaying stores the message for the next view in a cookie.
func keepSaying(w http.ResponseWriter, r *http.Request, said saying) {
	const most = 1000 // a cookie has at most 4 KB, and escaping may triple the size
	if said.Text = clip.Text(said.Text, most); said.Text == "" {
		return
	}
	text, err := json.Marshal(said)
	if err != nil {
		return // texts always encode
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: url.QueryEscape(string(text)), Path: controlRoot, HttpOnly: true, SameSite: http.SameSiteStrictMode}) //nolint:gosec // not Secure: it is served over http
}

// takeSaying reads the message and deletes its cookie. Updates of a view do not take it,
// because the message is outside the part that they replace.
func takeSaying(w http.ResponseWriter, r *http.Request) *saying {
	kept, err := r.Cookie(cookieName(r))
	if err != nil || r.Header.Get("Follow") != "" {
		return nil
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Path: controlRoot, MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode}) //nolint:gosec // not Secure: it is served over http
	text, err := url.QueryUnescape(kept.Value)
	var said saying
	if err != nil || json.Unmarshal([]byte(text), &said) != nil || said.Text == "" {
		return nil
	}
	return &said
}
