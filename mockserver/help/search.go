package help

import (
	"cmp"
	"html/template"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxQuery = 200 // bytes of a query; the rest is ignored
	maxHits  = 30  // most hits that are shown
	excerpt  = 160 // bytes of text around the first word
)

// hit is a section found by a search.
type hit struct {
	Page, Section string // titles
	Link          string
	Text          template.HTML // an excerpt around the first word, with the words marked

	weight int
}

// search finds the sections that contain all words of the query, the highest weight
// first. Words in headings weigh most.
func search(query string) []hit {
	words := strings.Fields(strings.ToLower(query[:min(len(query), maxQuery)]))
	if len(words) == 0 {
		return nil
	}
	var hits []hit
	for _, name := range slices.Sorted(maps.Keys(shelf())) {
		p := shelf()[name]
		for _, s := range p.Sections {
			weight, ok := weigh(words, strings.ToLower(p.Title), strings.ToLower(s.Text), strings.ToLower(s.Body))
			if !ok {
				continue
			}
			h := hit{Page: p.Title, Section: s.Text, Link: Root + strings.TrimPrefix(name, home), Text: around(s.Body, words), weight: weight}
			if s.Level > 1 {
				h.Link += "#" + s.ID
			}
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.weight, a.weight) })
	return hits[:min(len(hits), maxHits)]
}

// weigh rates how well a section matches; false: a word is not in it.
func weigh(words []string, title, heading, body string) (weight int, ok bool) {
	for _, word := range words {
		n := min(strings.Count(body, word), 5)
		if strings.Contains(heading, word) {
			n += 20
		}
		if n == 0 {
			return 0, false
		}
		if strings.Contains(title, word) {
			n += 10
		}
		weight += n
	}
	return weight, true
}

// around is an excerpt near the first of the words that occurs, with all words marked.
func around(text string, words []string) template.HTML {
	lower, from := strings.ToLower(text), 0
	if len(lower) != len(text) { // a letter has a lower case of another length, so positions differ
		lower = text
	}
	for _, word := range words {
		if at := strings.Index(lower, word); at >= 0 {
			from = max(0, at-excerpt/2)
			if space := strings.IndexByte(text[from:at], ' '); from > 0 && space >= 0 {
				from += space + 1 // start at a word
			}
			break
		}
	}
	to := min(len(text), from+excerpt)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString("… ")
	}
	for i := from; i < to; {
		n := 0
		for _, word := range words {
			if strings.HasPrefix(lower[i:to], word) {
				n = max(n, len(word))
			}
		}
		if n > 0 {
			b.WriteString("<mark>" + template.HTMLEscapeString(text[i:i+n]) + "</mark>")
			i += n
			continue
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		b.WriteString(template.HTMLEscapeString(text[i : i+size]))
		i += size
	}
	if to < len(text) {
		b.WriteString(" …")
	}
	return template.HTML(b.String()) //nolint:gosec // escaped above
}
