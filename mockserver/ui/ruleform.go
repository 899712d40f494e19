package ui

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-mock/understudy/spec/mask"
)

// editField is a form field for a member of a rule.
type editField struct {
	Name    string // of the member
	Label   string
	Kind    string   // text, number, status, flag; lines: a header
	Choices []string // of a text; empty: any text
	Input   string   // the name of the form field
	Value   string   // its value; "yes" for a flag that is set
}

// The members of rules in the order of the form. A test compares them with the Go types of
// rules.
var (
	stubFields = []editField{
		{Name: "url", Label: "URL", Kind: "text"}, {Name: "method", Label: "Method", Kind: "text"},
		{Name: "header", Label: "Only with these headers, one per line", Kind: "lines"},
		{Name: "perMessage", Label: "each message starts with the first answer", Kind: "flag"},
	}
	answerFields = []editField{
		{Name: "status", Label: "Status", Kind: "status"}, {Name: "fail", Label: "Failure", Kind: "text", Choices: []string{"refused", "reset", "timeout", "tls"}},
		{Name: "body", Label: "Body", Kind: "text"}, {Name: "delay", Label: "Delay", Kind: "text"},
		{Name: "headers", Label: "Headers, one per line", Kind: "lines"}, {Name: "drop", Label: "the connection ends without an answer", Kind: "flag"},
	}
	apiFaultFields = []editField{
		{Name: "operation", Label: "Operation", Kind: "text"}, {Name: "header", Label: "Only with these headers, one per line", Kind: "lines"},
		{Name: "preset", Label: "Preset", Kind: "text", Choices: []string{"rate-limit-burst", "rate-limit-daily"}},
		{Name: "status", Label: "Status", Kind: "number"}, {Name: "body", Label: "Body", Kind: "text"}, {Name: "headers", Label: "Headers of the answer, one per line", Kind: "lines"},
		{Name: "delay", Label: "Delay", Kind: "text"}, {Name: "times", Label: "Times", Kind: "number"}, {Name: "probability", Label: "Probability", Kind: "number"},
		{Name: "drop", Label: "breaks off", Kind: "flag"},
	}
	deliveryFaultFields = []editField{
		{Name: "url", Label: "URL", Kind: "text"}, {Name: "header", Label: "Only with these headers, one per line", Kind: "lines"},
		{Name: "delay", Label: "Delay", Kind: "text"}, {Name: "times", Label: "Times", Kind: "number"}, {Name: "probability", Label: "Probability", Kind: "number"},
		{Name: "drop", Label: "lost", Kind: "flag"}, {Name: "duplicate", Label: "made twice", Kind: "flag"}, {Name: "reorder", Label: "overtaken", Kind: "flag"},
	}
)

// ruleForm is the form of a rule: its fields, and for a stub the fields of each answer and of
// a blank one at the end.
type ruleForm struct {
	Fields  []editField
	Answers [][]editField
}

// formOfRule fills the form of a rule.
func formOfRule(rule json.RawMessage) (ruleForm, error) {
	members, err := ruleMembers(rule)
	if err != nil {
		return ruleForm{}, err
	}
	form := ruleForm{Fields: filledFields(fieldsOfRule(members), members, "")}
	if _, isFault := members["on"]; !isFault {
		for i, answer := range append(answersOf(members), doc{}) {
			form.Answers = append(form.Answers, filledFields(answerFields, answer, answerPrefix(i)))
		}
	}
	return form, nil
}

func ruleMembers(rule json.RawMessage) (doc, error) {
	var members doc
	d := json.NewDecoder(strings.NewReader(string(rule)))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return nil, fmt.Errorf("rule: %w", err)
	}
	return members, nil
}

func fieldsOfRule(members doc) []editField {
	switch members["on"] {
	case nil:
		return stubFields
	case "api":
		return apiFaultFields
	}
	return deliveryFaultFields
}

