package ui

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// fall is the waterfall of a run: a row for each step or fork, on one axis in per cent of the
// width. Attempts are drawn to one scale. A long time in which nothing works is a break: a
// band of fixed width through all rows.
type fall struct {
	Rows     []*fallRow
	Breaks   []axisBreak
	Resumed  float64 // position of the line that separates kept steps; 0 without one
	Real     bool    // bars are measured durations, not times of the account's clock
	Switches bool    // both can be shown
	Plans    int     // calls in which the endpoint only planned or ended the run
	Planned  bool    // these are rows too
	Steps    int     // number of steps
	Work     float64 // ms in which attempts of the run worked

	flow    *flow
	earlier map[string]fallRow // the rows of the run that this one resumes, if the account still has it
	epochs  []epoch
	longest float64 // of the attempts, in ms
}

// fallRow is a span with its picture, or a fork with the rows of its branches.
type fallRow struct {
	*span
	Index     int
	Title     string // of a fork
	Names     string // of its branches
	Branches  []*fallRow
	Open      bool   // a fork that shows its branches
	State     string // glyph and word of the row
	Condition string
	Attempts  int
	Took      string
	ByClock   bool // Took is a time of the account's clock
	Critical  bool
	Shapes    []shape

	worked float64 // ms
	order  float64 // steps with a smaller one are finished before it begins
	from   float64 // position of its beginning and end
	to     float64
	parts  []*part
	hidden bool
}

// epoch is a time in which attempts ran. The clock of the account moves between two epochs; a
// clock in real time also moves in them.
type epoch struct {
	from, to int64   // Unix ms, on the account's clock
	length   float64 // ms of work
	x, scale float64
}

// axisBreak is time in which no step worked.
type axisBreak struct {
	X, Width float64
	Count    string // "3 retries, " of several in one
	Length   string
	Title    string

	length   int64
	retries  int
	of       int // breaks in it
	from, to int // epochs before and behind it
}

// Fall is the waterfall with the settings of the query: durations=clock, plan=shown.
func (f *flow) Fall(query url.Values, mode string) *fall {
	w := &fall{flow: f, Planned: query.Get("plan") == "shown"}
	if f.Earlier != nil {
		w.earlier = map[string]fallRow{}
		for _, r := range f.Earlier.Fall(query, mode).Rows {
			w.earlier[r.key()] = *r
			for _, b := range r.Branches {
				w.earlier[b.key()] = *b
			}
		}
	}
	rows := w.spanRows()
	measured := slices.ContainsFunc(rows, func(r *fallRow) bool {
		return slices.ContainsFunc(r.parts, func(p *part) bool { return p.DurationMs > 0 })
	})
	w.Switches = measured && mode != "real"
	w.Real = w.Switches && query.Get("durations") != "clock"
	w.place(rows)
	w.scale(rows)
	for _, r := range rows {
		w.position(r)
	}
	markCritical(rows)
	for _, r := range rows {
		w.finish(r)
	}
	w.arrange(rows)
	return w
}

// spanRows makes a row for each span, with its place in the order of the run.
func (w *fall) spanRows() []*fallRow {
	f, group, rows := w.flow, -1.0, make([]*fallRow, 0, len(w.flow.Spans))
	known := f.groups()
	for i := range f.Spans {
		s, r := &f.Spans[i], f.row(i)
		if n, ok := known[s.Key()]; ok {
			group = max(group, float64(n))
			r.order = float64(n)
		} else {
			r.order = group + 0.5
		}
		r.hidden = s.plans()
		for j := range s.Parts {
			if p := &s.Parts[j]; p.works() {
				r.parts = append(r.parts, p)
				w.Work += p.DurationMs
			}
		}
		if r.hidden && len(r.parts) > 0 {
			w.Plans++
		} else if !r.hidden {
			w.Steps++
		}
		rows = append(rows, r)
	}
	return rows
}

// works reports whether the part is an attempt, and not a wait.
func (p *part) works() bool { return p.Kind == "running" || p.Kind == "failed" || p.Kind == "canceled" }

