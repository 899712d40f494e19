package spec

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Dialects are namings that can be told apart by the names that a request uses.
type Dialects []*Dialect

// With puts a dialect in front. Those that share its header prefix go.
func (ds Dialects) With(d *Dialect) Dialects {
	out := Dialects{d}
	for _, other := range ds {
		if other.HeaderPrefix != d.HeaderPrefix {
			out = append(out, other)
		}
	}
	return out
}

// Named is the dialect with that name, nil when there is none.
func (ds Dialects) Named(name string) *Dialect {
	for _, d := range ds {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Spoken is a dialect, and the name that shows that somebody speaks it. The
// zero value stands for no such name.
type Spoken struct {
	Dialect *Dialect
	In      string // header, query parameter, or body header
	Name    string
}

// OfRequest finds the dialect by the names of a request's header and raw
// query. Names of two dialects are an error.
func (ds Dialects) OfRequest(h http.Header, rawQuery string) (found Spoken, err error) {
	for name := range h {
		for _, d := range ds {
			if foldPrefix(name, d.HeaderPrefix) {
				found, err = found.and(Spoken{d, "header", name}, err)
			}
		}
	}
	for rest := rawQuery; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		name, _, _ := strings.Cut(pair, "=")
		if plain, unescaped := url.QueryUnescape(name); unescaped == nil {
			name = plain
		}
		for _, d := range ds {
			if name == d.TokenQuery || foldPrefix(name, d.QueryPrefix) {
				found, err = found.and(Spoken{d, "query parameter", name}, err)
			}
		}
	}
	return found, err
}

// OfBody finds the dialect by the names of the headers in a JSON body.
func (ds Dialects) OfBody(body []byte) (found Spoken, err error) {
	text, named := string(body), false
	for _, d := range ds {
		named = named || foldIndex(text, d.HeaderPrefix) >= 0
	}
	if !named {
		return found, nil
	}
	renameKeys(body, func(key string, ofHeader bool) string {
		for _, d := range ds {
			if ofHeader && foldPrefix(key, d.HeaderPrefix) {
				found, err = found.and(Spoken{d, "body header", key}, err)
			}
		}
		return key
	})
	return found, err
}

// And joins what two parts of a request show; an error when they differ.
func (s Spoken) And(other Spoken) (Spoken, error) { return s.and(other, nil) }

func (s Spoken) and(other Spoken, err error) (Spoken, error) {
	switch {
	case s.Dialect == nil:
		return other, err
	case other.Dialect == nil || err != nil:
		return s, err
	case other.Dialect == s.Dialect:
		if cmp.Or(cmp.Compare(other.In, s.In), cmp.Compare(other.Name, s.Name)) < 0 { // the same one every time
			return other, nil
		}
		return s, nil
	}
	return s, fmt.Errorf("%s belongs to the dialect %s, %s to the dialect %s: a request must use the names of one dialect",
		s, s.Dialect.Name, other, other.Dialect.Name)
}

// String is the place and the name.
func (s Spoken) String() string { return s.In + " " + s.Name }

// As is the name as another dialect has it.
func (s Spoken) As(d *Dialect) string {
	switch {
	case s.Name == s.Dialect.TokenQuery:
		return d.TokenQuery
	case s.In == "query parameter":
		return d.QueryPrefix + s.Name[len(s.Dialect.QueryPrefix):]
	}
	return d.HeaderPrefix + s.Name[len(s.Dialect.HeaderPrefix):]
}
