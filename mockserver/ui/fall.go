package ui

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// fallUnits is the length of the time axis of a waterfall, in the units of its pictures.
// The browser stretches the pictures to the available width.
const fallUnits = 1000

// fallAxis maps time to positions on the axis. It is linear between the corners; folds
// take less space per ms.
type fallAxis struct {
	Corners []axisCorner
	Folds   []axisFold
}

// axisCorner is the position X on the axis of a time At, in ms since the start of the axis.
type axisCorner struct{ At, X float64 }

// axisFold is a long time without attempts, drawn shorter than it is.
type axisFold struct{ From, To, X, Width float64 }

// newAxis makes the axis for spans within a length in ms. It folds only times without
// attempts that are much longer than the rest.
func newAxis(spans []span, first, length int64, folded bool) fallAxis {
	points, busy := axisPoints(spans, first, length)
	type stretch struct {
		from, to int64
		idle     bool
	}
	var list []stretch
	ran, shortest := int64(0), int64(math.MaxInt64)
	for i := 0; i+1 < len(points); i++ {
		s := stretch{points[i], points[i+1], true}
		s.idle = !slices.ContainsFunc(busy, func(b [2]int64) bool { return b[0] < s.to && b[1] > s.from })
		if s.idle && s.to > s.from {
			shortest = min(shortest, s.to-s.from)
		} else {
			ran += s.to - s.from
		}
		list = append(list, s)
	}
	const much = 4 // a fold is more than this many times as long as the rest
	longest := max(ran, 1000)
	if shortest < math.MaxInt64 {
		longest = max(longest, shortest)
	}
	shown := func(s stretch) int64 {
		if folded && s.idle && s.to-s.from > much*longest {
			return longest
		}
		return s.to - s.from
	}
	whole := int64(0)
	for _, s := range list {
		whole += shown(s)
	}
	a := fallAxis{Corners: []axisCorner{{0, 0}}}
	x := 0.0
	for _, s := range list {
		width := fallUnits * float64(shown(s)) / float64(max(1, whole))
		if shown(s) < s.to-s.from {
			a.Folds = append(a.Folds, axisFold{float64(s.from), float64(s.to), x, width})
		}
		x += width
		a.Corners = append(a.Corners, axisCorner{float64(s.to), x})
	}
	return a
}

// axisPoints returns the times at which parts started or ended, in ms since first, and the
// times in which attempts ran.
func axisPoints(spans []span, first, length int64) (points []int64, busy [][2]int64) {
	points = []int64{0, length}
	for i := range spans {
		for _, p := range spans[i].Parts {
			to := p.To
			if to == 0 {
				to = first + length
			}
			from, end := max(0, p.From-first), max(0, to-first)
			points = append(points, from, end)
			if p.Attempt > 0 {
				busy = append(busy, [2]int64{from, end})
			}
		}
	}
	slices.Sort(points)
	return slices.Compact(points), busy
}

// x is the position of a time in ms since the start.
func (a *fallAxis) x(at int64) float64 {
	i, _ := slices.BinarySearchFunc(a.Corners, float64(at), func(c axisCorner, t float64) int {
		if c.At < t {
			return -1
		}
		return 1
	})
	switch {
	case i == 0:
		return 0
	case i == len(a.Corners):
		return a.Corners[len(a.Corners)-1].X
	}
	from, to := a.Corners[i-1], a.Corners[i]
	return from.X + (to.X-from.X)*(float64(at)-from.At)/math.Max(1, to.At-from.At)
}

// at is the time at a position, in ms since the start; the inverse of x.
func (a *fallAxis) at(x float64) float64 {
	for i := 1; i < len(a.Corners); i++ {
		from, to := a.Corners[i-1], a.Corners[i]
		if x <= to.X && to.X > from.X {
			return from.At + (to.At-from.At)*(x-from.X)/(to.X-from.X)
		}
	}
	return a.Corners[len(a.Corners)-1].At
}

// fall is the waterfall of a run: a row for each span on one axis. It shows
// a window of the axis.
type fall struct {
	axis   fallAxis
	first  int64   // Unix ms
	length int64   // ms
	from   float64 // start of the window, from 0 to 1
	to     float64
	Rows   []fallRow
	Folded bool
}

// fallRow is a span with its picture.
type fallRow struct {
	*span
	Index     int
	Took      string
	Attempts  int
	Condition string
	Picture   template.HTML
}