// plans reports whether the span is no step of the workflow: the beginning without a delay, and
// a call in which the endpoint planned parallel steps, or ended the run.
func (s *span) plans() bool {
	return s.Type == "Plan" || s.Type == "Initial" && len(s.Parts) == 0 ||
		s.Step.StepName == "end of the workflow" && s.Step.StepID == 0 && s.Failures() == 0
}

// Key identifies the step of a span among the steps of the run.
func (s *span) Key() string {
	if s.Step.StepID == 0 {
		return s.MessageID
	}
	return strconv.Itoa(s.Step.StepID)
}

// place divides the attempts into epochs and puts them into their order: an attempt begins at
// the end of the one before, and a step at the end of the steps before it.
func (w *fall) place(rows []*fallRow) {
	type job struct {
		*part
		row   *fallRow
		first bool
	}
	var jobs []job
	for _, r := range rows {
		for i, p := range r.parts {
			jobs = append(jobs, job{p, r, i == 0})
		}
	}
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.row.order, b.row.order)) })
	begin := 0 // of the jobs of the epoch
	for i, j := range jobs {
		last := len(w.epochs) - 1
		if last < 0 || j.From > w.epochs[last].to {
			w.epochs, begin = append(w.epochs, epoch{from: j.From, to: j.From}), i
			last++
		}
		e := &w.epochs[last]
		j.epoch, e.to = last, max(e.to, j.end(w.flow.Now))
		j.begins = float64(j.From - e.from)
		took := float64(j.end(w.flow.Now) - j.From)
		if w.Real {
			j.begins, took = 0, cmp.Or(j.DurationMs, took)
			for _, before := range jobs[begin:i] {
				if before.row == j.row || j.first && before.row.order < j.row.order {
					j.begins = max(j.begins, before.ends)
				}
			}
		}
		j.ends, w.longest = j.begins+took, max(w.longest, took)
		e.length = max(e.length, j.ends)
	}
}

// end is the end of a part, or now.
func (p *part) end(now int64) int64 {
	if p.To == 0 {
		return max(now, p.From)
	}
	return p.To
}

// Shares of the axis, in per cent.
const (
	keptShare  = 24.0 // of the steps of an earlier run, at most
	breakShare = 6.6  // of a break
	breaksMost = 40.0 // of all breaks
	mostBreaks = 6
	leastEpoch = 1.2
	leastBar   = 0.75
)

// scale decides which times are breaks, and gives each epoch its place on the axis.
func (w *fall) scale(rows []*fallRow) {
	last := w.flow.Now
	if at, ok := readNumber(w.flow.Row["workflowRunCompletedAt"]); ok && !w.flow.Runs {
		last = int64(at)
	}
	if n := len(w.epochs); n == 0 || w.epochs[n-1].to < last {
		w.epochs = append(w.epochs, epoch{from: last, to: last})
	}
	if started := number(w.flow.Row["workflowRunCreatedAt"]); int64(started) < w.epochs[0].from {
		w.epochs = slices.Insert(w.epochs, 0, epoch{from: int64(started), to: int64(started)})
		for _, r := range rows {
			for _, p := range r.parts {
				p.epoch++
			}
		}
	}
	idle := make([]float64, len(w.epochs)) // time before an epoch that is drawn to scale
	const much = 8
	for i := 1; i < len(w.epochs); i++ {
		between := w.epochs[i].from - w.epochs[i-1].to
		if float64(between) > much*w.longest {
			next := axisBreak{length: between, of: 1, from: i - 1, to: i}
			for _, r := range rows {
				if slices.ContainsFunc(r.parts, func(p *part) bool { return p.epoch == i && p.Attempt > 1 }) {
					next.retries = 1
				}
			}
			w.Breaks = append(w.Breaks, next)
		} else {
			idle[i] = float64(between)
		}
	}
	w.mergeBreaks()
	w.spread(idle, slices.ContainsFunc(rows, func(r *fallRow) bool { return r.Kept && !r.hidden }))
}

