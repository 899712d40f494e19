package delivery

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/spec"
)

// signatureLife is how long a signature is valid (wire.md, "Signatures").
const signatureLife = 5 * time.Minute

// signDelivery makes the JWT of a delivery, which is valid from the given time on.
func signDelivery(dialect *spec.Dialect, a engine.Attempt, body []byte, at time.Time) (string, error) {
	sum := sha256.Sum256(body)
	id := sha256.Sum256([]byte(a.Message.ID + " " + strconv.Itoa(a.Number)))
	payload, err := json.Marshal(claims{
		Body:      base64.URLEncoding.EncodeToString(sum[:]),
		Expires:   at.Add(signatureLife).Unix(),
		IssuedAt:  at.Unix(),
		Issuer:    dialect.Issuer,
		ID:        "jwt_" + hex.EncodeToString(id[:14]),
		NotBefore: at.Unix(),
		Subject:   a.Message.URL,
	})
	if err != nil {
		return "", err
	}
	token := make([]byte, 0, 1024)
	token = append(append(token, signatureHeader...), '.')
	token = base64.RawURLEncoding.AppendEncode(token, payload)
	mac, err := jwt.SigningMethodHS256.Sign(string(token), []byte(dialect.SigningKey(a.SigningKey)))
	if err != nil {
		return "", err
	}
	token = append(token, '.')
	return string(base64.RawURLEncoding.AppendEncode(token, mac)), nil
}

// claims are those of a signature (wire.md, "Signatures"). A struct and a
// constant header, since a map of each would take longer than the signing.
type claims struct {
	Body      string `json:"body"` // base64url of the SHA-256 of the body, padded
	Expires   int64  `json:"exp"`
	IssuedAt  int64  `json:"iat"`
	Issuer    string `json:"iss"`
	ID        string `json:"jti"`
	NotBefore int64  `json:"nbf"`
	Subject   string `json:"sub"` // the destination URL
}

var signatureHeader = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))
