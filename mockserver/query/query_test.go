package query_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/query"
)

// published has the headers of the message.
var published = func() (r engine.PublishRequest) {
	r.Keep(engine.Header{"X-Order": {"A-1", "A-4711"}, "Authorization": {"Bearer HIDDEN2"}, "X-Other": {"12"}}, []string{"X-Order", "Authorization", "X-Other"})
	return r
}()

// order is a message with a value for most searchable fields.
var order = engine.SearchItem{
	List: "message", State: "FAILED", ID: "msg_01ABC", RunID: "wfr_77", SourceID: "msg_00SRC", URL: "https://app.test/api/orders?next=/home&api_key=HIDDEN1",
	Method: "PUT", Group: "g-1", Queue: "slow", Schedule: "scd_9", FlowKey: "customer-1", Labels: []string{"shop", "EU"}, Step: "charge card",
	Header: published.Header,
	Body:   []byte(`{"name":"Ann Müller","escaped":"J\u00fcrgen \u0026 Co","note":"say \"hi\"","password":"HIDDEN3"}`),
	Result: []byte("Out of stock"), Status: 503, Error: "connection refused by HIDDEN4.test?token=HIDDEN4",
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"müller": true, "MÜLLER": true, "ann": true, "jürgen": false, `"& co"`: false, `"say \"hi\""`: false, `"say \\\"hi"`: true, `J\u00FCrgen`: true, "müllers": false,
		`"ann müller"`: true, `"müller ann"`: false, "ann zoe": false, "ann STOCK": true, "01abc": true, "wfr_77": true, "orders": true, "shop": true, "customer-1": true,
		"a-4711": true, "charge": true, "refused": true, "https://app.test/api": true, `{"name":"Ann`: true,
		"HIDDEN1": false, "HIDDEN2": false, "HIDDEN3": false, "token=HIDDEN4": false, "header:HIDDEN2": false, "body:HIDDEN3": false, "url:HIDDEN1": false, "error:token=HIDDEN4": false,
		"path:/orders": true, "path:/home": false, "path:/api/orders": true, "host:app.test": true, "host:*.test": true, "host:test": false, "url:home": true,
		"label:shop": true, "label:eu": true, "label:sho": false, "label:sh*": true, "label:a,shop": true, "label:a label:shop": true, "label:a": false, `label:"a,shop"`: false,
		"method:put": true, "queue:slow": true, "group:g-1": true, "schedule:scd_9": true, "flow:customer-*": true, "flow:c*1": true, "flow:c*2": false, "step:\"charge card\"": true,
		"id:msg_01": true, "id:wfr_77": true, "id:msg_00": true, "id:01ABC": false, "run:wfr_": true, "run:msg": false,
		"header:x-order": true, "header:x-order=4711": true, "header:x-order=12": false, "header:x-other=12": true, "x-order": false, "1X-Other": false, "header:4711": true, "header:authorization": true,
		"body:stock": true, "body:orders": false, "status:503": true, "status:5xx": true, "status:4xx,5XX": true, "status:404": false, "error:refused": true,
		"LABEL:shop": true, `"-label:shop"`: false, "-x:y": false, "since:2h until:1h": true,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			q, err := query.Parse(line, query.Reader{})
			if !expect.Nil(t, "error", err) {
				return
			}
			item := order
			_, got, _ := q.Match(&item)
			expect.Equal(t, "match", got, want)
		})
	}
}

func TestEventsAreFoundByWhatTheyDoNotShare(t *testing.T) {
	t.Parallel()
	event := order
	event.List, event.Header, event.Other = "log", "", engine.Header{"X-Order": {"A-4711"}}
	for line, want := range map[string]bool{"stock": true, "refused": true, "charge": true, "orders": false, "shop": false, "url:orders": true, "label:shop": true, "id:msg_01ABC": true, "header:x-order=4711": true} {
		q, err := query.Parse(line, query.Reader{})
		expect.Nil(t, "error", err)
		_, got, _ := q.Match(&event)
		expect.Equal(t, "match of "+line, got, want)
	}
}

// A search reads no other spelling of a text: neither base64, nor gzip, nor the escapes of JSON.
func TestNothingIsDecoded(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"base64":         `{"eventData":"bmVlZGxlIGluIGl0"}`,
		"base64 alone":   "bmVlZGxlIGluIGl0",
		"escapes":        `{"name":"n\u0065\u0065dle"}`,
		"base64 of gzip": "H4sIAAAAAAAA/8tLTU3JSQUAfBxAWgYAAAA=",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, line := range []string{"needle", "body:needle"} {
				q, err := query.Parse(line, query.Reader{})
				if !expect.Nil(t, "error", err) {
					return
				}
				_, found, _ := q.Match(&engine.SearchItem{List: "message", Body: []byte(body), Result: []byte(body), Texts: []string{body}})
				expect.Equal(t, "found by "+line, found, false)
			}
		})
	}
}