// Fall is the waterfall with the settings of the query: the window, such as
// zoom=0.25-0.5, and folds=off.
func (f *flow) Fall(query url.Values) *fall {
	started, _ := readNumber(f.Row["workflowRunCreatedAt"])
	w := fall{first: int64(started), to: 1, Folded: query.Get("folds") != "off"}
	last := w.first
	for i := range f.Spans {
		w.first = min(w.first, f.Spans[i].From)
		last = max(last, f.Spans[i].From, f.Spans[i].To)
		for _, p := range f.Spans[i].Parts {
			last = max(last, p.From, p.To)
		}
	}
	if f.Runs {
		last = max(last, f.Now)
	}
	w.length = last - w.first
	w.axis = newAxis(f.Spans, w.first, w.length, w.Folded)
	if from, to, ok := strings.Cut(query.Get("zoom"), "-"); ok {
		a, errFrom := strconv.ParseFloat(from, 64)
		b, errTo := strconv.ParseFloat(to, 64)
		if errFrom == nil && errTo == nil && a >= 0 && b <= 1 && b-a >= minZoom {
			w.from, w.to = a, b
		}
	}
	for i := range f.Spans {
		r := w.row(i, &f.Spans[i], f.Now)
		r.Condition = f.Condition(&f.Spans[i])
		w.Rows = append(w.Rows, r)
	}
	return &w
}

// minZoom is the smallest window, as a part of the axis.
const minZoom = 0.0001

// viewBox is the visible part of the pictures.
func (w *fall) viewBox(height int) string {
	return fmt.Sprintf("%.3f 0 %.3f %d", w.from*fallUnits, (w.to-w.from)*fallUnits, height)
}

// leastWidth is the minimum width of a rectangle: one without width is not drawn.
const leastWidth = 0.0005

// fallHeight is the height of the picture of a row.
const fallHeight = 18

// row draws a span. Rectangles keep their true width. The style sheet gives them an
// outline that is not stretched, so that very short ones are visible.
func (w *fall) row(i int, s *span, now int64) fallRow {
	r := fallRow{span: s, Index: i, Attempts: s.AttemptCount()}
	if s.To != 0 {
		r.Took = durationText(s.To - s.From)
	}
	d := drawing{}
	d.printf(`<svg class="bars" viewBox="%s" preserveAspectRatio="none" role="img" aria-label="%s">`, w.viewBox(fallHeight), escapeHTML(s.inWords(now)))
	for _, fold := range w.axis.Folds {
		d.printf(`<rect class="fold" x="%.3f" y="0" width="%.3f" height="%d"><title>%s</title></rect>`, fold.X, fold.Width, fallHeight, escapeHTML("folded: "+durationText(fold.To-fold.From)))
	}
	for _, p := range s.Parts {
		to := p.To
		if to == 0 {
			to = now
		}
		if p.Attempt == 0 && to == p.From {
			continue // a wait of no length
		}
		x := w.axis.x(p.From - w.first)
		d.printf(`<rect class="part %s" x="%.4f" y="4" width="%.4f" height="10"><title>%s</title></rect>`, escapeHTML(p.Kind), x, max(leastWidth, w.axis.x(to-w.first)-x), escapeHTML(p.inWords(s.Name(), to)))
	}
	if len(s.Parts) == 0 {
		d.printf(`<rect class="part point" x="%.3f" y="4" width="%.4f" height="10"/>`, w.axis.x(s.From-w.first), leastWidth)
	}
	if s.Critical {
		x, to := w.axis.x(s.From-w.first), s.To
		if to == 0 {
			to = now
		}
		d.printf(`<rect class="critical" x="%.3f" y="16" width="%.3f" height="1.5"/>`, x, w.axis.x(to-w.first)-x)
	}
	r.Picture = d.close()
	return r
}

// inWords describes a part.
func (p *part) inWords(name string, to int64) string {
	text := fmt.Sprintf("%s: %s for %s", name, partWords[p.Kind], durationText(to-p.From))
	if p.Attempt > 0 {
		text = fmt.Sprintf("%s, attempt %d: %s for %s", name, p.Attempt, partWords[p.Kind], durationText(to-p.From))
	}
	if p.Cause != "" {
		text += "; " + p.Cause
	}
	return text
}

// partWords are the kinds of parts in words. Sorted.
var partWords = map[string]string{
	"canceled": "cancelled",
	"failed":   "failed",
	"retrying": "waits for a retry",
	"running":  "running",
	"sleeping": "sleeps",
	"waiting":  "waits",
}

// inWords describes the row for screen readers.
func (s *span) inWords(now int64) string {
	var parts []string
	for _, p := range s.Parts {
		to := p.To
		if to == 0 {
			to = now
		}
		if p.Attempt > 0 || to > p.From {
			parts = append(parts, fmt.Sprintf("%s %s", partWords[p.Kind], durationText(to-p.From)))
		}
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case s.Kept:
		return "kept from the run that this one resumes"
	}
	return "took no time"
}

// AttemptCount is the number of attempts of the span.
func (s *span) AttemptCount() (n int) {
	for _, p := range s.Parts {
		if p.Attempt > 0 {
			n++
		}
	}
	return n
}

// Failures is the number of failed attempts.
func (s *span) Failures() (n int) {
	for _, p := range s.Parts {
		if p.Kind == "failed" && p.Attempt > 0 {
			n++
		}
	}
	return n
}

