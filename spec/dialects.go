package spec

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Dialects are the dialects of a server, recognized by the names in a request.
type Dialects []*Dialect

// With returns ds with d first and without others that have its header prefix.
func (ds Dialects) With(d *Dialect) Dialects {
	out := Dialects{d}
	for _, other := range ds {
		if other.HeaderPrefix != d.HeaderPrefix {
			out = append(out, other)
		}
	}
	return out
}

// Named returns the dialect with that name, nil for none.
func (ds Dialects) Named(name string) *Dialect {
	for _, d := range ds {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// Spoken is the dialect of a request, or of a part of it, and the name that shows it.
// The zero value means that no name shows a dialect.
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
	if err != nil {
		err = ds.mixedHeader(h) // iterates in sorted order, so that the error is always the same
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

// mixedHeader is the error for a header with names of two dialects: it names the
// first of each in alphabetical order.
func (ds Dialects) mixedHeader(h http.Header) (err error) {
	var found Spoken
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, d := range ds {
			if foldPrefix(name, d.HeaderPrefix) {
				found, err = found.and(Spoken{d, "header", name}, err)
			}
		}
	}
	return err
}

// OfBody finds the dialect by the names of the headers in a JSON body.
func (ds Dialects) OfBody(body []byte) (found Spoken, err error) {
	named := false
	for _, d := range ds {
		named = named || holdsPrefix(body, d.HeaderPrefix)
	}
	if !named {
		return found, nil
	}
	renameKeys(body, func(key []byte, ofHeader bool) (string, bool) {
		for _, d := range ds {
			if ofHeader && foldPrefix(key, d.HeaderPrefix) && !(found.Dialect == d && found.Name <= string(key)) { // otherwise the same is found
				found, err = found.and(Spoken{d, "body header", string(key)}, err)
			}
		}
		return "", false
	})
	return found, err
}

// And combines the dialects of two parts of a request. Two different ones are an error.
func (s Spoken) And(other Spoken) (Spoken, error) { return s.and(other, nil) }

func (s Spoken) and(other Spoken, err error) (Spoken, error) {
	switch {
	case s.Dialect == nil:
		return other, err
	case other.Dialect == nil || err != nil:
		return s, err
	case other.Dialect == s.Dialect:
		if cmp.Or(cmp.Compare(other.In, s.In), cmp.Compare(other.Name, s.Name)) < 0 { // independent of the order of the map
			return other, nil
		}
		return s, nil
	}
	return s, fmt.Errorf("%s belongs to the dialect %s, %s to the dialect %s: a request must use the names of one dialect",
		s, s.Dialect.Name, other, other.Dialect.Name)
}

// String is the place and the name.
func (s Spoken) String() string { return s.In + " " + s.Name }

// As returns the name in another dialect.
func (s Spoken) As(d *Dialect) string {
	switch {
	case s.Name == s.Dialect.TokenQuery:
		return d.TokenQuery
	case s.In == "query parameter":
		return d.QueryPrefix + s.Name[len(s.Dialect.QueryPrefix):]
	}
	return d.HeaderPrefix + s.Name[len(s.Dialect.HeaderPrefix):]
}
