package survey

import (
	_ "embed" // the template
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"text/template"

	"github.com/understudy-mock/understudy/spec"
)

// candidate is a filter of a list and the query names that are common for it.
type candidate struct {
	filter string // key of bindings.dlq or bindings.logs
	names  []string
	value  string // a valid value of the filter
}

// Sorted by filter.
var dlqFilters = []candidate{
	{"callback_state", []string{"failureCallbackState", "callbackState"}, "CALLBACK_FAIL"},
	{"caller_ip", []string{"callerIp", "callerIP"}, "192.0.2.1"},
	{"count", []string{"count", "limit"}, "1"},
	{"cursor", []string{"cursor"}, ""},
	{"from", []string{"fromDate", "from"}, "1"},
	{"label", []string{"label"}, "none"},
	{"response_status", []string{"responseStatus"}, "500"},
	{"run_id", []string{"workflowRunId", "runId"}, "none"},
	{"to", []string{"toDate", "to"}, "1"},
	{"url", []string{"workflowUrl", "url"}, "https://none.example"},
}

// Sorted by filter.
var logFilters = []candidate{
	{"count", []string{"count", "limit"}, "1"},
	{"created_at", []string{"workflowCreatedAt", "createdAt"}, "1"},
	{"cursor", []string{"cursor"}, ""},
	{"from", []string{"fromDate", "from"}, "1"},
	{"message_id", []string{"messageId"}, "none"},
	{"run_id", []string{"workflowRunId", "runId"}, "none"},
	{"state", []string{"state"}, "RUN_STARTED"},
	{"to", []string{"toDate", "to"}, "1"},
	{"url", []string{"workflowUrl", "url"}, "https://none.example"},
}

//go:embed target.yaml.tmpl
var targetTemplate string

var targetFile = template.Must(template.New("target").Funcs(template.FuncMap{"quoted": quoted}).Parse(targetTemplate))

// filterSection is a section of the bindings, and filterRow a line of it.
type (
	filterSection struct {
		Name  string
		Known bool // at least one row is known
		Rows  []filterRow
	}
	filterRow struct {
		Filter, Name string
		Known        bool
	}
)

// WriteTarget writes a target file with what was found. What could not be found is a
// comment with an example.
func (s *Survey) WriteTarget(w io.Writer) error {
	register, err := spec.LoadRequirements()
	if err != nil {
		return err
	}
	u, err := url.Parse(s.Base)
	if err != nil {
		return err
	}
	prefix := s.Prefix
	if prefix == "" {
		prefix = "Svc"
	}
	return targetFile.Execute(w, map[string]any{
		"Survey": s, "Revision": register.Revision, "Name": u.Hostname(), "Prefix": prefix, "Found": s.Prefix != "",
		"Local": localHost(u.Hostname()), "Profiles": strings.Join(append([]string{"MSG"}, s.Profiles...), ", "),
		"Sections": []filterSection{s.filters("dlq", dlqFilters), s.filters("logs", logFilters)},
	})
}

func (s *Survey) filters(section string, candidates []candidate) filterSection {
	out := filterSection{Name: section, Known: len(s.Filters[section]) > 0, Rows: make([]filterRow, len(candidates))}
	for i, c := range candidates {
		name, known := s.Filters[section][c.filter]
		if !known {
			name = c.names[0]
		}
		out.Rows[i] = filterRow{c.filter, name, known}
	}
	return out
}

// localHost reports whether a host is this machine.
func localHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// Write writes the findings for people.
func (s *Survey) Write(w io.Writer) error {
	var b strings.Builder
	for _, f := range s.Findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Question, f.Answer)
	}
	switch {
	case s.Prefix != "":
		fmt.Fprintf(&b, "header prefix: %s (seen in an answer)\n", s.Prefix)
	default:
		b.WriteString("header prefix: not found out; Svc is assumed\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
