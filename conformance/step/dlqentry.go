package step

import (
	"net/http"
	"slices"
	"strings"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/table"
	"github.com/understudy-mock/understudy/spec/header"
)

// deadConfigured makes a dead-lettered run with everything that a target could lose on one of
// its ways: every configuration header that the target file binds, forwarded headers, and a
// long payload.
func (s *Scenario) deadConfigured(way string) error {
	for _, c := range [][2]string{{"flow_key", s.Name("key")}, {"flow_value", s.FlowValue(harness.FlowValues[0])}, {"method", http.MethodPut}} {
		if name := s.Bound("headers", c[0]); name != "" {
			s.Configure(name, c[1])
		}
	}
	for _, h := range configuration {
		s.runs.header.Add(header.ForwardPrefix+h[0], h[1])
	}
	s.runs.payload = `{ "order" : "` + strings.Repeat("0123456789abcde ", 100<<10/16) + `" }`
	times, err := 0, error(nil)
	switch way {
	case "tried three times":
		err = s.option(s.Configure, header.Retries, "2")
	case "delayed":
		err = s.option(s.Configure, header.Delay, "2 seconds")
	case "held by a key":
		err = s.pausedKey("a", "", 0)
	case "restarted once", "restarted twice":
		times = len(way) / len("restarted once")
	}
	if err != nil {
		return err
	}
	if s.Bound("headers", "failure_callback") == "" {
		err = s.deadRun()
	} else {
		err = s.deadRunWithCallback()
	}
	if err != nil || times == 0 {
		return err
	}
	return s.restartedBefore(strings.TrimPrefix(way, "restarted "))
}

// shows requires a header with its values in a header map of an item.
func (s *Scenario) shows(item any, pointer, message, want string) error {
	if v, _ := check.At(item, pointer); table.Holds(v, want) {
		return nil
	}
	return s.FailureAt(item, pointer, message, want)
}

// deadOfAnother makes a dead-lettered run of another workflow and then restores the
// scenario's own run.
func (s *Scenario) deadOfAnother() error {
	runs, named := s.runs, s.Named["the workflow"]
	delete(s.Named, "the workflow")
	err := s.deadRun()
	s.Named["the workflow"] = named
	runs.header, runs.number = s.runs.header, s.runs.number
	s.runs = runs
	return err
}

// entryFields are the fields of an entry but the outcome of its failure callback, which may change.
var entryFields = slices.DeleteFunc(slices.Concat(check.EntryFields, check.EntryHeaders), func(f check.Field) bool { return f.Name == "failureCallbackInfo" })

func (s *Scenario) entryIsSame() error { return s.sameEntry(s.runs.entries[0], s.runs.entry) }

// sameEntry compares two readings of an entry. The outcome of the failure callback may change
// until it is a success.
func (s *Scenario) sameEntry(before, now any) error {
	var fields []string
	for _, f := range entryFields {
		fields = append(fields, f.Name)
	}
	for _, name := range []string{"body", "body_base64", "flow_key", "label", "response_body_base64"} {
		if field := s.Bound("fields.dlq", name); field != "" {
			fields = append(fields, field)
		}
	}
	for _, field := range fields {
		was, _ := check.At(before, "/"+field)
		is, _ := check.At(now, "/"+field)
		if harness.Plain(was) != harness.Plain(is) {
			return s.FailureAt(now, "/"+field, "the entry changed between two readings", harness.Clip(harness.Plain(was)))
		}
	}
	if state, _ := check.Text(before, "/failureCallbackInfo/state"); state == "CALLBACK_SUCCESS" {
		was, _ := check.At(before, "/failureCallbackInfo")
		is, _ := check.At(now, "/failureCallbackInfo")
		if harness.Plain(was) != harness.Plain(is) {
			return s.FailureAt(now, "/failureCallbackInfo", "the outcome of a failure callback that was accepted has changed", harness.Clip(harness.Plain(was)))
		}
	}
	return nil
}

// sameEntries requires each of the entries once in the list, as it was read before.
func (s *Scenario) sameEntries(want []any) error {
	l := &s.runs.listed
	if err := s.ListedOnce(l, want, entryID); err != nil {
		return err
	}
	for _, was := range want {
		for _, is := range l.Items {
			if entryID(is) != entryID(was) {
				continue
			}
			if err := s.sameEntry(was, is); err != nil {
				return err
			}
		}
	}
	return nil
}
