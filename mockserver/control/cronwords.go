package control

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// The indexes of the fields in the segments of the library. Index 0 is the seconds.
const (
	minuteField = iota + 1
	hourField
	dayField
	monthField
	weekdayField
)

// CronWords describes an expression in words; "" if it is invalid. It must not include a time zone.
func CronWords(expression string) string {
	fields, err := gronx.Segments(expression)
	const five = 6 // the library adds the seconds
	if err != nil || len(fields) != five || !gronx.IsValid(expression) {
		return ""
	}
	if given := strings.Fields(expression); len(given) == five {
		return "" // schedules do not accept seconds
	}
	if fields[0] == "*" { // @everysecond, the only alias with seconds
		return "every second"
	}
	parts := []string{timeWords(dueValues(fields, minuteField, 0, 59), dueValues(fields, hourField, 0, 23))}
	if days := dayWords(fields); days != "" {
		parts = append(parts, days)
	}
	if months := dueValues(fields, monthField, 1, 12); len(months) < 12 {
		parts = append(parts, "in "+rangeWords(months, func(m int) string { return time.Month(m).String() }))
	}
	return strings.Join(parts, ", ")
}

// dueValues returns the values in a range, both ends included, at which a field is due.
func dueValues(fields []string, field, from, to int) (list []int) {
	checker := &gronx.SegmentChecker{}
	for v := from; v <= to; v++ {
		const year, sunday = 2023, 1 // 1 January 2023 is a Sunday
		at := time.Date(year, 1, sunday, 0, 0, 0, 0, time.UTC)
		switch field {
		case minuteField:
			at = at.Add(time.Duration(v) * time.Minute)
		case hourField:
			at = at.Add(time.Duration(v) * time.Hour)
		case monthField:
			at = at.AddDate(0, v-1, 0)
		case dayField:
			at = at.AddDate(0, 0, v-1)
		case weekdayField:
			at = at.AddDate(0, 0, v)
		}
		checker.SetRef(at)
		if due, err := checker.CheckDue(fields[field], field); due && err == nil {
			list = append(list, v)
		}
	}
	return list
}

// fewTimes is the maximum number of times of a day that are listed one by one.
const fewTimes = 6

// timeWords describes the times of a day.
func timeWords(minutes, hours []int) string {
	switch {
	case len(hours) == 24 && len(minutes) == 1 && minutes[0] == 0:
		return "every hour, on the hour"
	case len(hours) < 24 && len(minutes)*len(hours) <= fewTimes:
		var times []string
		for _, h := range hours {
			for _, m := range minutes {
				times = append(times, fmt.Sprintf("%02d:%02d", h, m))
			}
		}
		return "at " + joinWords(times, "and")
	}
	var words string
	switch step, whole := stepOf(minutes, 0, 60); {
	case len(minutes) == 60:
		words = "every minute"
	case whole:
		words = fmt.Sprintf("every %d minutes", step)
	case len(minutes) == 1 && len(hours) == 24:
		return fmt.Sprintf("every hour at minute %d", minutes[0])
	default:
		words = "at " + numbered("minute", minutes)
	}
	if len(hours) == 24 {
		return words
	}
	if step, whole := stepOf(hours, 0, 24); whole {
		return fmt.Sprintf("%s of every %s hour, from hour 0 on", words, ordinal(step))
	}
	return words + " of " + numbered("hour", hours)
}

// stepOf returns the step of values that start at first and divide whole evenly, such as
// 15 for 0, 15, 30, 45 of 60; false for other values.
func stepOf(values []int, first, whole int) (step int, ok bool) {
	if len(values) < 2 || values[0] != first {
		return 0, false
	}
	step = values[1] - values[0]
	if step < 2 || whole%step != 0 || len(values) != whole/step {
		return 0, false
	}
	for i, v := range values {
		if v != first+i*step {
			return 0, false
		}
	}
	return step, true
}

// dayWords describes the days. If both a day of the month and a weekday are given, either
// may match, as in other programs, unless one of them starts with a star: then both must.
func dayWords(fields []string) string {
	anyDay, anyWeekday := fields[dayField] == "*" || fields[dayField] == "?", fields[weekdayField] == "*" || fields[weekdayField] == "?"
	days, weekdays := monthDayWords(fields), weekdayWords(fields)
	switch {
	case anyDay && anyWeekday:
		return ""
	case anyWeekday:
		return "on " + days
	case anyDay:
		return "on " + weekdays
	case strings.HasPrefix(fields[dayField], "*") || strings.HasPrefix(fields[weekdayField], "*/"):
		return "on " + days + " if that is " + strings.ReplaceAll(weekdays, " and ", " or ")
	}
	return "on " + days + " or on " + weekdays
}

func monthDayWords(fields []string) string {
	return specialWords(fields, dayField, func(plain []string) string {
		return numbered("day", dueValues(plain, dayField, 1, 31))
	}, func(token string) string {
		if token == "L" {
			return "the last day of the month"
		}
		if day, ok := strings.CutSuffix(token, "W"); ok {
			return "the working day nearest to day " + day
		}
		return "day " + token
	})
}

func weekdayWords(fields []string) string {
	return specialWords(fields, weekdayField, func(plain []string) string {
		due := dueValues(plain, weekdayField, 0, 6)
		for i, v := range due {
			due[i] = (v + 6) % 7 // weeks start on Monday in the text
		}
		slices.Sort(due)
		return rangeWords(due, func(v int) string { return time.Weekday((v + 1) % 7).String() })
	}, func(token string) string {
		day, nth, ok := strings.Cut(token, "#")
		which := "last"
		if ok {
			n, _ := strconv.Atoi(nth)
			which = ordinal(n)
		}
		n, err := strconv.Atoi(strings.TrimSuffix(day, "L"))
		if err != nil {
			return "weekday " + token
		}
		return fmt.Sprintf("the %s %s of the month", which, time.Weekday(n%7))
	})
}

// specialWords describes a field whose parts may have the special characters L, W and #.
func specialWords(fields []string, field int, plainWords func(fields []string) string, tokenWords func(string) string) string {
	var plain, words []string
	for token := range strings.SplitSeq(fields[field], ",") {
		if strings.ContainsAny(token, "LW#") {
			words = append(words, tokenWords(token))
		} else {
			plain = append(plain, token)
		}
	}
	if len(plain) > 0 {
		only := slices.Clone(fields)
		only[field] = strings.Join(plain, ",")
		words = append([]string{plainWords(only)}, words...)
	}
	return joinWords(words, "and")
}

// numbered is a noun and a list of numbers, such as "days 1 to 5".
func numbered(what string, values []int) string {
	if len(values) != 1 {
		what += "s"
	}
	return what + " " + rangeWords(values, strconv.Itoa)
}

// rangeWords lists values; three or more consecutive ones form a range.
func rangeWords(values []int, name func(int) string) string {
	var parts []string
	for i := 0; i < len(values); {
		end := i
		for end+1 < len(values) && values[end+1] == values[end]+1 {
			end++
		}
		if end-i < 2 {
			end = i
			parts = append(parts, name(values[i]))
		} else {
			parts = append(parts, name(values[i])+" to "+name(values[end]))
		}
		i = end + 1
	}
	return joinWords(parts, "and")
}

func joinWords(parts []string, last string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " " + last + " " + parts[len(parts)-1]
}

// ordinal is an ordinal number such as 2nd.
func ordinal(n int) string {
	suffix := "th"
	if tens := n / 10 % 10; tens != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}
