package delivery

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Signature is a decoded signature of a delivery. It helps to find out why an endpoint
// refused the delivery.
type Signature struct {
	Header    string // its name
	URL       string // of the destination, as it was signed
	NotBefore time.Time
	Expires   time.Time
	signed    string // the signed text
	mac       []byte
}

// SignatureIn reads the signature among the headers of a delivery; false for none.
func SignatureIn(h http.Header) (Signature, bool) {
	for name, values := range h {
		if !strings.HasSuffix(name, "-Signature") || len(values) != 1 {
			continue
		}
		at := strings.LastIndexByte(values[0], '.')
		parts := strings.Split(values[0], ".")
		if len(parts) != 3 {
			continue
		}
		var said claims
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil || json.Unmarshal(payload, &said) != nil {
			continue
		}
		mac, err := base64.RawURLEncoding.DecodeString(parts[2])
		if err != nil {
			continue
		}
		return Signature{name, said.Subject, time.Unix(said.NotBefore, 0), time.Unix(said.Expires, 0), values[0][:at], mac}, true
	}
	return Signature{}, false
}

// By reports whether a key made the signature.
func (s *Signature) By(key string) bool {
	return jwt.SigningMethodHS256.Verify(s.signed, s.mac, []byte(key)) == nil
}
