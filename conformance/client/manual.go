package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"embed"

	"github.com/understudy-mock/understudy/conformance/harness"
)

//go:embed skeleton
var skeletons embed.FS

// Skeleton is a commented first adapter in a language.
func Skeleton(language string) ([]byte, error) {
	files, err := skeletons.ReadDir("skeleton")
	if err != nil {
		return nil, err
	}
	var known []string
	for _, f := range files {
		name, _, _ := strings.Cut(f.Name(), ".")
		if known = append(known, name); name == language {
			return skeletons.ReadFile("skeleton/" + f.Name())
		}
	}
	return nil, fmt.Errorf("invalid value %q: must be one of %s", language, strings.Join(known, ", "))
}

// WriteCases writes all cases as JSON, for the unit tests of a library: what is called, what the
// service replies, and what the requests and the result must be.
func WriteCases(w io.Writer) error {
	l, err := load()
	if err != nil {
		return err
	}
	type exported struct {
		ID          string            `json:"id"`
		Requirement string            `json:"requirement"`
		Basis       string            `json:"basis"`
		Title       string            `json:"title"`
		Needs       []string          `json:"needs"`
		Env         map[string]string `json:"env,omitempty"`
		Calls       []Call            `json:"calls"`
	}
	all := make([]exported, len(l.cases))
	for i := range l.cases {
		c := &l.cases[i]
		all[i] = exported{c.ID, c.Requirement.ID, string(c.Basis), c.Title, c.Needs, c.Env, c.Calls}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(map[string]any{"operations": l.operations, "cases": all})
}

// Try makes one call, {"op", "args", "client"}, with the usual reply of the service, and prints its
// requests and its answer.
func (s *Session) Try(ctx context.Context, text string, w io.Writer) error {
	var given struct {
		Op     string         `json:"op"`
		Args   map[string]any `json:"args"`
		Client map[string]any `json:"client"`
		Times  int            `json:"times"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(&given); err != nil {
		return fmt.Errorf("invalid value %q: must be JSON with op, args, client and times: %w", text, err)
	}
	if s.library.operations[given.Op] == nil {
		return fmt.Errorf("invalid value %q: op must be one of %s", given.Op, strings.Join(s.library.order, ", "))
	}
	call := Call{Op: given.Op, Args: given.Args, Client: given.Client, Times: given.Times}
	if call.Args == nil {
		call.Args = s.library.operations[given.Op].Args
	}
	x, err := s.alone(ctx, call)
	if err != nil {
		return err
	}
	for _, q := range x.scene.sent(0) {
		printRequest(w, q)
	}
	_, err = fmt.Fprintln(w, "answer:", x.answers[len(x.answers)-1].line)
	return err
}

// alone makes one call that is not judged.
func (s *Session) alone(ctx context.Context, call Call) (*execution, error) {
	l := <-s.free
	defer func() { s.free <- l }()
	x := &execution{lane: l, session: s, c: &Case{ID: "call", Calls: []Call{call}}, token: "tok0manually+/="}
	x.begin()
	defer x.scene.end()
	err := x.step(ctx, &x.c.Calls[0])
	if f := (*harness.NoVerdict)(nil); err != nil && !errors.As(err, &f) && len(x.answers) == 0 {
		return nil, err
	}
	return x, nil
}

func printRequest(w io.Writer, q *request) {
	_, _ = fmt.Fprintf(w, "%s %s %s\nHost: %s\n", q.Method, q.Target, q.Proto, q.Host)
	for _, name := range slices.Sorted(maps.Keys(q.Wire)) {
		for _, v := range q.Wire[name] {
			_, _ = fmt.Fprintf(w, "%s: %s\n", name, v)
		}
	}
	_, _ = fmt.Fprintf(w, "\n%s\n\n", clip(strings.ToValidUTF8(string(q.Body), "\ufffd")))
}

// Check makes one call of the sentinel over each transport, and prints what would be judged. It
// reports whether the calls worked.
func (s *Session) Check(ctx context.Context, w io.Writer) (bool, error) {
	h := &s.Hello
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "%s %s\t%s, dialect %s\n", h.Name, h.Version, h.Language, s.dialect.Name)
	works := true
	if h.Sentinel == "" {
		_, _ = fmt.Fprintln(t, "sentinel\tnone: absence is judged by what has arrived when a call returns")
	}
	for _, name := range []string{"url", "tls"} {
		op, transport := s.library.operations[h.Sentinel], map[string]string{"url": "http", "tls": "https"}[name]
		if op == nil || name == "tls" && !h.has("feature:tls") || name == "url" && s.fixed() {
			continue
		}
		result := "works"
		x, err := s.alone(ctx, Call{Op: op.Name, Args: op.Args, Client: map[string]any{"url": "$" + name}})
		switch {
		case err != nil:
			result = "FAILS: " + err.Error()
		case x.answers[0].Error != nil:
			result = "FAILS: " + x.answers[0].Error.Message
		case len(x.scene.sent(0)) == 0:
			result = "FAILS: no request"
		}
		works = works && result == "works"
		_, _ = fmt.Fprintf(t, "%s over %s\t%s\n", op.Name, transport, result)
	}
	s.offers(t)
	return works, t.Flush()
}

// offers prints how many cases of each profile would be judged, and what the adapter does not offer.
func (s *Session) offers(w io.Writer) {
	judged, missing := map[string]int{}, map[string]map[string]bool{}
	var profiles []string
	for i := range s.library.cases {
		c := &s.library.cases[i]
		if missing[c.Profile] == nil {
			missing[c.Profile] = map[string]bool{}
			profiles = append(profiles, c.Profile)
		}
		if what := c.missing(&s.Hello); what != "" {
			missing[c.Profile][what] = true
		} else {
			judged[c.Profile]++
		}
	}
	slices.Sort(profiles)
	_, _ = fmt.Fprintln(w, "\nprofile\tcases\tnot offered")
	for _, p := range profiles {
		what := strings.Join(slices.Sorted(maps.Keys(missing[p])), ", ")
		if judged[p] == 0 {
			what = "none of its operations"
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\n", strings.TrimPrefix(p, "CLI-"), judged[p], what)
	}
}
