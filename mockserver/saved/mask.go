package saved

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-faster/jx"

	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	names "github.com/understudy-mock/understudy/spec/header"
	"github.com/understudy-mock/understudy/spec/mask"
)

// dummies replaces secrets by dummies. Equal secrets have equal dummies of the same
// length, so that a replay takes the same path. The key is random for each file and
// is not stored, so that guesses of a secret cannot be tested against a dummy.
type dummies struct {
	key    []byte
	bodies bool // leave bodies as they are
	hushes bool // headers of users are secrets too
}

// hushing replaces all bodies and all headers of users: from the first redaction in a journal
// on, any of them may be redacted, because a record does not contain what its message redacts.
func (d *dummies) hushing() *dummies { return &dummies{key: d.key, hushes: true} }

// forSnapshot returns the dummies for a journal that begins with a snapshot.
func (d *dummies) forSnapshot(ctx context.Context, j store.Kept) (*dummies, error) {
	snapshot, err := j.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	const sign = `"redact":{`
	in := bufio.NewReaderSize(snapshot, copyBuffer)
	for {
		part, err := in.Peek(copyBuffer)
		if bytes.Contains(part, []byte(sign)) {
			return d.hushing(), nil
		}
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		if _, err := in.Discard(len(part) - len(sign)); err != nil {
			return nil, err
		}
	}
}

func newDummies(bodies bool) *dummies {
	d := &dummies{key: make([]byte, sha256.Size), bodies: bodies}
	_, _ = rand.Read(d.key) // never fails
	return d
}

const (
	letters     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" // none of them delimits a part of a URL or a text
	keyPrefix   = "sig_"                                                           // of signing keys
	dummyPrefix = "masked"
)

// of returns the dummy of a secret.
func (d *dummies) of(secret string) string {
	prefix := ""
	switch {
	case strings.HasPrefix(secret, keyPrefix):
		prefix = keyPrefix
	case len(secret) >= 3*len(dummyPrefix):
		prefix = dummyPrefix
	}
	out := make([]byte, 0, len(secret)+sha256.Size)
	out = append(out, prefix...)
	for block := uint64(0); len(out) < len(secret); block++ {
		h := hmac.New(sha256.New, d.key)
		_ = binary.Write(h, binary.LittleEndian, block) // to memory: never fails
		_, _ = io.WriteString(h, secret)
		for _, b := range h.Sum(nil) {
			out = append(out, letters[int(b)%len(letters)])
		}
	}
	return string(out[:len(secret)])
}

func (d *dummies) masker() mask.Masker { return mask.Masker{Replace: d.of} }

// headerMembers are the members of records, snapshots and documents of the service that contain
// headers, in lower case. Sorted.
var headerMembers = []string{
	"all", "callheader", "callheaders", "callresponseheader", "forward", "header", "headers", "invokedheader", "requestheader", "sourceheader", "timeoutheader", "timeoutheaders",
}

// keptMembers are copied unchanged: the generator of ids, which a replay continues, and
// vectors, whose metadata determine what a filter finds. In lower case, sorted.
var keptMembers = []string{"generator", "vector", "vectors"}

// meaning says how a value of a document is treated.
type meaning int

const (
	plain   meaning = iota // texts are searched for URLs and schemes with credentials
	secret                 // all texts are secrets
	body                   // texts are bodies
	exempt                 // copied unchanged
	headers                // an object whose members are headers
)

// document copies the body of a record of the given kind, a snapshot, or the About
// of an account, with dummies instead of secrets. It works on a stream.
func (d *dummies) document(from io.Reader, to io.Writer, kind string) error {
	c := &copier{dummies: d, in: jx.Decode(from, copyBuffer), out: jx.NewStreamingEncoder(to, copyBuffer), rotates: kind == "rotateKeys"}
	if err := c.value(plain); err != nil {
		return err
	}
	return c.out.Close()
}

// text is document for a value in memory.
func (d *dummies) text(from []byte, kind string) ([]byte, error) {
	var to bytes.Buffer
	err := d.document(bytes.NewReader(from), &to, kind)
	return to.Bytes(), err
}

// copyBuffer is how many bytes of a document are in memory, in addition to its longest
// text.
const copyBuffer = 64 << 10

// copier copies one document.
type copier struct {
	*dummies
	in      *jx.Decoder
	out     *jx.Encoder
	rotates bool // the member Next is a signing key
}

func (c *copier) value(m meaning) error {
	switch c.in.Next() {
	case jx.Object:
		return c.object(m)
	case jx.Array:
		c.out.ArrStart()
		err := c.in.Arr(func(*jx.Decoder) error { return c.value(m) })
		c.out.ArrEnd()
		return err
	case jx.String:
		text, err := c.in.Str()
		c.out.Str(c.shown(text, m))
		return err
	}
	raw, err := c.in.Raw()
	c.out.Raw(raw)
	return err
}

