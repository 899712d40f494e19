package tenant

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-faster/jx"

	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/internal/clip"
	"github.com/understudy-mock/understudy/spec/mask"
)

// The bounds of a description, in bytes.
const (
	maxDescription = 200
	maxValue       = 80
)

// countedMembers are members that a description shows as their number of entries.
var countedMembers = []string{"All", "Forward", "Header", "Headers"}

// bodyMembers are the members of records and snapshots that contain bodies of messages,
// answers or steps, in lower case. Sorted.
var bodyMembers = []string{
	"body", "callbody", "callresponsebody", "data", "invokedbody", "out", "payload", "raw", "result", "step", "timeoutbody",
}

// HoldsBody reports whether a member of records and snapshots contains the body of a message, an
// answer or a step.
func HoldsBody(member string) bool {
	_, found := slices.BinarySearch(bodyMembers, strings.ToLower(member))
	return found
}

// HoldsKey reports whether a member of records and snapshots contains a signing key.
func HoldsKey(member string) bool {
	return strings.EqualFold(member, "currentKey") || strings.EqualFold(member, "nextKey")
}

// describe formats the arguments of a command in one short line, without credentials
// and bodies: URL=https://app.test/hook Options.Retries=3 Body=12 bytes.
func describe(r *journal.Record) string {
	d := &description{}
	if err := d.value(jx.DecodeBytes(r.Body), "", 0); err != nil {
		return "unreadable"
	}
	return strings.TrimSpace(clip.Text(clip.Line(d.text.String()), maxDescription))
}

type description struct{ text bytes.Buffer }

func (d *description) put(name, value string) {
	if d.text.Len() <= maxDescription {
		fmt.Fprintf(&d.text, " %s=%s", name, clip.Text(clip.Line(value), maxValue))
	}
}

func (d *description) value(in *jx.Decoder, name string, depth int) error {
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch in.Next() {
	case jx.Object:
		if slices.Contains(countedMembers, last) {
			n := 0
			err := in.ObjBytes(func(in *jx.Decoder, _ []byte) error { n++; return in.Skip() })
			d.put(name, fmt.Sprintf("[%d]", n))
			return err
		}
		if depth > 2 || d.text.Len() > maxDescription {
			d.put(name, "{…}")
			return in.Skip()
		}
		return in.ObjBytes(func(in *jx.Decoder, key []byte) error {
			return d.value(in, strings.TrimPrefix(name+"."+string(key), "."), depth+1)
		})
	case jx.Array:
		n := 0
		err := in.Arr(func(in *jx.Decoder) error { n++; return in.Skip() })
		d.put(name, fmt.Sprintf("[%d]", n))
		return err
	case jx.String:
		text, err := in.Str()
		switch {
		case HoldsBody(last):
			text = fmt.Sprintf("%d bytes", len(text))
		case HoldsKey(last), last == "Next", mask.Secret(last):
			text = mask.Hidden
		default:
			text = mask.Value(text)
		}
		d.put(name, text)
		return err
	case jx.Null:
		return in.Null()
	}
	raw, err := in.Raw()
	d.put(name, string(raw))
	return err
}

// Listed is a record as a list shows it.
type Listed struct {
	LSN       int    `json:"lsn"`
	At        int64  `json:"at"` // Unix ms
	Kind      string `json:"kind"`
	Arguments string `json:"arguments"`
}

// listed describes a record, or the snapshot, which has no kind.
func listed(r *journal.Record) Listed {
	l := Listed{LSN: int(r.LSN), At: r.At.UnixMilli(), Kind: r.Kind}
	if r.Kind != "" {
		l.Arguments = describe(r)
	}
	return l
}

// Time returns At as a time.
func (l Listed) Time() time.Time { return time.UnixMilli(l.At) }

// List calls each for the records of a journal up to until, without replaying them.
func List(ctx context.Context, j store.Kept, until Until, each func(Listed) error) (Position, error) {
	_, p, err := beginning(ctx, j, until)
	if err != nil {
		return p, err
	}
	for r, err := range until.records(j.Records(ctx), &p) {
		if err == nil {
			err = each(listed(&r))
		}
		if err != nil {
			return p, err
		}
	}
	return p, until.behind(&p)
}
