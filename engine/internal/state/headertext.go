package state

import (
	"encoding/binary"
	"iter"
	"slices"
)

// HeaderText is a header as one text, which messages keep: a map takes several times the
// memory, and a search through the maps of many messages takes several times the time. It
// has each name with the number of its values, then the values, each text after its length.
// The names are sorted, so that equal headers are equal texts.
type HeaderText string

// usualNames is how many names most headers have at most, and usualText how many bytes: memory
// for so much is on the stack.
const (
	usualNames = 16
	usualText  = 512
)

// TextOf returns a header as a text; "" for none.
func TextOf(h Header) HeaderText {
	var few [usualText]byte
	return HeaderText(appendHeaders(few[:0], h))
}

// SetFields sets the text to a header.
func (t *HeaderText) SetFields(h map[string][]string) { *t = TextOf(h) }

// textOf returns the headers of h that have one of the names. It sorts the names.
func textOf(h Header, names []string) HeaderText {
	var few [usualText]byte
	slices.Sort(names)
	out := few[:0]
	for _, name := range names {
		out = appendField(out, name, h[name])
	}
	return HeaderText(out)
}

// appendHeaders appends the text of several headers; the first one that has a name counts.
func appendHeaders(out []byte, of ...Header) []byte {
	var few [usualNames]string
	names := few[:0]
	for _, h := range of {
		for name := range h {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		for _, h := range of {
			if values, ok := h[name]; ok {
				out = appendField(out, name, values)
				break
			}
		}
	}
	return out
}

func appendField(out []byte, name string, values []string) []byte {
	out = binary.AppendUvarint(appendText(out, name), uint64(len(values)))
	for _, value := range values {
		out = appendText(out, value)
	}
	return out
}

func appendText(out []byte, text string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

// number reads a length or a number of values.
func (t *HeaderText) number() (n int) {
	for shift := 0; ; shift += 7 {
		b := (*t)[0]
		*t = (*t)[1:]
		if n |= int(b&0x7f) << shift; b < 0x80 {
			return n
		}
	}
}

// text reads a text after its length.
func (t *HeaderText) text() string {
	n := t.number()
	text := (*t)[:n]
	*t = (*t)[n:]
	return string(text)
}

// Fields yields each name with its values, sorted by name. The values are valid until the
// next name.
func (t HeaderText) Fields() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		values := []string{}
		for rest := t; rest != ""; {
			name := rest.text()
			values = values[:0]
			for range rest.number() {
				values = append(values, rest.text())
			}
			if !yield(name, values) {
				return
			}
		}
	}
}

// All yields each value with its name, sorted by name.
func (t HeaderText) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for rest := t; rest != ""; {
			name := rest.text()
			for range rest.number() {
				if !yield(name, rest.text()) {
					return
				}
			}
		}
	}
}

// Len is the number of names.
func (t HeaderText) Len() (n int) {
	for rest := t; rest != ""; n++ {
		rest.text()
		for range rest.number() {
			rest.text()
		}
	}
	return n
}

// CopyTo adds the header to h, which has none of its names. Its values become parts of the
// list values, which it returns longer; memory for it is the only allocation.
func (t HeaderText) CopyTo(h Header, values []string) []string {
	for rest := t; rest != ""; {
		name, first := rest.text(), len(values)
		for range rest.number() {
			values = append(values, rest.text())
		}
		h[name] = values[first:len(values):len(values)]
	}
	return values
}

// Header returns the header as a map, nil for none.
func (t HeaderText) Header() Header {
	if t == "" {
		return nil
	}
	n := t.Len()
	h := make(Header, n)
	t.CopyTo(h, make([]string, 0, n))
	return h
}

// Size is approximately its memory.
func (t HeaderText) Size() int64 { return int64(len(t)) }

// HeaderPair has the two headers of a message, in half the memory of two texts.
type HeaderPair string

// PairOf joins the header as published, with configuration and without credentials, and the
// header that the destination receives.
func PairOf(published, forward HeaderText) HeaderPair {
	if published == "" && forward == "" {
		return ""
	}
	var few [2 * usualText]byte
	return HeaderPair(append(appendText(few[:0], string(published)), forward...))
}

// Part is one of the two headers, in the order of PairOf.
func (p HeaderPair) Part(i int) HeaderText {
	if i == 0 {
		return p.Published()
	}
	return p.Forward()
}

// Fields yields the fields of one of the two headers.
func (p HeaderPair) Fields(i int) iter.Seq2[string, []string] { return p.Part(i).Fields() }

// Has reports whether one of the two headers is not empty.
func (p HeaderPair) Has(i int) bool { return p.Part(i) != "" }

// SetPart sets one of the two headers.
func (p *HeaderPair) SetPart(i int, h map[string][]string) {
	parts := [...]HeaderText{p.Part(0), p.Part(1)}
	parts[i] = TextOf(h)
	*p = PairOf(parts[0], parts[1])
}

// Published is the header as published.
func (p HeaderPair) Published() HeaderText {
	if p == "" {
		return ""
	}
	rest := HeaderText(p)
	return HeaderText(rest.text())
}

// Forward is the header that the destination receives.
func (p HeaderPair) Forward() HeaderText {
	if p == "" {
		return ""
	}
	rest := HeaderText(p)
	rest.text()
	return rest
}

// Size is approximately its memory.
func (p HeaderPair) Size() int64 { return int64(len(p)) }
