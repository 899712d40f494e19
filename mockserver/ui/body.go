package ui

import (
	"cmp"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
)

// The largest part of a body on one page, in bytes: of text, and of bytes shown as hex.
const (
	textPart   = 64 << 10
	binaryPart = 8 << 10
)

// bodyPart is a part of a body.
type bodyPart struct {
	content
	What, Back     string // the owner of the body, and its address
	Number, Parts  int    // from 1
	From, To       int    // byte offsets
	Previous, Next string // numbers of other parts; "": none

	Level *jsonLevel // shown in place of the part
	Folds bool       // the body is JSON that can be shown as levels
}

// bodyText reads the part of a body that the query names, and nothing else of the body, unless
// the body is JSON that can be shown folded.
func bodyText(v *visit, path string) (any, error) {
	const beginning = 64 // bytes: JSON may start with white space
	about, err := v.bodyBytes(path, 0, beginning)
	if err != nil {
		return nil, err
	}
	list, id, _ := strings.Cut(path, "/")
	at := &frame{Account: v.account, Query: v.query, Path: viewPath("body/" + list + "/" + url.PathEscape(id))}
	size := textPart
	if !about.Text {
		size = binaryPart
	}
	p := partOf(about.Size, size, v.query.Get("part"))
	part, err := v.bodyBytes(path, p.From, p.To-p.From)
	if err != nil {
		return nil, err
	}
	p.From, p.To = part.Start, part.End
	switch {
	case !about.Text:
		p.content = content{Text: hexLines(part.BodyBase64, p.From), Kind: "binary", Size: about.Size}
		if p.Parts == 1 {
			p.unzip(part.BodyBase64)
		}
	case p.Parts == 1:
		p.content = readableContent(part.Body)
	default:
		p.content = content{Text: part.Body, Kind: "text", Size: about.Size}
	}
	p.Folds = about.Text && p.Tree == "" && about.Size <= mostFolded && strings.ContainsAny(clip.Text(strings.TrimSpace(about.Body), 1), "{[")
	if p.Folds && v.query.Get("as") != "text" {
		whole, err := v.bodyBytes(path, 0, about.Size)
		if err != nil {
			return nil, err
		}
		p.Level, err = levelOf([]byte(whole.Body), v.query.Get("at"), v.query.Get("part"), func(place string) string { return at.With("at", place, "part", "") })
		if err != nil {
			return nil, err
		}
		p.Folds = p.Level != nil
	}
	p.What, p.Back = id, at.Of(list, id)
	if list == "requests" { // there is no view of one request
		p.What, p.Back = "Requests", at.Link(list)
	}
	return p, nil
}

// someBytes is a part of a body from the control API.
type someBytes struct {
	Size, Start, End int
	Text             bool // the whole body is text
	Body             string
	BodyBase64       []byte
}

// bodyBytes reads at most n bytes of a body, but at least one: 0 means no limit in the API.
func (v *visit) bodyBytes(path string, start, n int) (part someBytes, err error) {
	query := url.Values{"start": {strconv.Itoa(start)}, "maxBody": {strconv.Itoa(max(1, n))}}
	if place := v.query.Get("place"); place != "" {
		query.Set("place", place)
	}
	list, id, _ := strings.Cut(path, "/")
	return part, v.get(&part, "bodies/"+list+"/"+url.PathEscape(id), query)
}

// partOf computes a part of a body. The API moves its ends to character boundaries of a text.
func partOf(whole, size int, asked string) *bodyPart {
	parts := max(1, (whole+size-1)/size)
	n, _ := strconv.Atoi(cmp.Or(asked, "1"))
	n = min(max(1, n), parts)
	p := &bodyPart{Number: n, Parts: parts, From: (n - 1) * size, To: min(whole, n*size)}
	if n > 1 {
		p.Previous = strconv.Itoa(n - 1)
	}
	if n < parts {
		p.Next = strconv.Itoa(n + 1)
	}
	return p
}

// hexLines is a hex dump whose offsets start at from.
func hexLines(raw []byte, from int) string {
	var b strings.Builder
	for i, line := range strings.SplitAfter(hex.Dump(raw), "\n") {
		const offset = 8
		if len(line) > offset {
			at := "0000000" + strconv.FormatInt(int64(from+16*i), 16)
			line = at[len(at)-offset:] + line[offset:]
		}
		b.WriteString(line)
	}
	return b.String()
}

// WholeBody is the address of the view of a body: the list, the id of the entry in it, and
// the name of the body.
func (f *frame) WholeBody(list, id, place string) string {
	return f.Link("body/"+list+"/"+url.PathEscape(id), "place", place)
}

// inParts adds the address of the view of the whole body.
func inParts(link string, c content) content {
	c.Link = link
	return c
}
