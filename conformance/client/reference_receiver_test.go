package client_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// keys are the signing keys of a receiver.
type keys struct{ current, next string }

// verify verifies the signature of a delivery.
func (r *reference) verify(a values) (any, error) {
	tolerance, _ := strconv.Atoi(a.text("tolerance_s"))
	body := a.part("body")
	content := []byte(body.text("text"))
	if body.has("base64") {
		var err error
		if content, err = base64.StdEncoding.DecodeString(body.text("base64")); err != nil {
			return nil, err
		}
	}
	err := r.verified(keys{a.text("current"), a.text("next")}, a.text("signature"), content, a.text("url"), time.Duration(tolerance)*time.Second)
	if err != nil {
		return nil, err
	}
	return map[string]any{"valid": true}, nil
}

// claims are the claims of a signature.
type claims struct {
	Issuer  string   `json:"iss"`
	Subject *string  `json:"sub"`
	Expires *float64 `json:"exp"`
	From    *float64 `json:"nbf"`
	Body    *string  `json:"body"`
}

// verified returns an error unless one of the keys signed the body, for the address.
func (s switches) verified(k keys, signature string, body []byte, address string, tolerance time.Duration) error {
	tried := []string{k.current, k.next}
	if s.broken("151.1") {
		tried = tried[:1]
	} else if s.broken("150.1") {
		tried = tried[1:]
	}
	var err error
	for _, key := range tried {
		if key == "" && !s.broken("165.1") {
			err = unsigned("a signing key is empty")
		} else if err = s.verifiedWith(key, signature, body, address, tolerance); err == nil {
			return nil
		}
		if f, ok := err.(*failure); ok && f.kind == "KeyError" { //nolint:errorlint // nothing wraps it
			return err
		}
	}
	return err
}

func unsigned(why string) error {
	return &failure{kind: "SignatureError", message: "signature: " + why}
}

func (s switches) verifiedWith(key, signature string, body []byte, address string, tolerance time.Duration) error {
	parts := strings.Split(signature, ".")
	if len(parts) != 3 {
		return unsigned("must have three parts")
	}
	var decoded [3][]byte
	for i, p := range parts {
		var err error
		if decoded[i], err = base64.RawURLEncoding.DecodeString(p); err != nil {
			return unsigned("must be base64url")
		}
	}
	var header struct {
		Algorithm string `json:"alg"`
	}
	if json.Unmarshal(decoded[0], &header) != nil {
		return unsigned("the header must be JSON")
	}
	none := s.broken("159.1") && strings.EqualFold(header.Algorithm, "none")
	if header.Algorithm != "HS256" && !none {
		return unsigned("the algorithm must be HS256")
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(parts[0] + "." + parts[1]))
	own := mac.Sum(nil)
	if s.broken("153.1") && len(decoded[2]) == len(own) {
		copy(decoded[2][8:], own[8:])
	}
	if !hmac.Equal(own, decoded[2]) && !none && !s.broken("152.1") {
		return unsigned("the key did not sign it")
	}
	var c claims
	if err := json.Unmarshal(decoded[1], &c); err != nil {
		return unsigned("the claims must be JSON")
	}
	return s.claimed(c, body, address, tolerance)
}

func (s switches) claimed(c claims, body []byte, address string, tolerance time.Duration) error {
	if s.broken("163.1") {
		tolerance = 0
	} else if s.broken("163.2") {
		tolerance = time.Minute
	}
	now := float64(time.Now().UnixMilli()) / 1000
	switch {
	case c.Issuer != "Svc" && !s.broken("158.1"):
		return unsigned("issued by another")
	case c.Body == nil && s.broken("162.1"):
		return &failure{kind: "KeyError", message: "body"}
	case c.Expires == nil || c.From == nil || c.Body == nil || address != "" && c.Subject == nil:
		return unsigned("a claim is missing")
	case now > *c.Expires+tolerance.Seconds() && !s.broken("156.1"):
		return unsigned("expired")
	case now < *c.From-tolerance.Seconds() && !s.broken("157.1"):
		return unsigned("not valid yet")
	case address != "" && *c.Subject != address && (!s.broken("155.1") || !strings.HasPrefix(address, *c.Subject) && !strings.HasPrefix(*c.Subject, address)):
		return unsigned("for another URL")
	}
	if s.broken("164.1") { // each byte as a character
		var text []rune
		for _, b := range body {
			text = append(text, rune(b))
		}
		body = []byte(string(text))
	}
	sum := sha256.Sum256(body)
	if strings.TrimRight(*c.Body, "=") != base64.RawURLEncoding.EncodeToString(sum[:]) && !s.broken("154.1") {
		return unsigned("for another body")
	}
	return nil
}