// mergeBreaks combines the breaks with the least work between them, until few are left.
func (w *fall) mergeBreaks() {
	between := func(i int) (work float64) {
		for _, e := range w.epochs[w.Breaks[i].to : w.Breaks[i+1].from+1] {
			work += e.length
		}
		return work
	}
	for len(w.Breaks) > mostBreaks {
		at := 0
		for i := range len(w.Breaks) - 1 {
			if between(i) < between(at) {
				at = i
			}
		}
		a, b := &w.Breaks[at], w.Breaks[at+1]
		a.length, a.of, a.retries, a.to = a.length+b.length, a.of+b.of, a.retries+b.retries, b.to
		w.Breaks = slices.Delete(w.Breaks, at+1, at+2)
	}
}

// spread gives epochs and breaks their positions. Within merged breaks, epochs have equal
// distances.
func (w *fall) spread(idle []float64, kept bool) {
	x := 0.0
	if kept {
		w.Resumed = keptShare
		x = keptShare + 1
	}
	inside := make([]*axisBreak, len(w.epochs))
	share := min(breakShare, breaksMost/float64(max(1, len(w.Breaks))))
	for i := range w.Breaks {
		b := &w.Breaks[i]
		if b.Width = share; b.of > 1 {
			b.Width = share * 1.7
		}
		for j := b.from + 1; j < b.to; j++ {
			inside[j] = b
		}
	}
	work, free, shown := 0.0, 100-x, 0
	for i := range w.epochs {
		if inside[i] == nil {
			work += w.epochs[i].length + idle[i]
			shown++
		}
	}
	for _, b := range w.Breaks {
		free -= b.Width
	}
	scale := max(0, free-leastEpoch*float64(shown)) / max(work, 1e-9)
	for i, next := 0, 0; i < len(w.epochs); i++ {
		e := &w.epochs[i]
		if next < len(w.Breaks) && w.Breaks[next].to == i {
			x += w.Breaks[next].Width
			next++
		}
		if b := inside[i]; b != nil {
			e.x = b.X + b.Width*float64(i-b.from)/float64(b.to-b.from)
			continue
		}
		e.x, e.scale = x+idle[i]*scale, scale
		if x = e.x + e.length*scale + leastEpoch; work == 0 {
			x = e.x + free/float64(shown)
		}
		if next < len(w.Breaks) && w.Breaks[next].from == i {
			w.Breaks[next].X = x
		}
	}
	for i := range w.Breaks {
		w.Breaks[i].label(w.epochs)
	}
}

// label writes the texts of a break.
func (b *axisBreak) label(epochs []epoch) {
	b.Length = shortDuration(b.length)
	b.Title = fmt.Sprintf("%s in which no step works, until %s", durationText(b.length), utcText(epochs[b.to].from))
	if b.of > 1 {
		b.Count = fmt.Sprintf("%d waits, ", b.of)
		if b.retries == b.of {
			b.Count = fmt.Sprintf("%d retries, ", b.of)
		}
	}
}

// shortDuration is a duration with its largest unit.
func shortDuration(ms int64) string {
	return strings.Join(strings.Fields(durationText(ms))[:2], " ")
}

// Middle is where the text of the break is.
func (b *axisBreak) Middle() float64 { return b.X + b.Width/2 }

// Kind is what a step does, if it is not the endpoint's own work.
func (r *fallRow) Kind() string {
	switch kind := r.Type; {
	case strings.HasPrefix(kind, "Sleep"):
		return "sleep"
	case kind == "Wait":
		return "event"
	case kind == "Call", kind == "Invoke", kind == "Notify":
		return strings.ToLower(kind)
	}
	return ""
}

// Plans reports whether the row is a planning call.
func (r *fallRow) Plans() bool { return r.span != nil && r.span.plans() }

// at is the position of a work part.
func (w *fall) at(p *part) (from, to float64) {
	e := &w.epochs[p.epoch]
	return e.x + p.begins*e.scale, e.x + p.ends*e.scale
}

