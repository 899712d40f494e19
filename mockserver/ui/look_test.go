package ui_test

import (
	"cmp"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// grounds are the pairs of text and background in the style sheet, and the minimum contrast
// of WCAG 2.2, level AA.
var grounds = []string{"bg", "surface", "sunken", "raised", "hover", "selected", "bad-soft"}

// TestContrast computes the contrast of every text on every background in both themes, which
// is at least 4.5, and of graphics and the edges of fields, which need 3.
func TestContrast(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile("static/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	colours := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)`).FindAllStringSubmatch(string(css), -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	check := func(text, ground string, least float64) {
		for i, theme := range themes {
			a, b := colours[text][i], colours[ground][i]
			if a == "" || b == "" {
				t.Errorf("--%s or --%s is not a colour of tokens.css", text, ground)
				return
			}
			if got := contrast(a, b); got < least {
				t.Errorf("%s: --%s on --%s: got %.2f, want at least %v", theme, text, ground, got, least)
			}
		}
	}
	for _, ground := range grounds {
		for _, text := range []string{"ink", "ink-2", "ink-3", "accent"} {
			check(text, ground, 4.5)
		}
		for _, drawn := range []string{"good", "bad", "warn", "busy", "idle", "edge", "bar", "bar-bad", "wire"} {
			check(drawn, ground, 3)
		}
	}
	for _, pair := range [][2]string{{"ink-2", "press"}, {"ink", "press"}, {"primary-ink", "primary"}, {"primary-ink", "primary-over"}, {"key", "sunken"}, {"text", "sunken"}, {"value", "sunken"}, {"ink", "mark"}, {"ink", "good-soft"}, {"ink", "warn-soft"}, {"warn", "surface"}, {"bad", "surface"}} {
		check(pair[0], pair[1], 4.5)
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
	vague := regexp.MustCompile(`^(OK|Go|Do|Yes|No|Submit|Next|Live|Theme|Button|\W*)$`)
	for name, path := range addresses(t, u) {
		page := read(t, u, path)
		for _, button := range page.all("button", "") {
			if words := cmp.Or(button.is("aria-label"), button.text()); vague.MatchString(words) {
				t.Errorf("%s: a button says %q", name, words)
			}
		}
	}
}
