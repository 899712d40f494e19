package harness

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/spec/mask"
)

// shellVariable marks the name of a shell variable on both sides in a text that is not
// quoted yet. It cannot occur in the text of a request.
const shellVariable = "\x00"

// variables are the shell variables of a command, with notes on their values.
type variables struct {
	notes []string
	seen  map[string]string // value -> name
}

// name returns the marked variable for a value; note says which value to set.
func (v *variables) name(value, name, note string) string {
	known, ok := v.seen[value]
	if !ok {
		if same := len(slices.DeleteFunc(slices.Collect(maps.Values(v.seen)), func(n string) bool { return !strings.HasPrefix(n, name) })); same > 0 {
			name += "_" + strconv.Itoa(same+1)
		}
		v.seen[value], known = name, name
		v.notes = append(v.notes, name+": "+note)
	}
	return shellVariable + known + shellVariable
}

// curl returns a command that repeats a request after the run, and notes on its variables.
// They replace the credentials, and the addresses of the receiver, which ends with the run.
func (s *Scenario) curl(r *http.Request, body []byte) (string, []string) {
	v := &variables{seen: map[string]string{}}
	text := func(t string) string { return shellText(s.Masked(s.parameters(t, v))) }
	var b strings.Builder
	fmt.Fprintf(&b, "curl -sS -i -X %s %s", r.Method, text(r.URL.String()))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			basic := name == "Authorization" && strings.HasPrefix(value, "Basic ")
			switch {
			case name == "User-Agent":
			case basic && value == s.basic():
				user := v.name("username", "TARGET_USERNAME", "target.auth.basic.username of the target file")
				password := v.name("password", "TARGET_PASSWORD", "target.auth.basic.password of the target file")
				b.WriteString(" -u " + shellText(user+":"+password))
			case mask.Secret(name) && !strings.Contains(s.parameters(value, v), shellVariable):
				b.WriteString(" -H " + shellText(name+": "+v.name(value, "CREDENTIAL", "what the request sent as "+name+", on purpose not the one of the target file or one of a driver")))
			default:
				b.WriteString(" -H " + text(name+": "+value))
			}
		}
	}
	switch {
	case len(body) == 0:
	case len(body) > maxShown || !utf8.Valid(body) || strings.Contains(string(body), shellVariable):
		b.WriteString(" --data-binary @body")
		v.notes = append(v.notes, fmt.Sprintf("body: a file with the %d bytes of the request, too many or too binary to be shown here", len(body)))
	default:
		b.WriteString(" --data-binary " + shellText(s.Masked(s.parameters(string(mask.JSON(body)), v))))
	}
	return b.String(), v.notes
}

func (s *Scenario) basic() string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(string(s.Auth.Basic.Username), string(s.Auth.Basic.Password))
	return r.Header.Get("Authorization")
}

// parameters replaces credentials and receiver addresses with variables.
func (s *Scenario) parameters(text string, v *variables) string {
	for _, c := range []struct{ value, name, key string }{
		{string(s.Auth.Bearer), "TARGET_TOKEN", "auth.bearer"}, {string(s.Auth.VectorBearer), "TARGET_VECTOR_TOKEN", "auth.vector_bearer"},
		{string(s.Auth.KVBearer), "TARGET_KV_TOKEN", "auth.kv_bearer"},
	} {
		for _, form := range []string{c.value, url.QueryEscape(c.value)} {
			if len(c.value) >= minSecret && strings.Contains(text, form) {
				text = strings.ReplaceAll(text, form, v.name(c.value, c.name, "target."+c.key+" of the target file"))
			}
		}
	}
	return s.Suite.receivers().ReplaceAllStringFunc(text, func(address string) string {
		plain, err := url.QueryUnescape(address)
		if err != nil {
			plain = address
		}
		return v.name(plain, "RECEIVER_URL", "any URL that the target can deliver to; the suite's own receiver is gone after the run")
	})
}

// minSecret is the minimum length of a text to be treated as a secret.
const minSecret = 4

// receivers matches the addresses of endpoints, also in a query.
func (st *Suite) receivers() *regexp.Regexp {
	st.receiverOnce.Do(func() {
		base := st.Receiver.Public + "/r"
		st.receiverURLs = regexp.MustCompile(regexp.QuoteMeta(base) + `(?:/[a-z0-9]+){3}|` + regexp.QuoteMeta(url.QueryEscape(base)) + `(?:%2F[a-z0-9]+){3}`)
	})
	return st.receiverURLs
}

// shellText quotes a text for a shell, except its variables.
func shellText(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, shellVariable) {
		switch {
		case i%2 == 1:
			b.WriteString(`"$` + part + `"`)
		case part != "":
			b.WriteString("'" + strings.ReplaceAll(part, "'", `'\''`) + "'")
		}
	}
	return b.String()
}
