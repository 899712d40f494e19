package control_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/adhocore/gronx"
	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/control"
)

func TestCronWords(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"* * * * *":        "every minute",
		"*/5 * * * *":      "every 5 minutes",
		"*/7 * * * *":      "every 7 minutes",
		"0,30 * * * *":     "at 0 and 30 minutes past the hour",
		"0 * * * *":        "every hour",
		"@hourly":          "every hour",
		"@everysecond":     "every second",
		"15 * * * *":       "at 15 minutes past the hour",
		"5,35 * * * *":     "at 5 and 35 minutes past the hour",
		"30 9 * * *":       "at 09:30",
		"@daily":           "at 00:00",
		"0 9,12,18 * * *":  "at 09:00, 12:00 and 18:00",
		"30 9 * * 1-5":     "at 09:30, Monday through Friday",
		"30 9 * * MON,WED": "at 09:30, only on Monday and Wednesday",
		"0 0 * * 0":        "at 00:00, only on Sunday",
		"0 0 * * 7":        "at 00:00, only on Sunday",
		"0 0 * * 6-7":      "at 00:00, Saturday through Sunday",
		"*/10 9-17 * * *":  "every 10 minutes, between 09:00 and 17:59",
		"0 */2 * * *":      "at 0 minutes past the hour, every 2 hours",
		"0 0 1 * *":        "at 00:00, on day 1 of the month",
		"0 0 1,15 * *":     "at 00:00, on day 1 and 15 of the month",
		"0 0 1 1 *":        "at 00:00, on day 1 of the month, only in January",
		"@yearly":          "at 00:00, on day 1 of the month, only in January",
		"0 0 1 1-3,6 *":    "at 00:00, on day 1 of the month, only in January through March and June",
		"0 0 13 * 5":       "",
		"0 0 */2 * 1,5":    "",
		"0 0 L * *":        "at 00:00, on the last day of the month",
		"0 0 15W * *":      "at 00:00, on the weekday nearest day 15 of the month",
		"0 0 * * 5L":       "at 00:00, on the last Friday of the month",
		"0 0 * * 2#3":      "at 00:00, on the third Tuesday of the month",
		"not a cron":       "",
		"* * * * * *":      "",
		"61 * * * *":       "",
	} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			expect.Equal(t, "words", control.CronWords(expression), want)
		})
	}
}

func TestEachExpressionWithoutListsHasCronWords(t *testing.T) {
	t.Parallel()
	field := func(from, to int, special ...string) *rapid.Generator[string] {
		number := rapid.Map(rapid.IntRange(from, to), strconv.Itoa)
		part := rapid.OneOf(
			number,
			rapid.Just("*"),
			rapid.SampledFrom(append([]string{"*/2"}, special...)),
			rapid.Custom(func(t *rapid.T) string { return number.Draw(t, "from") + "-" + number.Draw(t, "to") }),
			rapid.Custom(func(t *rapid.T) string { return number.Draw(t, "from") + "-" + number.Draw(t, "to") + "/3" }),
		)
		return rapid.Map(rapid.SliceOfN(part, 1, 3), func(parts []string) string { return strings.Join(parts, ",") })
	}
	months := field(1, 12, "JAN", "feb-jun")
	days, weekdays := field(1, 31, "L", "15W", "?"), field(0, 7, "MON", "sat-sun", "5L", "2#3", "?")
	rapid.Check(t, func(t *rapid.T) {
		day, weekday := days.Draw(t, "day"), "*"
		if rapid.Bool().Draw(t, "by weekday") {
			day, weekday = "*", weekdays.Draw(t, "weekday")
		}
		expression := strings.Join([]string{field(0, 59).Draw(t, "minute"), field(0, 23).Draw(t, "hour"), day, months.Draw(t, "month"), weekday}, " ")
		if words := control.CronWords(expression); gronx.IsValid(expression) && words == "" && !strings.Contains(expression, ",") {
			t.Errorf("%s: got no words", expression)
		}
	})
}