// EndpointFailures returns the failed attempts of the endpoint itself around a call of a
// third party. They do not count as attempts of the call.
func (s *span) EndpointFailures() (list []part) {
	for _, p := range s.Parts {
		if p.Kind == "failed" && p.Attempt == 0 {
			list = append(list, p)
		}
	}
	return list
}

// Tried returns the attempts of the span.
func (s *span) Tried() (list []part) {
	for _, p := range s.Parts {
		if p.Attempt > 0 {
			list = append(list, p)
		}
	}
	return list
}

// Axis draws the times above the rows. story.js hides those that do not fit.
func (w *fall) Axis() template.HTML {
	d := drawing{}
	d.WriteString(`<svg class="ticks" aria-hidden="true" height="18">`)
	var times [fallTicks]float64
	gap := math.Inf(1)
	for i := range fallTicks {
		times[i] = w.axis.at((w.from + (w.to-w.from)*float64(i)/(fallTicks-1)) * fallUnits)
		if i > 0 {
			gap = min(gap, times[i]-times[i-1])
		}
	}
	for i, at := range times {
		if w.length < fallTicks && i > 0 { // all times are the same, as with a manual clock
			break
		}
		d.printf(`<text class="axis%s" x="%.0f%%" y="13">%s</text>`, tickClasses[i], float64(i)*100/(fallTicks-1), escapeHTML("+"+tickText(at, gap)))
	}
	return d.close()
}

// tickUnits are the units of times on the axis.
var tickUnits = []struct {
	name string
	ms   float64
}{{"d", 86_400_000}, {"h", 3_600_000}, {"m", 60_000}, {"s", 1000}, {"ms", 1}}

// tickText is a time on the axis such as 1 h 6 s, precise enough to differ from the next one.
// story.js formats times in the same way while the user drags.
func tickText(ms, gap float64) string {
	exact := 1.0
	for _, u := range slices.Backward(tickUnits) {
		if gap/2 >= u.ms {
			exact = u.ms
		}
	}
	ms = math.Round(ms/exact) * exact
	var parts []string
	for _, u := range tickUnits {
		if n := math.Floor(ms / u.ms); n > 0 {
			parts = append(parts, fmt.Sprintf("%.0f %s", n, u.name))
			ms -= n * u.ms
		}
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, " ")
}

// fallTicks is the number of times on the axis. Narrow screens show the first, the middle
// and the last one.
const fallTicks = 5

var tickClasses = [fallTicks]string{"", " middle inner", " middle", " middle inner", " end"}

// Corners is the axis as JSON for the script, which updates the times while the user drags.
func (w *fall) Corners() (string, error) {
	list := make([][2]float64, len(w.axis.Corners))
	for i, c := range w.axis.Corners {
		list[i] = [2]float64{c.At, math.Round(c.X*1000) / 1000}
	}
	text, err := json.Marshal(list)
	return string(text), err
}

// Folds returns the durations of the folds as texts.
func (w *fall) Folds() (list []string) {
	for _, fold := range w.axis.Folds {
		list = append(list, durationText(fold.To-fold.From))
	}
	return list
}

// Zoomed reports whether the window is smaller than the axis.
func (w *fall) Zoomed() bool { return w.to-w.from < 1 }

// Zoom is the query value for a window scaled around its middle; "" for the whole axis.
func (w *fall) Zoom(factor float64) string {
	middle, half := (w.from+w.to)/2, (w.to-w.from)/2*factor
	half = max(half, minZoom/2)
	from, to := max(0, middle-half), min(1, middle+half)
	if to-from >= 1 {
		return ""
	}
	return fmt.Sprintf("%.5f-%.5f", from, to)
}

// Shown is the span whose details are displayed: the one in the query, or else one that
// failed, one that is in progress, sleeping or cancelled, or the first that ran. It is nil for a run without
// spans.
func (f *flow) Shown(query url.Values) *fallRow {
	if len(f.Spans) == 0 {
		return nil
	}
	at, err := strconv.Atoi(query.Get("step"))
	if err != nil || at < 0 || at >= len(f.Spans) {
		at = max(0, f.firstSpan(func(s *span) bool { return !s.Kept && len(s.Parts) > 0 }))
		if open := f.firstSpan(func(s *span) bool { return s.To == 0 || f.Condition(s) != "" }); open >= 0 {
			at = open
		}
		for i := range f.Spans {
			if s := &f.Spans[i]; len(s.Parts) > 0 && s.Parts[len(s.Parts)-1].Kind == "failed" {
				at = i
			}
		}
	}
	return &fallRow{span: &f.Spans[at], Index: at, Attempts: f.Spans[at].AttemptCount(), Condition: f.Condition(&f.Spans[at])}
}

// firstSpan is the index of the first span for which holds is true; -1 if there is none.
func (f *flow) firstSpan(holds func(*span) bool) int {
	return slices.IndexFunc(f.Spans, func(s span) bool { return holds(&s) })
}
