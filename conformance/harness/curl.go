package harness

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/conformance/target"
	"github.com/understudy-mock/understudy/spec/mask"
)

// shellVariable marks a shell expression on both sides in a text that is not quoted yet. It
// is for private use in Unicode, so that it does not occur in the text of a request.
const shellVariable = "\uE000"

// sent is a request as it was sent, with its secrets, and the answer.
type sent struct {
	method, url string
	header      http.Header
	body        []byte
	text        []byte // of the answer
	answer      any    // decoded, nil when it is not JSON
	answered    http.Header
}

// variables are the shell variables of a command, with notes on their values.
type variables struct {
	notes []string
	seen  map[string]string // value -> name
	read  bool              // the request is a GET
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
	return shellVariable + "$" + known + shellVariable
}

// curl returns a command that repeats a request after the run, and notes on its variables.
// They replace the credentials, and in destinations the addresses of the receiver, which ends with
// the run.
func (s *Scenario) curl(q *sent) (string, []string) {
	v := &variables{seen: map[string]string{}, read: q.method == http.MethodGet}
	m := mask.Masker{Replace: func(secret string) string { return s.unnamed(secret, v) }}
	var b strings.Builder
	fmt.Fprintf(&b, "curl -sS -i -X %s %s", q.method, shellText(s.parameters(m.Value(q.url), v)))
	for _, name := range slices.Sorted(maps.Keys(q.header)) {
		for _, value := range q.header[name] {
			pair, basic := basicPair(value)
			switch {
			case name == "User-Agent":
			case name == "Authorization" && basic:
				user, password, _ := strings.Cut(pair, ":")
				b.WriteString(" -u " + shellText(s.userName(user, v)+":"+s.parameters(s.unnamed(password, v), v)))
			case mask.Secret(name):
				b.WriteString(" -H " + shellText(name+": "+s.parameters(m.Credential(value), v)))
			default:
				b.WriteString(" -H " + shellText(name+": "+s.parameters(m.Value(value), v)))
			}
		}
	}
	switch {
	case len(q.body) == 0:
	case len(q.body) > maxShown || !utf8.Valid(q.body) || bytes.IndexByte(q.body, 0) >= 0:
		b.WriteString(" --data-binary @body")
		v.notes = append(v.notes, fmt.Sprintf("body: a file with the %d bytes of the request, too many or too binary to be shown here", len(q.body)))
	default:
		b.WriteString(" --data-binary " + shellText(s.parameters(string(m.JSON(q.body)), v)))
	}
	return b.String(), v.notes
}

// basicPair returns the name and password of a header of HTTP Basic.
func basicPair(value string) (string, bool) {
	r := http.Request{Header: http.Header{"Authorization": {value}}}
	user, password, ok := r.BasicAuth()
	return user + ":" + password, ok
}

// unnamed returns a credential as it is when parameters gives it a name or the suite has made
// it up, an expression for one that is made of a known credential, and otherwise a variable.
func (s *Scenario) unnamed(secret string, v *variables) string {
	for _, c := range s.known() {
		switch {
		case strings.Contains(secret, c.value) || strings.Contains(secret, url.QueryEscape(c.value)):
			return secret
		case len(secret) > 0 && strings.HasPrefix(c.value, secret) && len(c.value) == len(secret)+1:
			return strings.Replace(v.name(c.value, c.name, c.note), "$"+c.name, "${"+c.name+"%?}", 1)
		case strings.EqualFold(c.value, secret) && secret == strings.ToUpper(secret):
			return strings.Replace(v.name(c.value, c.name, c.note), "$"+c.name, "$(printf %s \"$"+c.name+"\" | tr a-z A-Z)", 1)
		case strings.EqualFold(c.value, secret):
			return strings.Replace(v.name(c.value, c.name, c.note), "$"+c.name, "$(printf %s \"$"+c.name+"\" | tr A-Z a-z)", 1)
		}
	}
	if strings.Contains(secret, s.Suite.ID) && !slices.Contains(s.Hidden, secret) {
		return secret
	}
	return v.name(secret, "CREDENTIAL", "a credential that is not in the target file: of another account, or in a driver")
}

// credentialName is a credential with the name of its shell variable.
type credentialName struct{ value, name, note string }

// known returns the credentials that have a variable each.
func (s *Scenario) known() []credentialName {
	a, file := s.Auth, s.Suite.Target.Target.Auth
	var list []credentialName
	for _, c := range []struct {
		own, file target.Secret
		name, key string
	}{
		{a.Bearer, file.Bearer, "TARGET_TOKEN", "bearer"}, {a.VectorBearer, file.VectorBearer, "TARGET_VECTOR_TOKEN", "vector_bearer"},
		{a.KVBearer, file.KVBearer, "TARGET_KV_TOKEN", "kv_bearer"},
		{a.Basic.Password, file.Basic.Password, "TARGET_PASSWORD", "basic.password"},
	} {
		if len(c.own) >= minSecret {
			list = append(list, credentialName{string(c.own), c.name, credentialNote(c.key, c.own == c.file)})
		}
	}
	return list
}

// credentialNote says where a credential comes from.
func credentialNote(key string, fromFile bool) string {
	if fromFile {
		return "target.auth." + key + " of the target file"
	}
	return "auth." + key + " of an account that the driver \"account\" makes"
}

// userName replaces the name of the account, which occurs in other texts by chance, only in
// the credentials of HTTP Basic.
func (s *Scenario) userName(user string, v *variables) string {
	own := s.Auth.Basic.Username
	if own == "" || !strings.Contains(user, string(own)) {
		return user
	}
	name := v.name(string(own), "TARGET_USERNAME", credentialNote("basic.username", own == s.Suite.Target.Target.Auth.Basic.Username))
	return strings.Replace(user, string(own), name, 1)
}

// parameters replaces credentials with variables, and receiver addresses. A read keeps them: there
// they are values of filters, and what they fit was listed before.
func (s *Scenario) parameters(text string, v *variables) string {
	for _, c := range s.known() {
		for _, form := range []string{c.value, url.QueryEscape(c.value)} {
			if strings.Contains(text, form) {
				text = strings.ReplaceAll(text, form, v.name(c.value, c.name, c.note))
			}
		}
	}
	if v.read {
		return text
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
			b.WriteString(`"` + part + `"`)
		case part != "":
			b.WriteString("'" + strings.ReplaceAll(part, "'", `'\''`) + "'")
		}
	}
	return b.String()
}
