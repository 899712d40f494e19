package survey

import (
	_ "embed" // the template
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
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
	dlq, logs := s.filters("dlq", dlqFilters), s.filters("logs", logFilters)
	fields, err := fieldNames()
	if err != nil {
		return err
	}
	return targetFile.Execute(w, map[string]any{
		"Bound": s.Prefix != "" || dlq.Known || logs.Known, "Fields": fields,
		"Survey": s, "Revision": register.Revision, "Name": u.Hostname(), "Prefix": prefix, "Found": s.Prefix != "",
		"Local": localHost(u.Hostname()), "Profiles": strings.Join(append([]string{"MSG"}, s.Profiles...), ", "),
		"Sections": []filterSection{dlq, logs},
	})
}

// fieldNames are the keys of bindings.fields, each with an example, as the schema lists them.
func fieldNames() ([]filterSection, error) {
	type object struct {
		Properties map[string]object
		Examples   []string
	}
	var schema object
	if err := json.Unmarshal(spec.TargetSchema, &schema); err != nil {
		return nil, err
	}
	var list []filterSection
	sections := schema.Properties["bindings"].Properties["fields"].Properties
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		section := filterSection{Name: name}
		for _, key := range slices.Sorted(maps.Keys(sections[name].Properties)) {
			section.Rows = append(section.Rows, filterRow{Filter: key, Name: sections[name].Properties[key].Examples[0]})
		}
		list = append(list, section)
	}
	return list, nil
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
		b.WriteString("header prefix: not found out; a run of the suite tries the known ones\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
