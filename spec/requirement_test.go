package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestRequirementsQuoteTheDocument(t *testing.T) {
	t.Parallel()
	register, err := LoadRequirements()
	expect.NoError(t, err)
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
	expect.NoError(t, err)
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != register.Document.SHA256 {
		t.Error("the register belongs to another revision of the document")
	}
	for _, q := range register.Requirements {
		below := section(string(text), q.Where.Heading)
		if strings.Contains(q.Where.Quote, "(see Resources)") {
			below += section(string(text), "Resources and their fields")
		}
		for _, quote := range append(slices.Collect(maps.Values(q.Where.Quotes)), q.Where.Quote) {
			if !strings.Contains(below, quote) {
				t.Errorf("%s quotes what the document does not say below %q: %q", q.ID, q.Where.Heading, quote)
			}
		}
	}
}

// section returns what follows a heading of the document, up to the next one of its level.
func section(document, heading string) string {
	at := regexp.MustCompile(`(?m)^(#+) ` + regexp.QuoteMeta(heading) + `$`).FindStringSubmatchIndex(document)
	if at == nil {
		return ""
	}
	rest := document[at[1]:]
	if next := regexp.MustCompile(`(?m)^#{1,` + strconv.Itoa(at[3]-at[2]) + `} `).FindStringIndex(rest); next != nil {
		rest = rest[:next[0]]
	}
	return rest
}

// A failure has the words about the field, the operation or the part that failed.
func TestTheWordsAboutAFailure(t *testing.T) {
	t.Parallel()
	w := &Where{Quote: "row | a text", Quotes: map[string]string{
		"url": "url: a text", "urls": "urls: a list", "listAll": "The list.", "payload": "The payload.", "binary payload": "The binary payload.",
	}}
	for name, c := range map[string]struct {
		pointer, operation, text string
		want                     string
		exact                    bool
	}{
		"a field":                  {"/messages/0/url", "listAll", "", "url: a text", true},
		"a field of a field":       {"/urls/0/x", "listAll", "", "urls: a list", true},
		"the field of a row":       {"/messages/0/row", "listAll", "", "row | a text", true},
		"an operation":             {"/other", "listAll", "the payload", "The list.", true},
		"words of a step":          {"", "", `the entry has its "binary payload"`, "The binary payload.", true},
		"fewer words of a step":    {"", "", "the payload arrives", "The payload.", true},
		"nothing that has a quote": {"", "", "the payloads arrive", "row | a text", false},
	} {
		quote, exact := w.About(c.pointer, c.operation, c.text)
		expect.Equal(t, "words about "+name, quote, c.want)
		expect.Equal(t, "exact words about "+name, exact, c.exact)
	}
}

func TestWordsOfTheRegister(t *testing.T) {
	t.Parallel()
	register, err := LoadRequirements()
	expect.NoError(t, err)
	for _, c := range []struct{ id, pointer, operation, step, want string }{
		{"REQ-AUT-001", "", "listWorkflowDLQ", "the request is refused", "Messaging and workflow operations"},
		{"REQ-AUT-001", "", "", "the search index can still be found", "Management API"},
		{"REQ-AUT-005", "", "getUsageStatistics", "the request is refused", "Management API"},
		{"REQ-LOG-007", "", "", "the run has not ended", "RUN_STARTED | The run started and is in progress."},
		{"REQ-LOG-008", "", "", "the run succeeds", "RUN_STARTED | Workflow finishes | Successful termination | RUN_SUCCESS"},
		{"REQ-LOG-008", "", "", "every message of the run is delivered", "message CREATED"},
		{"REQ-RLP-001", "/strategy/0/limiter/tokens", "", "the configuration is refused", "tokens |"},
		{"REQ-RLP-010", "", "", "the last request is denied", "tokens |"},
		{"REQ-RLP-010", "", "", "the last 1 requests reach the application", "fixed-window"},
		{"REQ-STA-008", "/daily_used/3/y", "", "", "y | number"},
	} {
		quote, _ := register.ByID(c.id).Where.About(c.pointer, c.operation, c.step)
		if !strings.HasPrefix(quote, c.want) {
			t.Errorf("%s: words about %q: got %q, want %q", c.id, c.pointer+c.step, quote, c.want)
		}
	}
}

func TestRegistersThatAreRefused(t *testing.T) {
	t.Parallel()
	const good = "requirements:\n- {id: REQ-PUB-001, basis: stated, text: a, where: {heading: h, quote: q}, profile: MSG}\n"
	expect.NoError(t, expect.ErrorOf(parseRegister([]byte(good))))
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
