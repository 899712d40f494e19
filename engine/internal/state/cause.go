package state

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/understudy-mock/understudy/internal/clip"
)

// causeLength is the largest part of a response that a cause quotes, in bytes.
const causeLength = 200

// reasonLength is the limit for a text of this program, in bytes. It is larger than
// causeLength, because these texts end with what to do.
const reasonLength = 1000

// Cause describes why an attempt failed: the status and the message of the response, or why
// there is no response. It is empty after a success.
func (o *Outcome) Cause() string {
	switch {
	case o.Status == 0 && o.Err == "":
		return "no response"
	case o.Status == 0:
		text := headlineWithin([]byte(o.Err), reasonLength)
		if rest, ok := strings.CutPrefix(text, noAnswer); ok {
			return "no response" + rest
		}
		return "no response: " + text
	case o.Err != "":
		return headlineWithin([]byte(o.Err), reasonLength)
	case o.OK():
		return ""
	}
	line := strings.TrimPrefix(answerHeadline(o.Body)+" ", strconv.Itoa(o.Status)+" ") // as in "502 Bad Gateway"
	text := fmt.Sprintf("%d %s", o.Status, cmp.Or(strings.TrimSpace(line), "response"))
	if o.Answer.Final {
		text += " (the destination asked for no further attempt)"
	}
	return text
}

// Attempts is the number of attempts of a message that have begun.
func (m *Message) Attempts() int {
	switch {
	case m.State == Created:
		return 0
	case m.State == Retry, m.State == Canceled && !m.NextAt.IsZero(): // cancelled while waiting for a retry
		return int(m.Retried)
	case m.State == Canceled && m.Last == nil:
		return 0
	}
	return int(m.Retried) + 1
}

// Cause describes why the latest attempt of a message failed, "" if it did not.
func (m *Message) Cause() string {
	if m.Last != nil && (m.State == Retry || m.State == Errored || m.State == Failed) {
		return m.CauseOf(m.Last)
	}
	return ""
}

// CauseOf describes the failure o of an attempt: the step, if known, and what the endpoint wrote,
// then the status and the number of the attempt. In state Retry, Retried already counts the next
// attempt.
func (m *Message) CauseOf(o *Outcome) string {
	text := o.Cause()
	if text == "" {
		return ""
	}
	attempt := m.Retried + 1
	if m.State == Retry {
		attempt--
	}
	if status, said, _ := strings.Cut(text, " "); said != "response" && status == strconv.Itoa(o.Status) {
		text = said + " (" + status + ")"
	}
	text = fmt.Sprintf("%s, attempt %d of %d", text, attempt, m.MaxRetries+1)
	switch name := m.AttemptedStep(o); {
	case m.Step == nil:
	case name != "":
		text = name + " failed: " + text
	case m.Step.Step.Type == "Initial":
		text = "the first step failed: " + text
	default:
		text = fmt.Sprintf("the step after %q failed: %s", m.Step.Step.Name, text)
	}
	return text
}

// AttemptedStep is the name of the step that an attempt was for: the step of the plan or of
// the call, otherwise the step that the endpoint reported as failed. It is "" if unknown.
func (m *Message) AttemptedStep(o *Outcome) string {
	if it := m.Step; it != nil && (m.Role.Conduct().CallsOut || it.Step.TargetStep > 0) {
		return it.Step.Name
	}
	if o != nil {
		return o.Answer.Step
	}
	return ""
}

// Asleep reports whether a message carries a sleep of its run that has not ended.
func (m *Message) Asleep() bool {
	return m.Role.Conduct().CarriesSteps && m.State == Created && !m.NextAt.IsZero() && m.Step != nil &&
		strings.HasPrefix(m.Step.Step.Type, "Sleep")
}

// answerHeadline returns the line of a response that says what went wrong: the message of a
// JSON error, the heading of an error page, the last line of a Python traceback, the first
// line of any other text.
func answerHeadline(body []byte) string { return headlineWithin(body, causeLength) }

// headlineWithin detects the format from the body, not from the content type, which error
// pages of frameworks often lack.
func headlineWithin(body []byte, most int) string {
	if !utf8.Valid(body) {
		return fmt.Sprintf("%d bytes that are not text", len(body))
	}
	body = bytes.TrimSpace(body)
	text := string(body)
	var v any
	switch {
	case len(body) == 0:
		return ""
	case strings.ContainsRune(`{["`, rune(body[0])) && json.Unmarshal(body, &v) == nil:
		if line := errorText(v, 0); line != "" {
			text = line
		}
	case body[0] == '<':
		text = pageHeading(text)
	case strings.HasPrefix(text, "Traceback (most recent call last)"):
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	line, _, _ := strings.Cut(wrapper.ReplaceAllString(text, "$1"), "\n")
	return clip.Text(strings.TrimSpace(line), most)
}

// errorFields are the members in which services put the error message, the most specific
// first (RFC 9457 has detail and title).
var errorFields = []string{"message", "detail", "error", "errors", "error_description", "reason", "title", "msg"}

// errorText finds the message of a JSON error. It adds the class of the error, such as
// TypeError, in front.
func errorText(v any, depth int) string {
	const deepest = 4
	if depth > deepest {
		return ""
	}
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case []any:
		if len(v) > 0 {
			return errorText(v[0], depth+1)
		}
	case map[string]any:
		for _, name := range errorFields {
			text := errorText(v[name], depth+1)
			if text == "" {
				continue
			}
			class, _ := v["error"].(string)
			if name == "message" && class != "" && class != "Error" && !strings.ContainsAny(class, " \n") && !strings.Contains(text, class) {
				text = class + ": " + text
			}
			return text
		}
	}
	return ""
}

var (
	// wrapper matches the sentence around a value that a step has thrown, of the client library.
	wrapper       = regexp.MustCompile(`^An error \w+ while executing workflow: '"?(.*?)"?'$`)
	headingMarkup = regexp.MustCompile(`(?is)<pre[^>]*>(.*?)(?:<br|</pre)|<h1[^>]*>(.*?)</h1|<title[^>]*>(.*?)</title`)
	pageParts     = regexp.MustCompile(`(?is)<(?:script|style|head)\b.*?</(?:script|style|head)>|<[^>]*>`)
)

// pageHeading returns the message of an error page: the beginning of its preformatted text,
// its heading or its title, in this order.
func pageHeading(page string) string {
	best := ""
	rank := len(headingMarkup.SubexpNames())
	for _, found := range headingMarkup.FindAllStringSubmatch(page, -1) {
		for i, text := range found[1:] {
			if text = plainText(text); text != "" && i < rank {
				best, rank = text, i
			}
		}
	}
	if best == "" {
		best = plainText(page)
	}
	return best
}

// plainText removes markup. The result is text, not safe HTML.
func plainText(markup string) string {
	return strings.TrimSpace(html.UnescapeString(pageParts.ReplaceAllString(markup, " ")))
}