// moment is the position of a time on the account's clock: of several, the last one.
func (w *fall) moment(ms int64) float64 {
	i := slices.IndexFunc(w.epochs, func(e epoch) bool { return e.to >= ms })
	if i < 0 {
		return 100
	}
	e := &w.epochs[i]
	end := e.x + e.length*e.scale
	switch {
	case ms >= e.from && e.to > e.from:
		return e.x + (end-e.x)*float64(ms-e.from)/float64(e.to-e.from)
	case ms >= e.from || i == 0:
		return e.x
	}
	before := &w.epochs[i-1]
	x := before.x + before.length*before.scale
	return x + (e.x-x)*float64(ms-before.to)/float64(e.from-before.to)
}

// position gives all parts of a row their positions: waits lie between attempts.
func (w *fall) position(r *fallRow) {
	for i := range r.Parts {
		if p := &r.Parts[i]; p.works() {
			p.x, p.to = w.at(p)
		} else {
			p.x, p.to = w.moment(p.From), w.moment(p.end(w.flow.Now))
		}
	}
	for i := range r.Parts {
		if p := &r.Parts[i]; !p.works() {
			if i > 0 {
				p.x = r.Parts[i-1].to
			}
			if i+1 < len(r.Parts) && r.Parts[i+1].works() {
				p.to = r.Parts[i+1].x
			}
			p.to = max(p.to, p.x)
		}
	}
	r.from, r.to = w.moment(r.From), w.moment(cmp.Or(r.To, r.From))
	if n := len(r.Parts); n > 0 {
		if last := &r.Parts[n-1]; r.Condition != "" && !last.works() { // the end of the run ended it
			e := &w.epochs[len(w.epochs)-1]
			last.to = max(last.to, e.x+e.length*e.scale)
		}
		r.from, r.to = r.Parts[0].x, r.Parts[n-1].to
		if first := r.Parts[0]; !first.works() && first.To == first.From && n > 1 {
			r.from = r.Parts[1].x
		}
	}
}

// markCritical marks the rows that decide how long the run takes: the one that ends last, and
// repeatedly the last of those that end before it begins.
func markCritical(rows []*fallRow) {
	const same = 0.01
	var at *fallRow
	for edge := 101.0; ; edge = at.from + same {
		var before *fallRow
		for _, r := range rows {
			if !r.Kept && r != at && !r.Critical && len(r.Parts) > 0 && r.Condition == "" && r.to <= edge && (before == nil || r.to > before.to) {
				before = r
			}
		}
		if before == nil {
			return
		}
		before.Critical, at = true, before
	}
}

// finish draws a row, and says how long it took and how it is.
func (w *fall) finish(r *fallRow) {
	for _, p := range r.parts {
		r.worked += cmp.Or(p.DurationMs, float64(p.end(w.flow.Now)-p.From))
	}
	last := ""
	if n := len(r.Parts); n > 0 {
		last = r.Parts[n-1].Kind
	}
	waits := last == "sleeping" || last == "waiting" || strings.HasPrefix(r.Type, "Sleep") || r.Type == "Wait"
	switch {
	case r.span.To == 0 && !waits:
	case waits || !w.Real:
		r.Took, r.ByClock = durationText(cmp.Or(r.span.To, w.flow.Now)-r.From), true
	default:
		r.Took = roundDuration(r.worked)
	}
	switch {
	case r.Kept:
		r.State = "kept"
	case r.Condition != "":
		r.State = r.Condition
	case r.span.To == 0 && last == "retrying":
		r.State = "retrying"
	case r.span.To == 0 && waits:
		r.State = "waiting"
	case r.span.To == 0:
		r.State = "in progress"
	case last == "failed":
		r.State = "failed"
	case last == "canceled":
		r.State = "cancelled"
	default:
		r.State = "done"
	}
	r.Shapes = w.draw(r)
}

// roundDuration is a measured duration in ms.
func roundDuration(ms float64) string {
	if ms < 1 && ms > 0 {
		return "<1 ms"
	}
	return durationText(math.Round(ms))
}

