package messaging

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-faster/jx"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/similar"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/wire"
)

// publishBatch publishes all items or none: every item is read before the first
// is published.
func (a *API) publishBatch(c *request.Call) (any, error) {
	requests, err := a.batch(c)
	if err != nil {
		return nil, err
	}
	results, err := c.Account.PublishBatch(requests)
	if err != nil {
		return nil, err
	}
	return response.Response{JSON: appendReceipts(c.Buffer, results)}, nil
}

// batch reads all items; its error names the index of the invalid one.
func (a *API) batch(c *request.Call) ([]engine.PublishRequest, error) {
	items, ok := usualBatch(c.Body)
	var other []jsonItem
	if !ok {
		if err := request.Unmarshal(c.Body, &other); err != nil {
			return nil, err
		}
		if err := a.unknownMembers(c); err != nil {
			return nil, err
		}
		items = make([]batchItem, len(other))
	}
	requests := make([]engine.PublishRequest, len(items))
	for i := range items {
		var err error
		if !ok {
			items[i], err = other[i].read()
		}
		warned := len(c.Warnings)
		if err == nil {
			err = a.item(c, &items[i], &requests[i])
		}
		if err != nil {
			e := *response.Failure(err)
			e.Place = fmt.Sprintf("item %d", i)
			return nil, &e
		}
		for k := range c.Warnings[warned:] {
			c.Warnings[warned+k] = fmt.Sprintf("item %d %s", i, c.Warnings[warned+k])
		}
	}
	return requests, nil
}

// itemMembers are the members of an item of a batch. Sorted.
var itemMembers = []string{"body", "destination", "headers", "queue"}

// unknownMembers warns of members of items that have no effect; a strict server refuses
// them. Names match without regard to case, as encoding/json reads them.
func (a *API) unknownMembers(c *request.Call) error {
	var items []map[string]json.RawMessage
	if err := request.Unmarshal(c.Body, &items); err != nil {
		return err
	}
	for i, item := range items {
		for _, name := range slices.Sorted(maps.Keys(item)) {
			if slices.ContainsFunc(itemMembers, func(known string) bool { return strings.EqualFold(known, name) }) {
				continue
			}
			place, near := fmt.Sprintf("body /%d/%s", i, response.Shorten(name)), similar.DidYouMean(name, itemMembers)
			if a.Strict {
				return response.Invalid(place + ": unknown member: must be one of " + strings.Join(itemMembers, ", ") + near)
			}
			c.Warnings = append(c.Warnings, place+": unknown member, ignored"+near)
		}
	}
	return nil
}

// item reads the request of an item. Its configuration is in its own headers only; the
// headers of the HTTP request do not apply to items.
func (a *API) item(c *request.Call, item *batchItem, r *engine.PublishRequest) error {
	h := item.headers
	r.Body, r.CallerIP = item.body, c.CallerIP()
	request.KeepHeaders(r, h)
	if err := response.JoinRefused(aimAt(c, r, "body", item.destination), a.Configure(c, r, request.SettingsOf(h))); err != nil {
		return err
	}
	if r.Options.HeaderForward || r.Group != "" { // the defaults of a group may enable it
		r.All = request.PlainHeaders(h)
	}
	if item.queue != "" {
		if err := request.ReadName(&r.Options.Queue, item.queue); err != nil {
			return response.RefusedValue("body", "/queue", item.queue, err)
		}
	}
	return nil
}

// batchItem is one message of a batch.
type batchItem struct {
	destination string
	headers     http.Header
	body        []byte
	queue       string
}

// jsonItem is an item as encoding/json reads it.
type jsonItem struct {
	Destination string                     `json:"destination"`
	Headers     map[string]json.RawMessage `json:"headers"`
	Body        json.RawMessage            `json:"body"`
	Queue       string                     `json:"queue"`
}

func (i *jsonItem) read() (batchItem, error) {
	h, err := request.ReadHeaders(i.Headers)
	return batchItem{i.Destination, h, response.BodyBytes(i.Body), i.Queue}, err
}

// errUnusual makes usualBatch leave a batch to encoding/json.
var errUnusual = errors.New("unusual batch")

// usualBatch reads the items of a batch in one pass. ok is false where jsonItem may read the
// batch differently or refuse it.
func usualBatch(body []byte) (items []batchItem, ok bool) {
	ok = wire.ReadUsual(body, func(d *jx.Decoder) error {
		return d.Arr(func(d *jx.Decoder) error {
			items = append(items, batchItem{})
			return items[len(items)-1].decode(d)
		})
	})
	return items, ok && items != nil
}

// decode reads one item.
func (i *batchItem) decode(d *jx.Decoder) error {
	err := d.ObjBytes(func(d *jx.Decoder, name []byte) (err error) {
		switch string(name) {
		case "destination":
			i.destination, err = d.Str()
		case "queue":
			i.queue, err = d.Str()
		case "body":
			i.body, err = usualBody(d)
		case "headers":
			if i.headers != nil {
				return errUnusual
			}
			i.headers, err = request.DecodeHeaders(d)
		default:
			err = errUnusual
		}
		return err
	})
	if i.headers == nil {
		i.headers = http.Header{}
	}
	return err
}

// usualBody is response.BodyBytes of the next value.
func usualBody(d *jx.Decoder) ([]byte, error) {
	switch d.Next() {
	case jx.String:
		var room [1 << 10]byte // escapes make the length known only at the end
		text, err := d.StrAppend(room[:0])
		return bytes.Clone(text), err
	case jx.Null:
		return nil, d.Null()
	}
	return d.RawAppend(nil)
}
