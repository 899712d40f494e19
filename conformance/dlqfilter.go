package conformance

import (
	"strconv"
)

func (s *scenario) filterQueue(filter string) error {
	sample, other := s.runs.entries[0], s.runs.entries[1]
	equal := func(pointer string) (string, func(any) bool) {
		want, _ := at(sample, pointer)
		return plain(want), func(e any) bool { v, _ := at(e, pointer); return plain(v) == plain(want) }
	}
	names := map[string]struct{ binding, pointer string }{
		"run id": {"run_id", "/workflowRunId"}, "workflow url": {"url", "/workflowUrl"}, "response status": {"response_status", "/responseStatus"},
		"publisher": {"caller_ip", "/callerIP"}, "callback state": {"callback_state", "/failureCallbackInfo/state"},
	}
	filters := map[string]string{}
	if s.bound("dlq", "from") != "" {
		filters["from"] = strconv.FormatInt(s.runs.triggered.Add(-s.skew()).UnixMilli(), 10)
	}
	if n, ok := names[filter]; ok {
		v, fits := equal(n.pointer)
		filters[n.binding] = v
		return s.readFiltered("listWorkflowDLQ", "dlq", filters, fits)
	}
	field, err := s.binding("fields.dlq", "label")
	if err != nil {
		return err
	}
	label, fits := equal("/" + field)
	filters["label"] = label
	if filter != "label" {
		run, _ := text(other, "/workflowRunId")
		filters["run_id"] = run
		l, err := s.read("listWorkflowDLQ", "dlq", 0, filters)
		if err != nil {
			return err
		}
		if len(l.items) > 0 {
			return s.failure("entries that fit one filter only were listed", "none", shown(l.items[0]))
		}
		filters["run_id"], _ = text(sample, "/workflowRunId")
	}
	return s.readFiltered("listWorkflowDLQ", "dlq", filters, fits)
}

func (s *scenario) filterQueueByDate(end string) error {
	var known []any
	for _, id := range s.runs.ids {
		entries, err := s.ofRun(id)
		if err != nil {
			return err
		}
		known = append(known, entries...)
	}
	// Which time of an entry a date filters is not shown: that of its message, or
	// that of its failure. With a moved clock they are one instant; otherwise only
	// what holds for both is demanded.
	sample := known[0]
	if end == "start" {
		sample = known[len(known)-1]
	}
	t, _ := integer(sample, "/createdAt")
	const slack = 10_000 // ms
	near := func(e any) int64 { x, _ := integer(e, "/createdAt"); return x }
	name, fits := "from", func(e any) bool { return near(e) >= t }
	allowed := func(e any) bool { return near(e) >= t-slack }
	if end == "end" {
		name, allowed = "to", func(e any) bool { return near(e) <= t }
		fits = allowed
		if !s.clock.virtual() {
			t += slack / 2
			fits = func(e any) bool { return near(e) <= t-slack/2 }
		}
	}
	if s.clock.virtual() {
		allowed = fits
	}
	filters := map[string]string{name: strconv.FormatInt(t, 10)}
	if end == "end" && s.bound("dlq", "from") != "" {
		filters["from"] = strconv.FormatInt(s.runs.triggered.Add(-s.skew()).UnixMilli(), 10)
	}
	err := s.readFiltered("listWorkflowDLQ", "dlq", filters, fits)
	s.runs.listed.allowed = allowed
	return err
}
