package ui_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/understudy-mock/understudy/mockserver"
)

// reading is a part of a view, as somebody without scripts gets it.
type reading struct{ *html.Node }

// read gets a view.
func read(t testing.TB, u *mockserver.TestServer, path string) reading {
	t.Helper()
	page, err := html.Parse(strings.NewReader(request(t, u, http.MethodGet, "/_understudy/"+path, "")))
	if err != nil {
		t.Fatal(err)
	}
	return reading{page}
}

// all are the elements of a tag that have a class; both may be empty.
func (r reading) all(tag, class string) (list []reading) {
	if r.Node == nil {
		return nil
	}
	for n := range r.Descendants() {
		one := reading{n}
		if n.Type == html.ElementNode && (tag == "" || n.Data == tag) && (class == "" || slices.Contains(strings.Fields(one.is("class")), class)) {
			list = append(list, one)
		}
	}
	return list
}

// first is the first of them; one that is not there is empty.
func (r reading) first(tag, class string) reading {
	if list := r.all(tag, class); len(list) > 0 {
		return list[0]
	}
	return reading{}
}

// at is the element with an id.
func (r reading) at(id string) reading {
	for _, one := range r.all("", "") {
		if one.is("id") == id {
			return one
		}
	}
	return reading{}
}

// is the value of an attribute.
func (r reading) is(name string) string {
	if r.Node == nil {
		return ""
	}
	for _, a := range r.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// text is what stands in it, with single spaces.
func (r reading) text() string {
	if r.Node == nil {
		return ""
	}
	var b strings.Builder
	for n := range r.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// texts are those of a list.
func texts(list []reading) (out []string) {
	for _, one := range list {
		out = append(out, one.text())
	}
	return out
}

// ask reads a document of the control API, or of the interface.
func fetch[T any](t testing.TB, u *mockserver.TestServer, path string) (to T) {
	t.Helper()
	text := request(t, u, http.MethodGet, path, "")
	if err := json.Unmarshal([]byte(text), &to); err != nil {
		t.Fatalf("%s: %v: %.300s", path, err, text)
	}
	return to
}
