package client

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"github.com/understudy-mock/understudy/conformance/harness"
)

// sign makes args.signature: the token of a delivery of args.body to args.url with the current
// key, as of does not say otherwise:
//
//	key, alg, url, iss, body     other values
//	iat, nbf, exp                seconds from now
//	drop                         claims that are left out
//	pad                          false: the hash of the body without padding
//	change                       header, payload, signature: one character of it is changed
//	text                         instead of a token, with $token in it for one
func (x *execution) sign(of map[string]any) {
	body, _ := payload(x.args["body"])
	if other, ok := payload(of["body"]); ok {
		body = other
	}
	value := func(name string, usual any) any {
		if v, ok := of[name]; ok {
			return v
		}
		return usual
	}
	key := fmt.Sprint(value("key", x.vars["key1"]))
	url := value("url", x.args["url"])
	if url == nil {
		url = "https://app.test/hook"
	}
	token := signature(x.claims(value, fmt.Sprint(url), body), key, fmt.Sprint(value("alg", "HS256")))
	if which, ok := of["change"].(string); ok {
		token = changed(token, which)
	}
	if text, ok := of["text"].(string); ok {
		parts := strings.Split(token, ".")
		token = strings.NewReplacer("%token", token, "%header", parts[0], "%payload", parts[1], "%signature", parts[2]).Replace(text)
	}
	x.args["signature"] = token
}

// claims are the claims of a token.
func (x *execution) claims(value func(string, any) any, url string, body []byte) map[string]any {
	at := func(name string, usual int) int64 {
		return harness.Now().Unix() + int64(number(value(name, usual)))
	}
	sum := sha256.Sum256(body)
	encoding := base64.URLEncoding
	if value("pad", true) == false {
		encoding = base64.RawURLEncoding
	}
	claims := map[string]any{
		"iss": value("iss", x.lane.recorder.dialect.Issuer), "sub": url, "iat": at("iat", 0), "nbf": at("nbf", 0), "exp": at("exp", 300),
		"jti": "jwt_" + strings.ToLower(rand.Text()), "body": encoding.EncodeToString(sum[:]),
	}
	for _, name := range texts(value("drop", []any{})) {
		maps.DeleteFunc(claims, func(claim string, _ any) bool { return claim == name })
	}
	return claims
}

// number reads a number of a case.
func number(v any) int {
	n := 0
	_, _ = fmt.Sscan(fmt.Sprint(v), &n)
	return n
}

// signature is a JSON web token. The algorithm none has no signature, "none+" one of HS256.
func signature(claims map[string]any, key, alg string) string {
	name := strings.TrimSuffix(alg, "+")
	method, known := jwt.GetSigningMethod(name).(*jwt.SigningMethodHMAC)
	if !known {
		method = jwt.SigningMethodHS256
	}
	token := &jwt.Token{Header: map[string]any{"alg": name, "typ": "JWT"}, Claims: jwt.MapClaims(claims)}
	signed, _ := token.SigningString() // plain values always encode
	if strings.EqualFold(alg, "none") {
		return signed + "."
	}
	sum, _ := method.Sign(signed, []byte(key)) // fails for a key of another type
	return signed + "." + token.EncodeSegment(sum)
}

// changed changes one character in the middle of a part of a token: the last one may have bits that
// no decoder reads.
func changed(token, which string) string {
	parts := strings.Split(token, ".")
	i := map[string]int{"header": 0, "payload": 1, "signature": 2}[which]
	part := []byte(parts[i])
	middle := len(part) / 2
	if part[middle] == 'A' {
		part[middle] = 'B'
	} else {
		part[middle] = 'A'
	}
	parts[i] = string(part)
	return strings.Join(parts, ".")
}
