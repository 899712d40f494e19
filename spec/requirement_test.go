package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

func TestRequirementsQuoteTheDocument(t *testing.T) {
	t.Parallel()
	register, err := LoadRequirements()
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for _, q := range register.Requirements {
		if q.Basis == Stated || q.Basis == Implied {
			judged++
		}
	}
	if judged < 120 {
		t.Errorf("%d stated or implied requirements, want at least 120", judged)
	}
	text, err := os.ReadFile("../" + register.Document.File)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != register.Document.SHA256 {
		t.Error("the register belongs to another revision of the document")
	}
	for _, q := range register.Requirements {
		for _, quote := range q.Where.Quotes {
			if !strings.Contains(string(text), quote) {
				t.Errorf("%s quotes what the document does not say: %q", q.ID, quote)
			}
		}
		if !strings.Contains(string(text), q.Where.Quote) || !strings.Contains(string(text), q.Where.Heading) {
			t.Errorf("%s quotes what the document does not say: %q", q.ID, q.Where.Quote)
		}
	}
}

func TestRegistersThatAreRefused(t *testing.T) {
	t.Parallel()
	const good = "requirements:\n- {id: REQ-PUB-001, basis: stated, text: a, where: {heading: h, quote: q}, profile: MSG}\n"
	if _, err := parseRegister([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"REQ-PUB-001", "PUB-1", "must be of the form"},
		{"stated", "said", `basis: invalid value "said"`},
		{"text: a", "text: ''", "text and profile"},
		{"quote: q", "quote: ''", "must have where.heading"},
		{"profile: MSG", "profile: MSG, handling: bind", "must be bind, tolerate, observe or exclude"},
		{"stated", "open", "must be bind, tolerate, observe or exclude"},
		{"stated", "open, handling: exclude", "must be the reason"},
		{"requirements:\n", "requirements:\n- {id: REQ-PUB-001, basis: stated, text: a, where: {heading: h, quote: q}, profile: MSG}\n", "duplicate id"},
		{"profile: MSG", "profil: MSG", "field profil not found"},
	} {
		if _, err := parseRegister([]byte(strings.Replace(good, c.from, c.to, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.to, err, c.want)
		}
	}
}
