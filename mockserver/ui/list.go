package ui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/spec/api"
	"github.com/understudy-mock/understudy/spec/mask"
	"github.com/understudy-mock/understudy/spec/route"
)

func dlqView(v *visit) (any, error) {
	d, query, err := v.list("dlq")
	if err != nil {
		return nil, err
	}
	if v.query.Get("sort") == "" {
		d["groups"] = failures(d, v.frame())
	}
	query.Del("source")
	d["counts"], err = v.tally("dlq", query)
	return d, err
}

// kept is a DLQ entry, and the reasons for it.
type kept struct {
	Entry   doc
	Reasons []doc
	Failure doc
	Lineage []doc
}

// Headline is the path of its destination.
func (k *kept) Headline() string { return pathOf(k.Entry["url"]) }

// dlqEntry combines the entry of the interface with the explanation of the control API.
func dlqEntry(v *visit, id string) (any, error) {
	var e kept
	if err := v.get(&e.Entry, v.as(route.GetDLQMessage, id), nil); err != nil {
		return nil, err
	}
	if label, _ := e.Entry["label"].(string); label != "" {
		e.Entry["labels"] = []string{label}
	}
	return &e, v.get(&e, "explain/"+url.PathEscape(id), nil)
}

// flowKeys loads the flow-control keys and the global parallelism of the account.
func flowKeys(v *visit) (any, error) {
	var d, whole doc
	if name := v.query.Get("flowControlKey"); name != "" { // of a link in an answer, where key would be masked
		v.query.Set("key", name)
	}
	if err := v.get(&d, "flow", url.Values{"key": {strings.TrimSpace(v.query.Get("key"))}}); err != nil {
		return nil, err
	}
	err := v.get(&whole, v.as(route.GetGlobalParallelism), nil)
	d["together"] = whole
	return d, err
}

// groupsView counts the messages of each group.
func groupsView(v *visit) (any, error) {
	var list []doc
	err := v.get(&list, v.as(route.ListURLGroups), nil)
	for _, group := range list {
		if err == nil {
			group["sent"], err = v.tally("messages", url.Values{"topicName": {text(group["name"])}})
		}
	}
	return list, err
}

func queuesView(v *visit) (any, error) {
	var list []doc
	err := v.get(&list, v.as(route.ListQueues), nil)
	return list, err
}

// putQueue creates a queue or sets its parallelism.
func putQueue(v *visit, f form) error {
	n, err := strconv.Atoi(cmp.Or(f.Get("parallelism"), "1"))
	if err != nil {
		return fmt.Errorf("parallelism: invalid value %q: must be an integer from 1", f.Get("parallelism"))
	}
	return v.do(nil, request{method: http.MethodPost, path: v.as(route.UpsertQueue), body: doc{"queueName": f.Get("name"), "parallelism": n}})
}

// schedule is a schedule with its next times.
type schedule struct{ api.ScheduleRow }

// nextShown is how many of the next times are shown.
const nextShown = 3

// Next returns the next times, with their texts in the zone of the schedule.
func (s *schedule) Next() (list []zonedTime) {
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		zone = time.UTC
	}
	for _, ms := range s.NextTimes[:min(len(s.NextTimes), nextShown)] {
		list = append(list, zonedTime{ms, time.UnixMilli(ms).In(zone).Format("Mon 2 Jan 2006 15:04 MST")})
	}
	return list
}

// zonedTime is a time, and its text in a time zone.
type zonedTime struct {
	At    int64 // Unix ms
	There string
}

func schedulesView(v *visit) (any, error) {
	var d struct{ Schedules []schedule }
	err := v.get(&d, "schedules", nil)
	return d.Schedules, err
}

