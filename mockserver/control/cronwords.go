package control

import (
	"strings"
	"sync"
	"unicode"

	"github.com/adhocore/gronx"
	"github.com/lnquy/cron"
)

// cronDescriptor describes expressions in English.
var cronDescriptor = sync.OnceValues(func() (*cron.ExpressionDescriptor, error) {
	return cron.NewDescriptor(cron.Use24HourTimeFormat(true))
})

// CronWords describes an expression in words; "" if it is invalid, or if the library cannot describe
// it: for some odd ones, such as "*,*" for the month, it panics. It must not include a time zone.
func CronWords(expression string) (described string) {
	defer func() {
		if recover() != nil {
			described = ""
		}
	}()
	fields, err := gronx.Segments(expression) // replaces an alias, and adds the seconds
	if err != nil || !gronx.IsValid(expression) || len(fields) != 6 || len(strings.Fields(expression)) == 6 {
		return "" // schedules accept neither seconds nor years
	}
	if !anyDay(fields[3]) && !anyDay(fields[5]) {
		return "" // whether one or both must match depends on stars, which the library does not say
	}
	if fields[0] == "0" {
		fields = fields[1:]
	}
	descriptor, err := cronDescriptor()
	if err != nil {
		return ""
	}
	words, err := descriptor.ToDescription(strings.Join(fields, " "), cron.Locale_en)
	if err != nil || words == "" {
		return ""
	}
	return string(unicode.ToLower(rune(words[0]))) + words[1:]
}

func anyDay(field string) bool { return field == "*" || field == "?" }
