package control

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/query"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
	"github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/mask"
)

// searchPart is how many entries are read under one lock of the account, which takes a
// fraction of a millisecond. defaultHits is the default limit of hits per kind. textShown
// is how much of a URL or an error a hit includes, in bytes.
const (
	searchPart  = 500
	defaultHits = 20
	textShown   = 2000
)

// search searches the lists of an account in parts, so that it holds the lock only briefly,
// and only one part and the hits in memory. It may or may not see concurrent changes.
func (s *Service) search(c *request.Call) (any, error) {
	begun := s.Wall.Now()
	d := s.Tenants.Usual(c.Tenant)
	neutral := func(name string) string {
		if rest, ok := cutFold(name, d.HeaderPrefix); ok {
			return header.Prefix + rest
		}
		return name
	}
	line := c.Query.Get("q")
	q, err := query.Parse(line, query.Reader{Now: time.UnixMilli(s.clockBody(c.Tenant).Now), HeaderName: neutral})
	if err != nil {
		return nil, err
	}
	cursor, kinds := c.Query.Get("cursor"), q.Kinds
	items, most := make([]engine.SearchItem, searchPart), cmp.Or(c.Number("count"), defaultHits)
	if cursor != "" { // a cursor belongs to one list
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool {
			_, _, err := c.Account.Search(kind, &engine.Filter{Cursor: cursor}, items[:1])
			return err != nil
		})
		if len(kinds) == 0 {
			return nil, response.RefusedValue("query", "cursor", cursor, response.Unfit("", "a cursor of an earlier page of this search"))
		}
	}
	out := api.Search{Query: line, Hits: []api.SearchHit{}, Cursors: map[string]string{}}
	for _, kind := range kinds {
		next, err := look(&out, c, q, kind, cursor, most, items)
		if err != nil {
			return nil, err
		}
		if next != "" {
			out.Cursors[kind] = next
		}
		if len(kinds) == 1 {
			out.Cursor = next
		}
	}
	slices.SortStableFunc(out.Hits, func(x, y api.SearchHit) int { return cmp.Compare(rank(&x), rank(&y)) })
	for i := range out.Hits {
		if rest, ok := strings.CutPrefix(out.Hits[i].Place, "header "+header.Prefix); ok {
			out.Hits[i].Place = "header " + d.HeaderPrefix + rest
		}
	}
	out.TookMs = float64(s.Wall.Now().Sub(begun).Microseconds()) / 1000
	return out, nil
}

// rank orders hits for a reader: what failed first, and runs before their messages.
func rank(h *api.SearchHit) int {
	at := slices.Index([]string{"run", "dlq", "message", "log"}, h.Kind)
	if !strings.Contains(h.State, "FAILED") {
		at += 4
	}
	return at
}

// look adds the hits of one list, and returns the cursor after the last item that it has
// searched if there are more.
func look(out *api.Search, c *request.Call, q *query.Query, kind, cursor string, most int, items []engine.SearchItem) (more string, err error) {
	list, found := kind, 0
	q.BeginList()
	if kind == "log" && q.HasWords() {
		list = "answers" // words can match only these events of the log
	}
	for {
		if err := c.Request.Context().Err(); err != nil {
			return "", err // the client has disconnected
		}
		n, next, err := c.Account.Search(list, &engine.Filter{Cursor: cursor, States: q.States}, items)
		if err != nil {
			return "", err
		}
		for i := range items[:n] {
			it := &items[i]
			if !q.Since.IsZero() && it.Time < q.Since.UnixMilli() {
				return "", nil // all others are older
			}
			if !q.Until.IsZero() && it.Time > q.Until.UnixMilli() {
				continue
			}
			hit, ok, again := q.Match(it)
			switch {
			case (again || ok && found == most) && i > 0:
				return items[i-1].Cursor(), nil
			case again || ok && found == most:
				return cursor, nil
			case ok:
				out.Hits = append(out.Hits, hitOf(it, &hit))
				found++
			}
		}
		if next == "" {
			return "", nil
		}
		cursor = next
	}
}

// hitOf omits bodies: the excerpt shows the match.
func hitOf(it *engine.SearchItem, hit *query.Hit) api.SearchHit {
	h := api.SearchHit{
		Kind: it.List, State: it.State, Time: it.Time, URL: shortText(mask.URL(it.URL)), Method: it.Method, WorkflowRunID: it.RunID, DLQID: it.DLQID, Sequence: int64(it.Seq),
		StepName: cmp.Or(it.Tried, it.Step), ResponseStatus: it.Status, Error: shortText(it.Error), Labels: it.Labels, Place: hit.Place, Excerpt: hit.Excerpt,
	}
	switch it.List {
	case "message":
		h.ID = it.ID
	case "run":
		h.ID = it.RunID
	case "dlq":
		h.ID, h.MessageID = it.DLQID, it.ID
	default:
		h.MessageID = it.ID
	}
	return h
}

// shortText returns at most textShown bytes of a text.
func shortText(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), textShown)], "?")
}

// cutFold cuts a prefix regardless of case.
func cutFold(text, prefix string) (rest string, ok bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}