// runSchedule publishes now, and redirects to the message, or to the messages of the schedule.
func runSchedule(v *visit, f form) error {
	if f.Get("id") == "" {
		return fmt.Errorf("id is missing")
	}
	var run struct{ MessageIDs []string }
	if err := v.do(&run, request{method: http.MethodPost, path: "schedules/" + url.PathEscape(f.Get("id")) + "/run"}); err != nil {
		return err
	}
	at := v.frame()
	f.Set("then", at.Link("messages", "scheduleId", f.Get("id")))
	if len(run.MessageIDs) == 1 {
		f.Set("then", at.Of("messages", run.MessageIDs[0]))
	}
	return nil
}

// putSchedule creates or replaces a schedule. It sends the query of the destination as the
// query of the call, because it would be escaped in the path.
func putSchedule(v *visit, f form) error {
	options := http.Header{"Cron": {f.Get("cron")}}
	if id := f.Get("id"); id != "" {
		options.Set("Schedule-Id", id)
	}
	h, err := v.configuration(options)
	if err != nil {
		return err
	}
	destination, query, _ := strings.Cut(strings.TrimSpace(f.Get("destination")), "?")
	return v.do(nil, request{method: http.MethodPost, path: v.as(route.CreateSchedule, destination), raw: query, header: h, body: []byte(f.Get("body"))})
}

func indexesView(v *visit) (any, error) {
	var search []doc
	if err := v.get(&search, v.as(route.ListSearchIndexes), nil); err != nil {
		return nil, err
	}
	vectors := []doc{}
	for _, name := range v.access.VectorIndexes {
		var answer struct{ Result doc }
		if err := v.get(&answer, v.index(name, route.GetVectorInfo), nil); err != nil {
			return nil, err
		}
		answer.Result["name"] = name
		vectors = append(vectors, answer.Result)
	}
	return doc{"search": search, "vectors": vectors}, nil
}

// called is a request in the journal.
type called struct{ api.Exchange }

// Warnings returns the warnings of the answer, such as for an unknown option.
func (c *called) Warnings() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(c.Response.Headers)) {
		if strings.HasSuffix(name, "-Warning") {
			list = append(list, c.Response.Headers[name]...)
		}
	}
	return list
}

// Help is the address of the documentation that explains the error or the
// warning of the answer; "" when there is none.
func (c *called) Help() string {
	for _, link := range c.Response.Headers["Link"] {
		if to, ok := strings.CutSuffix(link, `>; rel="help"`); ok && strings.HasPrefix(to, "<"+controlRoot+"docs/") {
			return to[1:]
		}
	}
	return ""
}

// requestsView loads the latest refused requests and the latest others.
func requestsView(v *visit) (any, error) {
	query := url.Values{"limit": {rowsShown}, "maxBody": {mostBody}}
	for _, name := range []string{"operationId", "status", "path"} {
		if value := strings.TrimSpace(v.query.Get(name)); value != "" {
			query.Set(name, value)
		}
	}
	out := doc{}
	for name, refused := range map[string]string{"refused": "true", "fine": "false"} {
		var journal struct {
			Dropped, Older int
			Entries        []called
		}
		query.Set("refused", refused)
		if err := v.get(&journal, "requests", query); err != nil {
			return nil, err
		}
		slices.Reverse(journal.Entries)
		out[name] = journal
	}
	return out, nil
}

// stubsView masks credentials itself: the control API returns stubs, faults and rewrites
// unmasked, so that clients can write them back.
func stubsView(v *visit) (any, error) {
	d := doc{}
	for _, name := range []string{"stubs", "faults"} {
		var list []json.RawMessage
		if err := v.get(&list, name, nil); err != nil {
			return nil, err
		}
		for i := range list {
			list[i] = mask.JSON(list[i])
		}
		d[name] = list
	}
	var rewrites map[string]string
	err := v.get(&rewrites, "rewrites", nil)
	shown := map[string]string{}
	for from, to := range rewrites {
		shown[mask.URL(from)] = mask.URL(to)
	}
	d["rewrites"] = shown
	return d, err
}

