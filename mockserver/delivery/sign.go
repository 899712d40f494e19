package delivery

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"hash"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec"
)

// signatureLife is how long a signature is valid (wire.md, "Signatures").
const signatureLife = 5 * time.Minute

// signDelivery returns the JWT of a delivery, valid from the given time.
func signDelivery(dialect *spec.Dialect, a engine.Attempt, body []byte, at time.Time) (string, error) {
	s := signerPool.Get().(*signer)
	defer signerPool.Put(s)
	s.useKey(dialect.SigningKey(a.SigningKey))
	s.text = strconv.AppendInt(append(append(s.text[:0], a.Message.ID...), ' '), int64(a.Number), 10)
	id, sum := sha256.Sum256(s.text), sha256.Sum256(body)
	// The claims, written directly: encoding a struct takes as long as the signing.
	p := s.payload[:0]
	p = append(p, `{"body":"`...)
	p = base64.URLEncoding.AppendEncode(p, sum[:]) // padded
	p = strconv.AppendInt(append(p, `","exp":`...), at.Add(signatureLife).Unix(), 10)
	p = strconv.AppendInt(append(p, `,"iat":`...), at.Unix(), 10)
	p, err := appendJSON(append(p, `,"iss":`...), dialect.Issuer)
	if err != nil {
		return "", err
	}
	p = hex.AppendEncode(append(p, `,"jti":"jwt_`...), id[:14])
	p = strconv.AppendInt(append(p, `","nbf":`...), at.Unix(), 10)
	if p, err = appendJSON(append(p, `,"sub":`...), a.Message.URL); err != nil {
		return "", err
	}
	p = append(p, '}')
	s.payload = p
	s.text = append(append(s.text[:0], signatureHeader...), '.')
	s.text = base64.RawURLEncoding.AppendEncode(s.text, s.payload)
	_, _ = s.mac.Write(s.text) // never fails
	s.sum = s.mac.Sum(s.sum[:0])
	s.text = base64.RawURLEncoding.AppendEncode(append(s.text, '.'), s.sum)
	return string(s.text), nil
}

// signer has the buffers that signatures reuse.
type signer struct {
	key  string
	mac  hash.Hash // HMAC with SHA-256 under the key
	text []byte
	sum  []byte

	payload []byte
}

var signerPool = sync.Pool{New: func() any { return &signer{} }}

// useKey prepares for another signature. With the same key it keeps the state of the
// hash after the key, which is half of the work.
func (s *signer) useKey(key string) {
	if s.mac == nil || s.key != key {
		s.key, s.mac = key, hmac.New(sha256.New, []byte(key))
		return
	}
	s.mac.Reset()
}

// claims are the claims that SignatureIn reads (wire.md, "Signatures").
type claims struct {
	Expires   int64  `json:"exp"`
	NotBefore int64  `json:"nbf"`
	Subject   string `json:"sub"` // the destination URL
}

// appendJSON appends a text as JSON. Most texts need no escapes.
func appendJSON(to []byte, text string) ([]byte, error) {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return append(append(append(to, '"'), text...), '"'), nil
	}
	encoded, err := json.Marshal(text)
	return append(to, encoded...), err
}

var signatureHeader = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))