// shape is a bar or a line in the lane of a row, with its positions in per cent.
type shape struct {
	Class, Words string
	X, To        float64
	Line         bool
}

// Width is the width of a bar.
func (s shape) Width() float64 { return s.To - s.X }

// barOf is a bar that is wide enough to be seen.
func barOf(class, words string, x, to float64) shape {
	width := max(leastBar, to-x)
	x = min(x, 100-width)
	return shape{Class: class, Words: words, X: x, To: x + width}
}

// draw draws the parts of a row.
func (w *fall) draw(r *fallRow) (list []shape) {
	for i := range r.Parts {
		p := &r.Parts[i]
		end, class := p.end(w.flow.Now), p.Kind
		switch {
		case p.works():
			if p.Kind == "failed" && r.State == "done" {
				class += " healed"
			}
			if r.Critical {
				class += " critical"
			}
			list = append(list, barOf(class, p.inWords(r.Name(), end), p.x, p.to))
		case end > p.From && p.to > p.x:
			list = append(list, shape{class, p.inWords(r.Name(), end), p.x, p.to, true})
		}
	}
	if r.Kept && r.to > r.from {
		list = append(list, barOf("kept", "", r.from, r.to))
	}
	return list
}

// inWords describes a part.
func (p *part) inWords(name string, to int64) string {
	text := name + ": " + partWords[p.Kind]
	if p.Attempt > 0 {
		text = fmt.Sprintf("%s, attempt %d: %s", name, p.Attempt, partWords[p.Kind])
	}
	if text += " for " + durationText(to-p.From); p.DurationMs > 0 {
		text = strings.TrimSuffix(text, durationText(to-p.From)) + tookText(p.DurationMs)
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

// arrange puts branches below their forks, and leaves out plans and folds what is long ended.
func (w *fall) arrange(rows []*fallRow) {
	var fork *fallRow
	shown := 0
	slices.SortStableFunc(rows, func(a, b *fallRow) int { return cmp.Compare(a.order, b.order) })
	for _, r := range rows {
		if r.hidden && !w.Planned {
			continue
		}
		shown++
		branches := w.flow.Branches[int(r.order)]
		if float64(int(r.order)) != r.order || r.order < 0 || branches < 2 {
			w.Rows, fork = append(w.Rows, r), nil
			continue
		}
		if fork == nil || fork.order != r.order {
			fork = &fallRow{order: r.order, Title: fmt.Sprintf("Parallel, %d branches", branches)}
			w.Rows = append(w.Rows, fork)
			shown++
		}
		fork.Branches = append(fork.Branches, r)
	}
	w.layKept()
	const many = 20
	w.Rows = foldEnded(w.Rows)
	for _, r := range w.Rows {
		if r.Branches != nil {
			w.closeFork(r, shown > many)
		}
	}
}

// foldEnded folds long sequences of finished steps in a long run, except the last ones.
func foldEnded(rows []*fallRow) (list []*fallRow) {
	const long, last = 30, 5
	if len(rows) <= long {
		return rows
	}
	for i := 0; i < len(rows); {
		end := i
		for end < len(rows) && rows[end].Branches == nil && (rows[end].State == "done" || rows[end].State == "kept") {
			end++
		}
		if end-i > 2*last {
			fold := &fallRow{Title: fmt.Sprintf("%d steps", end-i-last), Branches: rows[i : end-last]}
			list = append(list, fold)
			i = end - last
		}
		list = append(list, rows[i:max(end, i+1)]...)
		i = max(end, i+1)
	}
	return list
}

// layKept gives the kept steps their places left of the line: as long as they took in the
// earlier run, one after the other, and branches side by side.
func (w *fall) layKept() {
	if w.Resumed == 0 {
		return
	}
	var groups [][]*fallRow
	for _, r := range w.Rows {
		group := r.Branches
		if group == nil {
			group = []*fallRow{r}
		}
		if group = slices.DeleteFunc(slices.Clone(group), func(r *fallRow) bool { return !r.Kept || r.hidden }); len(group) > 0 {
			groups = append(groups, group)
		}
	}
	total := 0.0
	longest := func(group []*fallRow) (most float64) {
		for _, r := range group {
			most = max(most, w.earlier[r.key()].worked)
		}
		return most
	}
	for _, g := range groups {
		total += longest(g)
	}
	x, free := 0.0, keptShare-1-leastBar*float64(len(groups))
	for _, g := range groups {
		for _, r := range g {
			before := w.earlier[r.key()]
			r.from, r.to = x, x+leastBar+free*before.worked/max(total, 1)
			r.Shapes, r.Took, r.ByClock = w.draw(r), before.Took, before.ByClock
		}
		x += leastBar + free*longest(g)/max(total, 1)
	}
}

// key identifies a row among those of the run.
func (r *fallRow) key() string {
	if r.Branches != nil {
		return r.Branches[0].key() + r.Names
	}
	return r.Key()
}

// closeFork describes a fork by its branches.
func (w *fall) closeFork(r *fallRow, folds bool) {
	var names []string
	r.from, r.to, r.State = 100, 0, "done"
	kept, busy, class := true, false, ""
	from, to := int64(math.MaxInt64), int64(0)
	begin, end := math.MaxFloat64, 0.0 // of the attempts
	for _, b := range r.Branches {
		names = append(names, b.Name())
		if kept = kept && b.Kept; b.Kept == kept { // kept branches lie left of the others
			r.from = min(r.from, b.from)
		}
		r.to = max(r.to, b.to)
		from, to = min(from, b.From), max(to, cmp.Or(b.span.To, w.flow.Now))
		if b.State != "done" && b.State != "kept" {
			busy = true
		}
		if b.Critical {
			class = "critical"
		}
		for _, p := range b.parts {
			begin, end = min(begin, p.begins), max(end, p.ends)
		}
	}
	r.Names = strings.Join(names, ", ")
	r.Open = busy || !kept && !folds && r.Title[0] == 'P'
	switch {
	case kept:
		class = "kept"
		fallthrough
	case !r.Open:
		r.Shapes = []shape{barOf(class, "", r.from, r.to)}
	default:
		r.Shapes = []shape{{"fork", "", r.from, r.to, true}}
	}
	switch {
	case kept:
		before := w.earlier[r.key()]
		r.State, r.Took, r.ByClock = "kept", before.Took, before.ByClock
	case w.Real && to-from < 1000:
		r.Took = roundDuration(end - min(begin, end))
	default:
		r.Took, r.ByClock = durationText(to-from), true
	}
}

// row is the row of a span, without its picture.
func (f *flow) row(i int) *fallRow {
	s := &f.Spans[i]
	return &fallRow{span: s, Index: i, Attempts: len(s.Tried()), Condition: f.Condition(s)}
}

// Tried returns the attempts of the span.
func (s *span) Tried() []part { return s.those(func(p *part) bool { return p.Attempt > 0 }) }

// Failures is the number of failed attempts.
func (s *span) Failures() int {
	return len(s.those(func(p *part) bool { return p.Attempt > 0 && p.Kind == "failed" }))
}

// EndpointFailures returns the failed attempts of the endpoint itself around a call of a
// third party. They do not count as attempts of the call.
func (s *span) EndpointFailures() []part {
	return s.those(func(p *part) bool { return p.Attempt == 0 && p.Kind == "failed" })
}

func (s *span) those(wanted func(*part) bool) (list []part) {
	for i := range s.Parts {
		if wanted(&s.Parts[i]) {
			list = append(list, s.Parts[i])
		}
	}
	return list
}

// Tone is the shape of an attempt.
func (p *part) Tone() string {
	switch {
	case p.To == 0:
		return "busy"
	case p.Kind == "running":
		return "good"
	}
	return stateTone(p.Kind)
}

// Shown is the span whose details are displayed: the one in the query; nil for none.
func (f *flow) Shown(query url.Values) *fallRow {
	at, err := strconv.Atoi(query.Get("step"))
	if err != nil || at < 0 || at >= len(f.Spans) {
		return nil
	}
	return f.row(at)
}
