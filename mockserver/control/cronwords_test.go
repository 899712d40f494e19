package control_test

import (
	"testing"

	"github.com/understudy-mock/understudy/internal/expect"
	"github.com/understudy-mock/understudy/mockserver/control"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"* * * * *":        "every minute",
		"*/5 * * * *":      "every 5 minutes",
		"*/7 * * * *":      "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56",
		"0,30 * * * *":     "every 30 minutes",
		"0 * * * *":        "every hour, on the hour",
		"@hourly":          "every hour, on the hour",
		"15 * * * *":       "every hour at minute 15",
		"5,35 * * * *":     "at minutes 5 and 35",
		"30 9 * * *":       "at 09:30",
		"@daily":           "at 00:00",
		"0 9,12,18 * * *":  "at 09:00, 12:00 and 18:00",
		"30 9 * * 1-5":     "at 09:30, on Monday to Friday",
		"30 9 * * MON,WED": "at 09:30, on Monday and Wednesday",
		"0 0 * * 0":        "at 00:00, on Sunday",
		"0 0 * * 7":        "at 00:00, on Sunday",
		"0 0 * * 6-7":      "at 00:00, on Saturday and Sunday",
		"*/10 9-17 * * *":  "every 10 minutes of hours 9 to 17",
		"0 */2 * * *":      "at minute 0 of every 2nd hour, from hour 0 on",
		"0 0 1 * *":        "at 00:00, on day 1",
		"0 0 1,15 * *":     "at 00:00, on days 1 and 15",
		"0 0 1 1 *":        "at 00:00, on day 1, in January",
		"@yearly":          "at 00:00, on day 1, in January",
		"0 0 1 1-3,6 *":    "at 00:00, on day 1, in January to March and June",
		"0 0 13 * 5":       "at 00:00, on day 13 or on Friday",
		"0 0 */2 * 1,5":    "at 00:00, on days 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29 and 31 if that is Monday or Friday",
		"0 0 L * *":        "at 00:00, on the last day of the month",
		"0 0 15W * *":      "at 00:00, on the working day nearest to day 15",
		"0 0 * * 5L":       "at 00:00, on the last Friday of the month",
		"0 0 * * 2#3":      "at 00:00, on the 3rd Tuesday of the month",
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
