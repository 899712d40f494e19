package saved

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
)

// A snapshot ends with the SHA-256 checksum of its JSON without the checksum
// and without insignificant white space. Writing and reading both work on a
// stream.

const (
	checksumBegin = `,"checksum":"sha256:`
	checksumEnd   = `"}`
	checksumSize  = len(checksumBegin) + 2*sha256.Size + len(checksumEnd)
)

// checksumMember is the end of a document with a checksum: it replaces the
// closing brace. The sum covers the document with the brace in its place.
func checksumMember(sum []byte) []byte {
	return []byte(checksumBegin + hex.EncodeToString(sum) + checksumEnd)
}

// checksummed passes a document through and adds the checksum at its end.
type checksummed struct {
	to   io.Writer
	sum  hash.Hash
	last []byte // the byte that is held back
}

// newChecksummed buffers only the last byte of the document, whatever its size.
func newChecksummed(to io.Writer) *checksummed { return &checksummed{to: to, sum: sha256.New()} }

// Write holds the last byte back: at the end of the document it is the closing
// brace, which end replaces.
func (w *checksummed) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	_, _ = w.sum.Write(p) // never fails
	if _, err := w.to.Write(w.last); err != nil {
		return 0, err
	}
	n, err := w.to.Write(p[:len(p)-1])
	w.last = append(w.last[:0], p[len(p)-1])
	return n + 1, err
}

// end writes the checksum and the closing brace.
func (w *checksummed) end() error {
	_, err := w.to.Write(checksumMember(w.sum.Sum(nil)))
	return err
}

// verified passes a document through and computes its checksum without
// insignificant white space.
type verified struct {
	from            io.Reader
	sum             hash.Hash
	text            bool // inside a JSON string
	escaped         bool // after a backslash in that string
	compact, behind []byte
}

// newVerified holds back as many bytes as a checksum takes, because only the
// end of the stream shows which bytes are the checksum.
func newVerified(from io.Reader) *verified { return &verified{from: from, sum: sha256.New()} }

// Read passes on the bytes of the document and adds them to the sum.
func (r *verified) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.compact = append(r.compact[:0], r.behind...)
	for _, b := range p[:n] {
		switch {
		case r.escaped:
			r.escaped = false
		case r.text && b == '\\':
			r.escaped = true
		case b == '"':
			r.text = !r.text
		case !r.text && (b == ' ' || b == '\n' || b == '\t' || b == '\r'):
			continue
		}
		r.compact = append(r.compact, b)
	}
	done := max(0, len(r.compact)-checksumSize)
	_, _ = r.sum.Write(r.compact[:done]) // never fails
	r.behind = append(r.behind[:0], r.compact[done:]...)
	return n, err
}

// intact reports whether the document ends with its checksum.
func (r *verified) intact() bool {
	_, _ = r.sum.Write([]byte{'}'})
	return bytes.Equal(r.behind, checksumMember(r.sum.Sum(nil)))
}
