package engine

import "slices"

// markCritical marks the spans on the critical path, which decide how long the run took. It
// starts with the span that ended last and repeatedly steps to the latest span that ended
// before that one began. Of spans with equal ends it takes the one that began last. Kept
// steps took no time in this run.
func markCritical(spans []Span) {
	at := -1
	for i := range spans {
		if s := &spans[i]; !s.Kept && (at < 0 || s.endsAfter(&spans[at])) && !s.cutShort(spans) {
			at = i
		}
	}
	for at >= 0 {
		spans[at].Decides = true
		before := -1
		for i := range at {
			s := &spans[i]
			if s.Kept || s.To.IsZero() || s.To.After(spans[at].From) {
				continue
			}
			if before < 0 || !s.To.Before(spans[before].To) {
				before = i
			}
		}
		at = before
	}
}

// cutShort reports whether the end of the run ended the span, while another span ended normally.
func (s *Span) cutShort(spans []Span) bool {
	canceled := func(s Span) bool { return len(s.Parts) > 0 && s.Parts[len(s.Parts)-1].Kind == "canceled" }
	return canceled(*s) && slices.ContainsFunc(spans, func(other Span) bool { return !canceled(other) && !other.Kept && !other.To.Before(s.To) })
}

// endsAfter reports whether a span ends no earlier than another one; an open end is the latest.
func (s *Span) endsAfter(other *Span) bool {
	if other.To.IsZero() {
		return s.To.IsZero()
	}
	return s.To.IsZero() || !s.To.Before(other.To)
}
