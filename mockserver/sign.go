package mockserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/understudy-mock/understudy/engine"
)

// signatureLife is how long a signature is valid (wire facts, section 2).
const signatureLife = 5 * time.Minute

// sign makes the JWT of a delivery. Its times are wall time, since receivers
// verify against the wall, however far a manual clock has been advanced; under
// a seed they follow the account's clock instead, so that runs repeat to the
// byte.
func (s *Server) sign(a engine.Attempt, body []byte) (string, error) {
	at := s.wall.Now()
	if s.cfg.Seed != 0 {
		at = a.At
	}
	sum := sha256.Sum256(body)
	id := sha256.Sum256([]byte(a.Message.ID + " " + strconv.Itoa(a.Number)))
	claims := jwt.MapClaims{
		"iss":  s.cfg.Dialect.Issuer,
		"sub":  a.Message.URL,
		"iat":  at.Unix(),
		"nbf":  at.Unix(),
		"exp":  at.Add(signatureLife).Unix(),
		"jti":  "jwt_" + hex.EncodeToString(id[:14]),
		"body": base64.URLEncoding.EncodeToString(sum[:]),
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(a.SigningKey))
}
