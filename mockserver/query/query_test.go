package query_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/encoded"
	"github.com/understudy-mock/understudy/mockserver/query"
	"github.com/understudy-mock/understudy/spec/mask"
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
		"müller": true, "MÜLLER": true, "ann": true, "jürgen": true, "JÜRGEN": true, `"& co"`: true, `"say \"hi\""`: true, "müllers": false,
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

// TestWordsInBase64 finds words in bodies and results that have them as base64, such as the
// data of an event, and nothing that the page would not show decoded.
func TestWordsInBase64(t *testing.T) {
	t.Parallel()
	base := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	paid := `{"paid":"Invoice >>> 99?","by":"Jörg","password":"HIDDEN5"}`
	urlAlphabet := strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(paid)), "=")
	for name, c := range map[string]struct {
		body string
		word string
		want string // the place; "": not found
	}{
		"a member":                         {`{"eventData":"` + base(paid) + `"}`, "invoice", "body, decoded from base64"},
		"a member of another alphabet":     {`{"eventData":"` + urlAlphabet + `"}`, "99?", "body, decoded from base64"},
		"a member with escaped slashes":    {`{"eventData":"` + strings.ReplaceAll(base("what???"), "/", `\/`) + `"}`, "what???", "body, decoded from base64"},
		"the whole body":                   {base(paid), "jörg", "body, decoded from base64"},
		"the whole body with a line end":   {base(paid) + "\n", "jörg", "body, decoded from base64"},
		"the last of many":                 {`["` + strings.Repeat(base("a b c d e f")+`","`, 50) + base("needle in it") + `"]`, "needle", "body, decoded from base64"},
		"base64 in base64":                 {`{"body":"` + base(`{"eventData":"`+base(paid)+`"}`) + `"}`, "invoice", "body, decoded from base64"},
		"the text itself":                  {`{"a":"invoice"}`, "invoice", "body"},
		"a secret in it":                   {`{"eventData":"` + base(paid) + `"}`, "HIDDEN5", ""},
		"a secret that is base64":          {`{"password":"` + base("HIDDEN6 HIDDEN6") + `"}`, "HIDDEN6", ""},
		"a key":                            {`{"` + base("needle in it") + `":1}`, "needle", ""},
		"a part of a text":                 {`{"a":"x ` + base("needle in it") + `"}`, "needle", ""},
		"bytes that are not readable":      {`{"a":"` + base("needle in it\x00\x01") + `"}`, "needle", ""},
		"a word that is decoded by chance": {`{"a":"password"}`, "\u00a5\u00ab", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, filter := range []string{"", "body:"} {
				q, err := query.Parse(filter+`"`+c.word+`"`, query.Reader{})
				if !expect.Nil(t, "error", err) {
					return
				}
				hit, ok, _ := q.Match(&engine.SearchItem{List: "message", Body: []byte(c.body)})
				expect.Equal(t, "found", ok, c.want != "")
				if ok && filter == "" {
					expect.Equal(t, "place", hit.Place, c.want)
					expect.Equal(t, "word in the excerpt", strings.ToLower(hit.Excerpt.Found), c.word)
				}
			}
		})
	}
	t.Run("a result of a step", func(t *testing.T) {
		t.Parallel()
		q, err := query.Parse("invoice", query.Reader{})
		expect.Nil(t, "error", err)
		hit, _, _ := q.Match(&engine.SearchItem{List: "run", Texts: []string{base(paid)}})
		expect.Equal(t, "place", hit.Place, "step result, decoded from base64")
	})
}

// zipped is gzip data with a text.
func zipped(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a strings.Builder always accepts
	_ = w.Close()
	return b.String()
}

// TestWordsInGzip finds words in bodies that are compressed, also within base64.
func TestWordsInGzip(t *testing.T) {
	t.Parallel()
	base := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	paid := `{"paid":"Invoice 99","password":"HIDDEN5"}`
	for name, c := range map[string]struct {
		body string
		word string
		want string // the place; "": not found
	}{
		"a body":                                  {zipped(paid), "invoice", "body, decoded from gzip"},
		"a body that is cut off":                  {zipped(paid + strings.Repeat(" or more", 99) + " end")[:40], "invoice", "body, decoded from gzip"},
		"a member":                                {`{"data":"` + base(zipped(paid)) + `"}`, "invoice", "body, decoded from base64 of gzip"},
		"the whole body as base64":                {base(zipped(paid)), "invoice", "body, decoded from base64 of gzip"},
		"a long word of few bytes":                {`{"data":"` + base(zipped(strings.Repeat("z", 200))) + `"}`, strings.Repeat("z", 200), "body, decoded from base64 of gzip"},
		"a secret in it":                          {zipped(paid), "HIDDEN5", ""},
		"bytes that are not readable":             {zipped("invoice \x00\x01"), "invoice", ""},
		"a broken body":                           {"\x1f\x8b\x08 invoice, broken", "invoice", "body"},
		"text within the first MiB":               {zipped(strings.Repeat("é", 1<<19-8) + "invoice"), "invoice", "body, decoded from gzip"},
		"text after the first MiB, which is read": {zipped(strings.Repeat("é", 1<<19) + "invoice"), "invoice", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, err := query.Parse(c.word, query.Reader{})
			if !expect.Nil(t, "error", err) {
				return
			}
			hit, ok, _ := q.Match(&engine.SearchItem{List: "message", Body: []byte(c.body)})
			expect.Equal(t, "found", ok, c.want != "")
			expect.Equal(t, "place", hit.Place, c.want)
		})
	}
}

// A page of a search looks through at most 256 MiB, and at least one item of each list.
func TestSearchedPerPage(t *testing.T) {
	t.Parallel()
	q, err := query.Parse("missing", query.Reader{})
	if err != nil {
		t.Fatal(err)
	}
	it := engine.SearchItem{List: "message", Body: bytes.Repeat([]byte("."), 16<<20)}
	searched := func() (n int) {
		q.Refill()
		for ; n < 100; n++ {
			if _, _, again := q.Match(&it); again {
				break
			}
		}
		return n
	}
	if got := searched(); got != 15 {
		t.Errorf("first list: got %d bodies of 16 MiB, want 15", got)
	}
	if got := searched(); got != 1 {
		t.Errorf("second list: got %d bodies, want 1", got)
	}
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
		"state:sideways":          "must be one of active, cancel_requested",
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

// FuzzBase64 puts base64 of any text into JSON: a search must find the text, wherever it is.
func FuzzBase64(f *testing.F) {
	f.Add("needle", "before ", " after", uint8(3))
	f.Add("Jörg?>", "", "", uint8(0))
	f.Fuzz(func(t *testing.T, word, before, after string, pad uint8) {
		plain := before + word + after
		if _, from := encoded.Decode(base64.StdEncoding.EncodeToString([]byte(plain))); from == "" || strings.TrimSpace(word) == "" || mask.Text(plain) != plain || json.Valid([]byte(plain)) {
			return
		}
		q, err := query.Parse(`"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word)+`"`, query.Reader{})
		if err != nil {
			return
		}
		for _, form := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			text := form.EncodeToString([]byte(plain))
			body := `{"` + strings.Repeat("k", int(pad)) + `":"` + text + `"}`
			if _, from := encoded.Decode(text); from == "" {
				continue // too short without padding
			}
			if _, ok, _ := q.Match(&engine.SearchItem{List: "message", Body: []byte(body)}); !ok {
				t.Errorf("%q is not found in %s", word, body)
			}
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
