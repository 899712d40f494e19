package ui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
)

// Limits for JSON that is shown as foldable lines; larger JSON is shown as text.
const (
	mostNodes = 2000
	mostDepth = 100
)

// JSON is folded initially from the depth foldedDepth on, and if an array or object has
// more than foldedItems items.
const (
	foldedDepth = 4
	foldedItems = 40
)

// jsonNode is a JSON value, with its members in their original order.
type jsonNode struct {
	key      string // in an object: the key as JSON
	open     json.Delim
	children []jsonNode
	token    json.Token // of a value without members
	link     string     // address of the members, if they are on another page
	size     int        // bytes of a value that is not shown whole; 0 for others
}

var errLargeJSON = errors.New("more values than a page shows")

// parseJSON parses one value and keeps the order of members. It fails if the value is
// larger than the limits.
func parseJSON(text string) (jsonNode, error) {
	left := mostNodes
	return parseNode([]byte(text), &left, 0)
}

func parseNode(raw []byte, left *int, depth int) (n jsonNode, err error) {
	if *left--; *left < 0 || depth > mostDepth {
		return n, errLargeJSON
	}
	if !bytes.ContainsAny(raw[:min(len(raw), 1)], "{[") {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err = d.Decode(&n.token); err == nil && d.More() {
			err = errLargeJSON
		}
		return n, err
	}
	var inner error
	n.open, err = readMembers(raw, func(_ int, m jsonMember) bool {
		var child jsonNode
		child, inner = parseNode(m.raw, left, depth+1)
		child.key = m.key
		n.children = append(n.children, child)
		return inner == nil
	})
	return n, cmp.Or(inner, err)
}

// plainJSON encodes a value as JSON without the escapes for HTML.
func plainJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // a token always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// jsonLines writes a value as foldable lines. All its texts go through escapeHTML.
func jsonLines(n *jsonNode) template.HTML {
	var b strings.Builder
	writeNode(&b, n, "", 0)
	return template.HTML(b.String()) //nolint:gosec // constants and escaped text
}

func writeNode(b *strings.Builder, n *jsonNode, comma string, depth int) {
	key := ""
	if n.key != "" {
		key = `<span class="k">` + escapeHTML(n.key) + `</span>: `
	}
	end := map[json.Delim]string{'{': "}", '[': "]"}[n.open]
	switch {
	case n.open == 0:
		text, _ := n.token.(string)
		class := map[bool]string{true: "s", false: "v"}[text != ""]
		size := ""
		if n.size > 0 {
			size = fmt.Sprintf(` <span class="size">%s in all</span>`, SizeText(n.size))
		}
		fmt.Fprintf(b, `<div class="l">%s<span class="%s">%s</span>%s%s%s</div>`, key, class, escapeHTML(plainJSON(n.token)), comma, size, decodedLines(text))
		return
	case n.link != "":
		fmt.Fprintf(b, `<div class="l">%s<a href="%s">%s … %s</a>%s <span class="size">%s</span></div>`, key, escapeHTML(n.link), n.open, end, comma, SizeText(n.size))
		return
	case len(n.children) == 0:
		fmt.Fprintf(b, `<div class="l">%s%s%s%s</div>`, key, n.open, end, comma)
		return
	}
	open := " open"
	if depth >= foldedDepth || depth > 0 && len(n.children) > foldedItems {
		open = ""
	}
	fmt.Fprintf(b, `<details%s><summary class="l" data-folded=" %d … %s%s">%s%s</summary><div class="in">`, open, len(n.children), end, comma, key, n.open)
	for i := range n.children {
		more := ","
		if i == len(n.children)-1 {
			more = ""
		}
		writeNode(b, &n.children[i], more, depth+1)
	}
	fmt.Fprintf(b, `</div><div class="l">%s%s</div></details>`, end, comma)
}

// decodedLines shows the decoded text of a base64 string, such as the data of events;
// "" for other strings.
func decodedLines(text string) string {
	plain, from := decode(text)
	if from == "" {
		return ""
	}
	plain = maskedText(plain)
	inner := template.HTMLEscapeString(clip.Text(plain, 4000))
	if n, err := parseJSON(plain); err == nil {
		inner = string(jsonLines(&n))
	}
	return `<details class="decoded" open><summary>decoded from ` + from + `</summary><div class="in">` + inner + `</div></details>`
}
