package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// JSON is a JSON document of the interface without credentials: values of
// members whose names are those of credentials, and what URLs and texts hold.
// A string that is a document itself, or base64 of one, is treated as one. All else stays as it is,
// to the byte. What is no JSON is treated as a text.
func JSON(text []byte) []byte {
	if len(text) == 0 {
		return text
	}
	if !json.Valid(text) {
		return []byte(Text(string(text)))
	}
	w := walker{in: text, out: make([]byte, 0, len(text))}
	w.value(false)
	w.copy(len(text))
	if bytes.Equal(w.out, text) {
		return text // and let go of the copy
	}
	return w.out
}

// walker copies a valid document, and hides what it must on the way.
type walker struct {
	in, out  []byte
	at, done int // what has been read, and copied
}

// copy copies what has been read up to here.
func (w *walker) copy(to int) {
	w.out = append(w.out, w.in[w.done:to]...)
	w.done = to
}

// put writes a value in place of what has been read since from.
func (w *walker) put(from int, value string) {
	w.copy(from)
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // a string always encodes
	w.out = append(w.out, bytes.TrimSpace(b.Bytes())...)
	w.done = w.at
}

// next is the next character that is no blank.
func (w *walker) next() byte {
	for w.at < len(w.in) && strings.IndexByte(" \t\r\n", w.in[w.at]) >= 0 {
		w.at++
	}
	if w.at == len(w.in) {
		return 0
	}
	return w.in[w.at]
}

// value reads a value; all of it is hidden when it is secret.
func (w *walker) value(secret bool) {
	switch w.next() {
	case '{', '[':
		w.list(secret)
	case '"':
		from := w.at
		plain := w.text()
		if shown := shownString(plain, secret); shown != plain {
			w.put(from, shown)
		}
	default:
		from := w.at
		for w.at < len(w.in) && strings.IndexByte(",]} \t\r\n", w.in[w.at]) < 0 {
			w.at++
		}
		if secret && string(w.in[from:w.at]) != "null" {
			w.put(from, Hidden)
		}
	}
}

// list reads an object or an array.
func (w *walker) list(secret bool) {
	object := w.in[w.at] == '{'
	w.at++
	for {
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
	var s string
	_ = json.Unmarshal(w.in[from:w.at], &s) // the document is valid
	return s
}

func shownString(s string, secret bool) string {
	trimmed := strings.TrimSpace(s)
	switch {
	case secret:
		return credential(s)
	case len(trimmed) > 1 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid([]byte(trimmed)):
		return string(JSON([]byte(s)))
	case len(s) > 8 && (s[0] == 'e' || s[0] == 'W'): // how base64 of an object and of an array begins
		if document, err := base64.StdEncoding.DecodeString(s); err == nil && json.Valid(document) {
			if shown := JSON(document); !bytes.Equal(shown, document) {
				return base64.StdEncoding.EncodeToString(shown)
			}
			return s
		}
	}
	return Value(s)
}