// object copies an object. If its first member is base64, it is a text that is not UTF-8.
func (c *copier) object(m meaning) error {
	started, isText := false, false
	err := c.in.ObjBytes(func(in *jx.Decoder, key []byte) error {
		name := string(key)
		if !started && name == base64Member && in.Next() == jx.String {
			isText = true
			return c.binary(m)
		}
		if !started {
			c.out.ObjStart()
			started = true
		}
		if m == body { // a step as an object: only its members may be bodies
			m = plain
		}
		if m == plain && strings.Contains(name, "://") {
			c.out.FieldStart(c.masker().Value(name))
		} else {
			c.out.FieldStart(name)
		}
		return c.value(c.meaningOf(name, m, in.Next()))
	})
	if isText {
		return err
	}
	if !started {
		c.out.ObjStart()
	}
	c.out.ObjEnd()
	return err
}

// base64Member is the member that contains a text that is not UTF-8.
const base64Member = "base64"

// binary copies a text that is not UTF-8.
func (c *copier) binary(m meaning) error {
	coded, err := c.in.Str()
	if err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(coded)
	if err == nil && (m == secret || m == body && !c.bodies) {
		c.out.Str(c.of(string(raw)))
		return nil
	}
	c.out.ObjStart()
	c.out.FieldStart(base64Member)
	c.out.Str(coded)
	c.out.ObjEnd()
	return err
}

// meaningOf returns the meaning of a member of a value with the meaning m.
func (c *copier) meaningOf(name string, m meaning, is jx.Type) meaning {
	lower := strings.ToLower(name)
	switch {
	case m == headers && !strings.Contains(name, "-Forward-") && (strings.HasPrefix(name, names.Prefix) || name == "Content-Type" || name == "Retry-After"):
		return plain // a replay reads it
	case m == headers:
		return secret
	case m != plain:
		return m
	case c.hushes && is == jx.Object && contains(headerMembers, lower):
		return headers
	case is != jx.String && contains(keptMembers, lower):
		return exempt
	case tenant.HoldsKey(name), c.rotates && name == "Next", mask.Secret(name):
		return secret
	case tenant.HoldsBody(name):
		return body
	}
	return plain
}

func contains(sorted []string, name string) bool {
	_, found := slices.BinarySearch(sorted, name)
	return found
}

// shown returns the text to write to the file.
func (c *copier) shown(text string, m meaning) string {
	switch {
	case text == "" || m == exempt:
		return text
	case m == secret:
		return c.masker().Credential(text)
	case m == plain:
		return c.masker().Value(text)
	case isProtocol(text):
		return c.protocol(text)
	case c.bodies:
		return text
	}
	return c.of(text)
}

// isProtocol reports whether a body is a document of the service, which contains
// headers: a step that an endpoint submits, a request to invoke another run, a
// callback, or the call of a hook.
func isProtocol(text string) bool {
	if !strings.HasPrefix(text, "{") {
		return false
	}
	return strings.Contains(text, `"stepType"`) || strings.Contains(text, `"sourceMessageId"`) || isHook(text)
}

// isHook reports whether a body describes the call of a hook.
func isHook(text string) bool {
	var members map[string]json.RawMessage
	if !strings.HasPrefix(text, `{"body":`) || json.Unmarshal([]byte(text), &members) != nil {
		return false
	}
	return slices.Equal(slices.Sorted(maps.Keys(members)), []string{"body", "header", "host", "method", "proto", "url"})
}

// carried are the members of such documents that contain bodies. Sorted.
var carried = []string{"body", "callBody", "callResponseBody", "out", "payload", "sourceBody"}

// protocol returns a document of the service without credentials, and with dummies for
// its bodies unless bodies are kept. A replay reads the rest.
func (c *copier) protocol(text string) string {
	shown := c.masker().JSON([]byte(text))
	if c.bodies {
		return string(shown)
	}
	in, out := jx.DecodeBytes(shown), &jx.Encoder{}
	if err := c.withoutBodies(in, out); err != nil {
		return c.of(text) // not a document of this kind
	}
	return string(out.Bytes())
}

func (c *copier) withoutBodies(in *jx.Decoder, out *jx.Encoder) error {
	if in.Next() != jx.Object {
		raw, err := in.Raw()
		out.Raw(raw)
		return err
	}
	out.ObjStart()
	defer out.ObjEnd()
	return in.ObjBytes(func(in *jx.Decoder, key []byte) error {
		name := string(key)
		out.FieldStart(name)
		switch is := in.Next(); {
		case c.hushes && is == jx.Object && contains(headerMembers, strings.ToLower(name)):
			return (&copier{dummies: c.dummies, in: in, out: out}).value(headers)
		case !contains(carried, name) || is == jx.Null:
			return c.withoutBodies(in, out)
		case is == jx.String:
			held, err := in.Str()
			out.Str(c.of(held))
			return err
		}
		raw, err := in.Raw()
		out.Str(c.of(string(raw[min(2, len(raw)):]))) // including its quotes, as long as the value that it replaces
		return err
	})
}
