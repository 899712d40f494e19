package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
)

// JSON hides credentials in a JSON document of the interface: values of members whose
// names are those of credentials, and credentials in URLs and texts. A string that
// contains a document, or base64 of one, is treated as a document. All other bytes
// stay the same. A text that is not JSON is treated as by Text.
func JSON(text []byte) []byte { return hiding.JSON(text) }

// Excerpt is JSON for the beginning of a text: it leaves out what follows the value that
// contains byte number most, because a long document takes long.
func Excerpt(text []byte, most int) []byte { return hiding.excerpt(text, most) }

// JSON hides credentials in a document.
func (m Masker) JSON(text []byte) []byte { return m.excerpt(text, len(text)) }

func (m Masker) excerpt(text []byte, most int) []byte {
	if len(text) == 0 {
		return text
	}
	if !json.Valid(text) {
		return []byte(m.Text(string(text)))
	}
	w := walker{mask: m, in: text, out: make([]byte, 0, min(len(text), most)), most: most}
	w.value(false)
	if len(text) <= most {
		w.at = len(text) // also the white space at the end
	}
	w.copy(w.at)
	if bytes.Equal(w.out, text) {
		return text // so that the copy can be freed
	}
	return w.out
}

// walker copies a valid document and hides credentials.
type walker struct {
	mask     Masker
	in, out  []byte
	at, done int // positions in the input: read and copied so far
	most     int // position at which lists end
}

// copy copies the input up to a position.
func (w *walker) copy(to int) {
	w.out = append(w.out, w.in[w.done:to]...)
	w.done = to
}

// escapedHTML matches escapes of HTML characters as Go writes them in JSON.
var escapedHTML = regexp.MustCompile(`\\u00(26|3[ce])`)

// put writes a value instead of the input since from.
func (w *walker) put(from int, value string) {
	w.copy(from)
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapedHTML.Match(w.in[from:w.at])) // escape as in the input
	_ = encoder.Encode(value)                                 // a string always encodes
	w.out = append(w.out, bytes.TrimSpace(b.Bytes())...)
	w.done = w.at
}

// next skips white space and returns the next character, 0 at the end.
func (w *walker) next() byte {
	for w.at < len(w.in) && strings.IndexByte(" \t\r\n", w.in[w.at]) >= 0 {
		w.at++
	}
	if w.at == len(w.in) {
		return 0
	}
	return w.in[w.at]
}

// value reads a value and hides all of it when it is secret.
func (w *walker) value(secret bool) {
	switch w.next() {
	case '{', '[':
		w.list(secret)
	case '"':
		from := w.at
		plain := w.text()
		if shown := w.mask.shownString(plain, secret); shown != plain {
			w.put(from, shown)
		}
	default:
		from := w.at
		for w.at < len(w.in) && strings.IndexByte(",]} \t\r\n", w.in[w.at]) < 0 {
			w.at++
		}
		if secret && string(w.in[from:w.at]) != "null" {
			w.put(from, w.mask.Replace(string(w.in[from:w.at])))
		}
	}
}

// list reads an object or an array.
func (w *walker) list(secret bool) {
	object := w.in[w.at] == '{'
	w.at++
	for w.at <= w.most {
		switch w.next() {
		case '}', ']':
			w.at++
			return
		case ',':
			w.at++
			continue
		}
		hidden := secret
		if object {
			hidden = Secret(w.text()) || secret
			w.next()
			w.at++ // the colon
		}
		w.value(hidden)
	}
}

// text reads a string.
func (w *walker) text() string {
	from := w.at
	for w.at++; w.in[w.at] != '"'; w.at++ {
		if w.in[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	if bytes.IndexByte(w.in[from:w.at], '\\') < 0 {
		return string(w.in[from+1 : w.at-1])
	}
	var s string
	_ = json.Unmarshal(w.in[from:w.at], &s) // the document is valid
	return s
}

func (m Masker) shownString(s string, secret bool) string {
	trimmed := strings.TrimSpace(s)
	switch {
	case secret:
		return m.Credential(s)
	case len(trimmed) > 1 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid([]byte(trimmed)):
		return string(m.JSON([]byte(s)))
	case len(s) > 8 && (s[0] == 'e' || s[0] == 'W'): // first characters of the base64 of an object or array
		if document, err := base64.StdEncoding.DecodeString(s); err == nil && json.Valid(document) {
			if shown := m.JSON(document); !bytes.Equal(shown, document) {
				return base64.StdEncoding.EncodeToString(shown)
			}
			return s
		}
	}
	return m.Value(s)
}