func answersOf(stub doc) (answers []doc) {
	list, _ := stub["answers"].([]any)
	for _, one := range list {
		answer, _ := one.(doc)
		answers = append(answers, answer)
	}
	return answers
}

func answerPrefix(i int) string { return fmt.Sprintf("answer-%d-", i+1) }

func filledFields(fields []editField, members doc, prefix string) []editField {
	filled := slices.Clone(fields)
	for i := range filled {
		filled[i].Input = prefix + filled[i].Name
		filled[i].Value = fieldValue(members[filled[i].Name])
	}
	return filled
}

// fieldValue is a member as the value of a form field.
func fieldValue(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		return map[bool]string{true: "yes"}[v]
	case doc:
		lines := []string{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			lines = append(lines, fmt.Sprintf("%s: %v", name, v[name]))
		}
		return strings.Join(lines, "\n")
	}
	return fmt.Sprint(v)
}

// changeRule replaces the rule that a form was made from. It fails if the rule has changed
// meanwhile.
func changeRule(list string) func(*visit, form) error {
	return func(v *visit, f form) error {
		return v.changed(list, func(rules []json.RawMessage) ([]json.RawMessage, error) {
			for i, rule := range rules {
				shown := mask.JSON(rule)
				if string(shown) != f.Get("rule") {
					continue
				}
				changed, err := f.changedRule(rule, shown)
				if err == nil {
					rules[i] = changed
				}
				return rules, err
			}
			return nil, fmt.Errorf("the rule has changed meanwhile; nothing was done")
		})
	}
}

// changedRule applies a form to a rule. Members whose fields the user did not change stay:
// the form shows masked credentials, which must not replace the real ones.
func (f form) changedRule(rule, shown json.RawMessage) (json.RawMessage, error) {
	members, err := ruleMembers(rule)
	if err != nil {
		return nil, err
	}
	seen, err := ruleMembers(shown)
	if err != nil {
		return nil, err
	}
	if err := f.changeMembers(fieldsOfRule(members), "", members, seen); err != nil {
		return nil, err
	}
	if _, isFault := members["on"]; !isFault {
		answers, known, changed := append(answersOf(members), doc{}), append(answersOf(seen), doc{}), []doc{}
		for i, answer := range answers {
			if err := f.changeMembers(answerFields, answerPrefix(i), answer, known[i]); err != nil {
				return nil, fmt.Errorf("answer %d: %w", i+1, err)
			}
			if len(answer) > 0 {
				changed = append(changed, answer)
			}
		}
		members["answers"] = changed
	}
	text, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return text, nil
}

func (f form) changeMembers(fields []editField, prefix string, members, seen doc) error {
	for _, field := range fields {
		text := strings.TrimSpace(strings.ReplaceAll(f.Get(prefix+field.Name), "\r\n", "\n"))
		if text == strings.TrimSpace(fieldValue(seen[field.Name])) {
			continue
		}
		if delete(members, field.Name); text == "" {
			continue
		}
		value, err := field.read(text)
		if err != nil {
			return err
		}
		members[field.Name] = value
	}
	return nil
}

// read converts the text of a field to a member. A status may be a text with captures.
func (e *editField) read(text string) (any, error) {
	switch e.Kind {
	case "flag":
		return true, nil
	case "number", "status":
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return json.Number(text), nil
		}
		if e.Kind == "number" {
			return nil, fmt.Errorf("%s: invalid value %q: must be a number", e.Name, text)
		}
	case "lines":
		lines, members := http.Header{}, doc{}
		if err := headerLines(text, lines); err != nil {
			return nil, err
		}
		for name, values := range lines {
			members[name] = strings.Join(values, ", ")
		}
		return members, nil
	}
	return text, nil
}

// Number is the number of an answer, from 1.
func (ruleForm) Number(i int) int { return i + 1 }

// IsLast reports whether an answer is the blank one at the end.
func (r ruleForm) IsLast(i int) bool { return i == len(r.Answers)-1 }
