package ui

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"time"
)

// writtenInstant matches a UTC time in a sentence, in the layout of the control API or of utcText.
var writtenInstant = regexp.MustCompile(`\b(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d\.\d{3} UTC)\b`)

// writtenCommand matches a command of Understudy in a sentence, as HTML.
var writtenCommand = regexp.MustCompile("`(understudy [a-zA-Z0-9 -]+)`")

// withInstants marks the times in a sentence, so that the script can convert them to another
// zone, and the commands. It is only for sentences of the server: texts of users must not change.
func withInstants(text string) template.HTML {
	return markedCommands(writtenInstant.ReplaceAllStringFunc(template.HTMLEscapeString(text), func(word string) string {
		at, err := time.Parse(time.RFC3339, word)
		if err != nil {
			at, err = time.Parse(fullForm, word)
		}
		if err != nil {
			return word
		}
		form, precise := clockForm, ""
		if strings.Contains(word, ".") {
			form, precise = fullForm, " data-precise"
		}
		return fmt.Sprintf(`<time datetime="%s"%s>%s</time>`, at.Format(instantForm), precise, at.Format(form))
	}))
}

// withCommands marks the commands in an error of the server. It leaves times alone, because
// the error may quote the text of a user.
func withCommands(text string) template.HTML { return markedCommands(template.HTMLEscapeString(text)) }

func markedCommands(escaped string) template.HTML {
	return template.HTML(writtenCommand.ReplaceAllString(escaped, "<code>$1</code>")) //nolint:gosec // all of it is escaped
}
