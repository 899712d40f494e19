package ui_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/mockserver"
)

// TestOneColourPerState checks that a state has the same colour in the chips of lists and
// entries, in timelines, waterfalls and charts, in both themes.
func TestOneColourPerState(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	failed(w, "r")
	u.Stub("https://app.test/*", 200)
	u.Stub("https://down.test/*", 503)
	good := u.Publish("https://app.test/x", nil)
	bad := u.Publish("https://down.test/x", nil, "Svc-Retries: 0")
	retry := u.Publish("https://down.test/y", nil, "Svc-Retries: 3")
	u.Settle()
	b := look(t, u, "")
	chip := func(state string) string {
		return `getComputedStyle([...document.querySelectorAll(".state")].find((s) => s.textContent === ` + quote(state) + `)).color`
	}
	dot := func(class string) string {
		return `getComputedStyle(document.querySelector(".timeline > li.` + class + `"), "::before").backgroundColor`
	}
	fill := func(selector string) string {
		return `getComputedStyle(document.querySelector(` + quote(selector) + `)).fill`
	}
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		colours := map[string]map[string]string{}
		see := func(state, where, path, expression string) {
			b.visit(path)
			if colours[state] == nil {
				colours[state] = map[string]string{}
			}
			colours[state][where] = ask[string](b, expression)
		}
		see("DELIVERED", "Now", "", chip("DELIVERED"))
		see("DELIVERED", "list", "ui/messages", chip("DELIVERED"))
		see("DELIVERED", "entry", "ui/messages/"+good, chip("DELIVERED"))
		see("DELIVERED", "timeline", "ui/messages/"+good, dot("of-good"))
		see("DELIVERED", "chart", "ui/statistics", fill("svg .series.good"))
		see("FAILED", "list", "ui/messages", chip("FAILED"))
		see("FAILED", "entry", "ui/messages/"+bad, chip("FAILED"))
		see("FAILED", "timeline", "ui/messages/"+bad, dot("end"))
		see("FAILED", "list of runs", "ui/runs", chip("RUN_FAILED"))
		see("FAILED", "run", "ui/runs/r", chip("RUN_FAILED"))
		see("FAILED", "waterfall", "ui/runs/r", fill(".part.failed"))
		see("FAILED", "chart", "ui/statistics", fill("svg .series.bad"))
		see("RETRY", "list", "ui/messages", chip("RETRY"))
		see("RETRY", "entry", "ui/messages/"+retry, chip("RETRY"))
		see("RETRY", "timeline", "ui/messages/"+retry, dot("waits"))
		see("RETRY", "waterfall", "ui/runs/r", fill(".part.retrying"))
		see("ACTIVE", "Now", "", chip("ACTIVE"))
		see("ACTIVE", "Now, of runs", "", chip("RUN_STARTED"))
		see("ACTIVE", "waterfall", "ui/runs/r", fill(".part.running"))
		see("CREATED", "Now", "", chip("CREATED"))
		see("CREATED", "waterfall", "ui/runs/r", fill(".part.sleeping"))
		see("CREATED", "chart", "ui/statistics", fill("svg .series.idle"))
		all := map[string]string{}
		for state, places := range colours {
			want := ""
			for where, got := range places {
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s, %s: got %s for the %s, want one colour everywhere: %v", theme, state, got, where, places)
				}
			}
			if other := all[want]; other != "" {
				t.Errorf("%s: %s and %s have the same colour %s", theme, state, other, want)
			}
			all[want] = state
		}
	}
}

// grounds are the pairs of text and background in the style sheet, and the minimum contrast
// of WCAG 2.2, level AA.
var grounds = map[string]struct {
	texts []string
	least float64
}{
	"ground": {[]string{"ink", "soft", "accent", "bad", "warn", "good"}, 4.5}, "paper": {[]string{"ink", "soft", "accent", "bad", "warn", "good"}, 4.5},
	"hover": {[]string{"ink", "soft", "accent", "bad"}, 4.5}, "chosen": {[]string{"ink", "soft", "accent", "bad"}, 4.5},
	"soft-ground": {[]string{"ink", "soft", "accent", "good", "busy", "bad"}, 4.5}, "accent": {[]string{"accent-ink"}, 4.5}, "mark": {[]string{"ink"}, 4.5},
	"good-ground": {[]string{"good"}, 4.5}, "bad-ground": {[]string{"bad"}, 4.5}, "warn-ground": {[]string{"warn"}, 4.5}, "busy-ground": {[]string{"busy"}, 4.5},
	"idle-ground": {[]string{"idle"}, 4.5}, "wait-ground": {[]string{"wait"}, 4.5}, "gone-ground": {[]string{"gone"}, 4.5},
}

// TestContrast computes the contrast of every pair in both themes, and of graphics and the
// edges of fields on both backgrounds, which need 3.
func TestContrast(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("static/app.css")
	if err != nil {
		t.Fatal(err)
	}
	colours := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)`).FindAllStringSubmatch(string(css), -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	check := func(text, ground string, least float64) {
		for i, theme := range []string{"light", "dark"} {
			a, b := colours[text][i], colours[ground][i]
			if a == "" || b == "" {
				t.Errorf("--%s or --%s is not a colour of app.css", text, ground)
				return
			}
			if got := contrast(a, b); got < least {
				t.Errorf("%s: --%s on --%s: got %.2f, want at least %v", theme, text, ground, got, least)
			}
		}
	}
	for ground, pair := range grounds {
		for _, text := range pair.texts {
			check(text, ground, pair.least)
		}
	}
	for _, drawn := range []string{"good", "bad", "warn", "busy", "idle", "wait", "gone", "edge", "accent"} {
		check(drawn, "paper", 3)
		check(drawn, "ground", 3)
	}
}

// contrast is the contrast of two colours as defined by WCAG 2.2.
func contrast(a, b string) float64 {
	light := func(hex string) float64 {
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, _ := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
			c := float64(n) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := light(a), light(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestSpacing checks that spaces and line heights of the style sheet are multiples of 4
// pixels. Multiples of 2 are allowed up to 8 pixels and for line heights.
func TestSpacing(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("static/app.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`\b(margin[a-z-]*|padding[a-z-]*|gap|row-gap|column-gap|line-height): ([^;}]+)`).FindAllStringSubmatch(string(css), -1) {
		for _, n := range regexp.MustCompile(`-?[0-9.]+(px|rem|em)\b`).FindAllString(m[2], -1) {
			value, err := strconv.ParseFloat(n[:len(n)-2], 64)
			if err != nil || math.Mod(value, 2) != 0 || math.Abs(value) > 8 && math.Mod(value, 4) != 0 && m[1] != "line-height" {
				t.Errorf("%s: %s: got %s, want a multiple of 4 pixels", m[1], m[2], n)
			}
		}
	}
}

// TestButtonsSayWhatHappens checks the texts of all buttons: none is a vague word such as OK,
// or only a symbol.
func TestButtonsSayWhatHappens(t *testing.T) {
	t.Parallel()
	u := busy(t)
	vague := regexp.MustCompile(`^(OK|Go|Do|Yes|No|Submit|Next|Live|Theme|Button|\W+)$`)
	for name, path := range addresses(t, u) {
		page := read(t, u, path)
		for _, button := range page.all("button", "") {
			if words := button.text(); vague.MatchString(words) {
				t.Errorf("%s: a button says %q", name, words)
			}
		}
	}
}
