package state

import "testing"

func TestAnInvalidCronLineNamesItsFirstInvalidField(t *testing.T) {
	t.Parallel()
	const forms = ", ranges such as 1-5 from the smaller to the larger, lists such as 1,3, or steps such as */2"
	const fields = "must be five fields (minute hour day month weekday), for example */5 * * * *, after an optional CRON_TZ=Zone"
	for cron, want := range map[string]string{
		"5-1 * * * *":                        `minute "5-1": must be *, numbers from 0 to 59` + forms,
		"* 24 * * *":                         `hour "24": must be *, numbers from 0 to 23` + forms,
		"* * 0 * *":                          `day "0": must be *, numbers from 1 to 31` + forms,
		"* * * JANUARY *":                    `month "JANUARY": must be *, numbers from 1 to 12, or JAN to DEC` + forms,
		"* * * * FRI-MON":                    `weekday "FRI-MON": must be *, numbers from 0 to 7, or SUN to SAT` + forms,
		"CRON_TZ=Europe/Berlin */0 25 * * *": `minute "*/0": must be *, numbers from 0 to 59` + forms,
		"every day":                          fields,
		"* * * * * *":                        fields,
		"@sometimes":                         fields,
	} {
		t.Run(cron, func(t *testing.T) {
			t.Parallel()
			_, err := ParseCron(cron)
			if err == nil {
				t.Fatal("it is accepted")
			}
			full := "cron: invalid value \"" + cron + "\": " + want
			if got := err.Error(); got != full {
				t.Errorf("got %s, want %s", got, full)
			}
		})
	}
}
