package ui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/internal/clip"
)

// Large JSON is shown level by level: the page shows the members of one object or array,
// small members as foldable lines and large ones as links to their own level.
const (
	mostFolded  = 16 << 20 // bytes; JSON that is larger is shown as text only
	levelItems  = 100      // members on one page
	levelInline = 1 << 10  // bytes of a nested member that is shown on the same page
	levelNested = 32 << 10 // bytes of all of these
	levelText   = 1 << 10  // bytes of a text that are shown
)

// jsonLevel is a page of the members of one object or array.
type jsonLevel struct {
	Crumbs             []jsonCrumb
	Content            content
	From, To, Items    int // numbers of the members, from 1
	Previous, Next, At string
}

// jsonCrumb is an object or array around a level.
type jsonCrumb struct{ Name, At string }

// jsonMember is a member of an object or array, as it is written.
type jsonMember struct {
	key string // in an object: the key as JSON
	raw json.RawMessage
}

// readMembers reads an object or array and calls each for its members, until it returns
// false.
func readMembers(raw []byte, each func(int, jsonMember) bool) (open json.Delim, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	token, err := d.Token()
	if err != nil {
		return 0, err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return 0, fmt.Errorf("neither an object nor an array")
	}
	for i := 0; d.More(); i++ {
		var m jsonMember
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return open, err
			}
			m.key = plainJSON(name)
		}
		if err := d.Decode(&m.raw); err != nil {
			return open, err
		}
		if !each(i, m) {
			return open, nil
		}
	}
	if _, err := d.Token(); err != nil {
		return open, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return open, fmt.Errorf("more than one value")
	}
	return open, nil
}

// errNoLevel is the error for an address of a level that the body does not have.
func errNoLevel(at string) error {
	return refuse(http.StatusNotFound, fmt.Sprintf("at: invalid value %q: must be the place of an object or array in the body", at))
}

// levelAt follows the positions of members, such as 3.0.1, to an object or array.
func levelAt(raw []byte, at string) ([]byte, []jsonCrumb, error) {
	crumbs := []jsonCrumb{{"all of it", ""}}
	for _, step := range strings.FieldsFunc(at, func(r rune) bool { return r == '.' }) {
		n, err := strconv.Atoi(step)
		var found *jsonMember
		if err == nil {
			_, err = readMembers(raw, func(i int, m jsonMember) bool {
				if i == n {
					found = &m
				}
				return i < n
			})
		}
		if err != nil || found == nil {
			return nil, nil, errNoLevel(at)
		}
		raw = found.raw
		crumbs = append(crumbs, jsonCrumb{clip.Text(cmp.Or(found.key, "item "+strconv.Itoa(n+1)), 40), joinPlace(crumbs[len(crumbs)-1].At, n)})
	}
	return raw, crumbs, nil
}

// joinPlace is the place of a member of the object or array at a place.
func joinPlace(at string, n int) string {
	return strings.TrimPrefix(at+"."+strconv.Itoa(n), ".")
}

// levelOf returns a page of the members of the object or array at a place. linkTo is the
// address of another place. It returns nil if the body is not JSON with members.
func levelOf(whole []byte, at, part string, linkTo func(place string) string) (*jsonLevel, error) {
	if !json.Valid(whole) {
		return nil, nil
	}
	raw, crumbs, err := levelAt(whole, at)
	if err != nil {
		return nil, err
	}
	n, _ := strconv.Atoi(part)
	n = max(1, n)
	l := &jsonLevel{Crumbs: crumbs, At: at, From: (n-1)*levelItems + 1}
	node, left := jsonNode{}, levelNested
	node.open, err = readMembers(raw, func(i int, m jsonMember) bool {
		if l.Items = i + 1; l.From <= l.Items && l.Items < l.From+levelItems {
			node.children = append(node.children, m.node(joinPlace(at, i), &left, linkTo))
		}
		return true
	})
	switch {
	case err != nil && at == "":
		return nil, nil // the body is a value without members
	case err != nil:
		return nil, errNoLevel(at)
	}
	l.To = l.From + len(node.children) - 1
	if n > 1 {
		l.Previous = strconv.Itoa(n - 1)
	}
	if l.To < l.Items {
		l.Next = strconv.Itoa(n + 1)
	}
	l.Content = content{Kind: "json", Size: len(raw), Tree: jsonLines(&node), Folds: true, Partial: true}
	return l, nil
}

// node is the member as lines, or as a link if it is large. left is how many more bytes of
// nested members fit on the page.
func (m *jsonMember) node(at string, left *int, linkTo func(string) string) jsonNode {
	open := json.Delim(m.raw[0])
	if nested := open == '{' || open == '['; nested {
		n, err := parseJSON(string(m.raw[:min(len(m.raw), levelInline)]))
		if len(m.raw) > min(levelInline, *left) || err != nil {
			return jsonNode{key: m.key, open: open, link: linkTo(at), size: len(m.raw)}
		}
		*left -= len(m.raw)
		n.key = m.key
		return n
	}
	n, _ := parseJSON(string(m.raw)) // the whole body is valid
	n.key = m.key
	if text, ok := n.token.(string); ok && len(text) > levelText {
		n.token, n.size = clip.Text(text, levelText), len(text)
	}
	return n
}