// A page of a search looks through at most 256 MiB, and at least one item of each list.
func TestSearchedPerPage(t *testing.T) {
	t.Parallel()
	q, err := query.Parse("missing", query.Reader{})
	expect.NoError(t, err)
	it := engine.SearchItem{List: "message", Body: bytes.Repeat([]byte("."), 16<<20)}
	searched := func() (n int) {
		q.BeginList()
		for ; n < 100; n++ {
			if _, _, again := q.Match(&it); again {
				break
			}
		}
		return n
	}
	expect.Equal(t, "first list", searched(), 15)
	expect.Equal(t, "second list", searched(), 1)
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	item := engine.SearchItem{List: "message", Body: []byte(strings.Repeat("é", 200) + "\nNEEDLE\x00\xff" + strings.Repeat("b", 200))}
	q, err := query.Parse("needle", query.Reader{})
	expect.Nil(t, "error", err)
	hit, _, _ := q.Match(&item)
	expect.Equal(t, "place", hit.Place, "body")
	expect.Equal(t, "found", hit.Excerpt.Found, "NEEDLE")
	expect.Equal(t, "before", hit.Excerpt.Before, "…"+strings.Repeat("é", 29)+" ")
	expect.Equal(t, "after", hit.Excerpt.After, " ·"+strings.Repeat("b", 58)+"…")
}

func TestTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC)
	for line, want := range map[string]time.Time{
		"since:1h": now.Add(-time.Hour), "since:1d12h": now.Add(-36 * time.Hour), "since:2026-01-02": time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
		"since:2026-01-02T15:04": time.Date(2026, 1, 2, 15, 4, 0, 0, time.UTC), "since:2026-01-02T15:04:05+02:00": time.Date(2026, 1, 2, 13, 4, 5, 0, time.UTC), "since:1767369840000": time.UnixMilli(1767369840000),
	} {
		q, err := query.Parse(line, query.Reader{Now: now})
		if expect.Nil(t, "error of "+line, err) {
			expect.True(t, line+" is "+want.String()+", got "+q.Since.String(), q.Since.Equal(want))
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                        "empty: must be words, or filters",
		"lable:x":                 `unknown key "lable": must be one of body, error, flow`,
		"foo:bar":                 `or in quotation marks to look for the text: "foo:bar"`,
		"state:sideways":          "must be one of active, attempt_failed",
		"kind:mail":               "must be one of message, run, dlq, log",
		"since:soon":              "must be a duration before now such as 30m, 1h or 2d",
		"since:24":                "must be a duration before now such as 30m, 1h or 2d",
		"since:-1h":               "must be a duration before now such as 30m, 1h or 2d",
		"until:yesterday":         "must be a duration before now",
		"status:9":                "must be a status from 100 to 599",
		"status:9xx":              "must be a status from 100 to 599",
		"-label:shop":             `no filter can exclude: must be a filter without -, or in quotation marks to look for the text: "-label:shop"`,
		"since:1h until:2h":       "until is before since",
		"since:1h since:2h":       "more than one since: must be one since",
		"until:1h,2h":             "more than one until: must be one until",
		"label:":                  "missing value: must be a label directly after the colon",
		`"open`:                   "must be a text that ends with a quotation mark",
		strings.Repeat("x", 2001): "must be at most 2000 bytes",
	} {
		_, err := query.Parse(line, query.Reader{})
		if err == nil {
			t.Errorf("%.20q: accepted", line)
			continue
		}
		expect.Contains(t, "error", err.Error(), want)
	}
}

// FuzzQuery parses any line and matches an item with it: it must not panic, and an excerpt
// must not be empty.
func FuzzQuery(f *testing.F) {
	for _, line := range []string{"müller", `"a b" label:x`, "status:5xx since:1h", "header:a=b", "kind:runs,log state:failed"} {
		f.Add(line, []byte(`{"name":"Ann Müller"}`))
	}
	f.Fuzz(func(t *testing.T, line string, body []byte) {
		q, err := query.Parse(line, query.Reader{})
		if err != nil {
			return
		}
		item := order
		item.Body = body
		if hit, ok, _ := q.Match(&item); ok && hit.Excerpt != nil && hit.Excerpt.Found == "" {
			t.Errorf("%q is found in %s, and nothing is shown", line, hit.Place)
		}
	})
}

func TestLike(t *testing.T) {
	t.Parallel()
	for want, matches := range map[string]map[string]bool{
		"mail *":    {"mail POST /a": true, "Mail POST /a": false, "mail": false},
		"mail /a":   {"mail /a": true, "mail /A": false},
		"* /a *{b}": {"mail /a {b}": true, "mail /a": false, " /a {b}": true},
		"a*a":       {"aa": true, "a": false},
	} {
		for text, like := range matches {
			expect.Equal(t, want+" matches "+text, query.Like(want, text), like)
		}
	}
}
