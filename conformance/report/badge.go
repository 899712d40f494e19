package report

import (
	_ "embed" // the template
	"html/template"
	"io"
	"strings"
	"unicode/utf8"
)

//go:embed badge.svg.tmpl
var badgeTemplate string

var badgeImage = template.Must(template.New("badge").Parse(badgeTemplate))

// badgeColors are the colours of the verdicts, by exit code; all others are grey.
// White text on each has a contrast of at least 4.5 to 1.
var badgeColors = map[int]string{ExitConformant: "#1a7f37", ExitFailed: "#cf222e", ExitPartial: "#9a6700"}

// badgeLabel is the text of the left half of a badge.
const badgeLabel = "conformance"

// badgeWidth is the width of a text on a badge, in pixels, with its margins.
func badgeWidth(text string) int { return 7*utf8.RuneCountInString(text) + 12 }

// writeBadge writes the verdict as an SVG image for a README.
func writeBadge(w io.Writer, r *Report) error {
	text, _, _ := strings.Cut(r.Verdict(), ";")
	_, code := r.verdict() // not ExitCode: an accepted partial result is not green
	color := badgeColors[code]
	if color == "" || code == ExitConformant && !strings.HasPrefix(text, "conformant") {
		color = "#59636e"
	}
	left, right := badgeWidth(badgeLabel), badgeWidth(text)
	return badgeImage.Execute(w, map[string]any{
		"Label": badgeLabel, "Text": text, "Title": xmlText(r.verdictLine()), "Color": color,
		"Left": left, "Right": right, "Width": left + right, "LeftMiddle": left / 2, "RightMiddle": left + right/2,
	})
}