// changed replaces a list of rules by the result of change.
func (v *visit) changed(list string, change func([]json.RawMessage) ([]json.RawMessage, error)) error {
	var rules []json.RawMessage
	if err := v.get(&rules, list, nil); err != nil {
		return err
	}
	rules, err := change(rules)
	if err != nil {
		return err
	}
	if rules == nil {
		rules = []json.RawMessage{}
	}
	return v.do(nil, request{method: http.MethodPut, path: list, body: rules})
}

// withRule returns a button that changes its rule in a list; nil removes it. It fails if the rule has
// changed meanwhile.
func withRule(list string, change func(json.RawMessage, form) (json.RawMessage, error)) func(*visit, form) error {
	return func(v *visit, f form) error {
		return v.changed(list, func(rules []json.RawMessage) ([]json.RawMessage, error) {
			i := slices.IndexFunc(rules, func(rule json.RawMessage) bool { return string(mask.JSON(rule)) == f.Get("rule") }) // the page shows masked rules
			if i < 0 {
				return nil, fmt.Errorf("that rule is no longer there")
			}
			rule, err := change(rules[i], f)
			if rule == nil {
				return slices.Delete(rules, i, i+1), err
			}
			rules[i] = rule
			return rules, err
		})
	}
}

func removed(json.RawMessage, form) (json.RawMessage, error) { return nil, nil }

// rule makes a rule, or a part of it, from the fields of a form: its numbers, its flags, and texts.
func (f form) rule(names ...string) (doc, error) {
	out := doc{}
	for _, name := range names {
		v := f.Get(name)
		switch name {
		case "times", "probability", "status":
			n, err := strconv.ParseFloat(v, 64)
			if err != nil && v != "" {
				return nil, fmt.Errorf("%s: invalid value %q: must be a number", name, v)
			}
			out[name] = n
		case "drop", "duplicate", "reorder", "perMessage":
			out[name] = true
		default:
			out[name] = v
		}
		if v == "" {
			delete(out, name)
		}
	}
	return out, nil
}

// adding adds a rule before all others.
func (v *visit) adding(list string, rule doc) error {
	text, err := json.Marshal(rule)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return v.changed(list, func(rules []json.RawMessage) ([]json.RawMessage, error) {
		return append([]json.RawMessage{text}, rules...), nil
	})
}

func addStub(v *visit, f form) error {
	stub, err := f.rule("url", "method", "perMessage")
	if err != nil {
		return err
	}
	var answers []doc
	for status := range strings.FieldsFuncSeq(cmp.Or(f.Get("status"), "200"), func(r rune) bool { return r == ' ' || r == ',' }) {
		answer, err := f.rule("body", "delay")
		if err != nil {
			return err
		}
		if _, err := strconv.Atoi(status); err != nil {
			answer = doc{"fail": status}
		} else {
			answer["status"] = json.Number(status)
		}
		answers = append(answers, answer)
	}
	stub["answers"] = answers
	return v.adding("stubs", stub)
}

// addFault reads only the fields for the chosen kind of fault: the API refuses others.
func addFault(v *visit, f form) error {
	names := []string{"url", "duplicate", "reorder"}
	if f.Get("on") == "api" {
		names = []string{"preset", "operation", "body", "status"}
	}
	fault, err := f.rule(append(names, "on", "delay", "times", "probability", "drop")...)
	if err != nil {
		return err
	}
	return v.adding("faults", fault)
}

func addRewrite(v *visit, f form) error {
	return v.rewrite(func(m map[string]string) { m[f.Get("from")] = f.Get("to") })
}

func removeRewrite(v *visit, f form) error {
	return v.rewrite(func(m map[string]string) {
		maps.DeleteFunc(m, func(from, _ string) bool { return mask.URL(from) == f.Get("from") }) // the page shows masked URLs
	})
}

// rewrite reads and replaces all rewrites, because the control API has no other change.
// Concurrent changes may be lost.
func (v *visit) rewrite(change func(map[string]string)) error {
	m := map[string]string{}
	if err := v.get(&m, "rewrites", nil); err != nil {
		return err
	}
	change(m)
	return v.do(nil, request{method: http.MethodPut, path: "rewrites", body: m})
}
