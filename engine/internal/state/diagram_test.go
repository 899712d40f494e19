package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// place is a cell of the grid on which a diagram is drawn.
type place struct{ column, row int }

// runTransitions is the table of run states. No code checks it: a run ends once, in one of
// three ways.
var runTransitions = map[RunState][]RunState{
	"":         {RunStarted},
	RunStarted: {RunSuccess, RunFailed, RunCanceled},
}

// TestGeneratedDiagrams compares the diagrams of docs/contributing/architecture.md with the tables of
// transitions. Only the position of each state is set here.
func TestGeneratedDiagrams(t *testing.T) {
	t.Parallel()
	t.Run("the life of a message", func(t *testing.T) {
		t.Parallel()
		places := map[MessageState]place{"": {0, 0}, Created: {1, 0}, Active: {2, 0}, Delivered: {4, 0}, Errored: {2, 1}, Retry: {1, 1}, Failed: {4, 1}, CancelRequested: {2, 2}, Canceled: {4, 2}}
		expect.Generated(t, "../../../docs/contributing/life-of-a-message.svg", drawn(t, Transitions, places))
	})
	t.Run("the life of a run", func(t *testing.T) {
		t.Parallel()
		places := map[RunState]place{"": {0, 1}, RunStarted: {1, 1}, RunSuccess: {3, 0}, RunFailed: {3, 1}, RunCanceled: {3, 2}}
		expect.Generated(t, "../../../docs/contributing/life-of-a-run.svg", drawn(t, runTransitions, places))
	})
}

const (
	cellWidth, cellHeight = 170, 90
	boxWidth, boxHeight   = 150, 36
)

// drawn returns a diagram as SVG: a box for each state, an arrow for each transition. The
// colours suit light and dark pages.
func drawn[S ~string](t *testing.T, table map[S][]S, places map[S]place) string {
	t.Helper()
	columns, rows := 0, 0
	for _, p := range places {
		columns, rows = max(columns, p.column+1), max(rows, p.row+1)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" font-family="sans-serif" font-size="13">`+"\n", columns*cellWidth, rows*cellHeight)
	b.WriteString(`<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#5b6b73"/></marker></defs>` + "\n")
	b.WriteString(`<rect width="100%" height="100%" fill="#ffffff"/>` + "\n")
	for _, from := range slices.Sorted(maps.Keys(table)) {
		for _, to := range table[from] {
			p, ok1 := places[from]
			q, ok2 := places[to]
			if !ok1 || !ok2 {
				t.Fatalf("%q to %q: a state has no place", from, to)
			}
			b.WriteString(arrow(p, q))
		}
	}
	for _, s := range slices.Sorted(maps.Keys(places)) {
		x, y := middle(places[s])
		if s == "" {
			fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="7" fill="#0f6b62"/>`+"\n", x+boxWidth/2-7, y)
			continue
		}
		line := "#0f6b62"
		if len(table[s]) == 0 {
			line = "#a4262c" // a final state
		}
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="#f4f7f6" stroke="%s" stroke-width="1.5"/><text x="%d" y="%d" text-anchor="middle" fill="#14201e">%s</text>`+"\n",
			x-boxWidth/2, y-boxHeight/2, boxWidth, boxHeight, line, x, y+5, s)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func middle(p place) (x, y int) {
	return p.column*cellWidth + cellWidth/2, p.row*cellHeight + cellHeight/2
}

// arrow goes from edge to edge. If a box in its row or column is in the way, it goes around it.
func arrow(p, q place) string {
	x1, y1 := middle(p)
	x2, y2 := middle(q)
	var path string
	switch {
	case p.row == q.row:
		side := boxWidth / 2
		if q.column < p.column {
			side = -side
		}
		path = fmt.Sprintf("M%d %dL%d %d", x1+side, y1, x2-side, y2)
	case p.column == q.column && abs(p.row-q.row) > 1: // around the box between them
		path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1+boxWidth/2, y1+8, x1+boxWidth, y1+30, x2+boxWidth, y2-30, x2+boxWidth/2, y2-8)
	case q.row > p.row:
		path = fmt.Sprintf("M%d %dL%d %d", x1+towards(p, q), y1+boxHeight/2, x2-towards(p, q), y2-boxHeight/2)
	default:
		path = fmt.Sprintf("M%d %dL%d %d", x1+towards(p, q), y1-boxHeight/2, x2-towards(p, q), y2+boxHeight/2)
	}
	return fmt.Sprintf(`<path d="%s" fill="none" stroke="#5b6b73" stroke-width="1.2" marker-end="url(#head)"/>`+"\n", path)
}

// towards is the offset from the middle of a box at which an arrow to another column begins.
func towards(p, q place) int {
	switch {
	case q.column > p.column:
		return boxWidth / 3
	case q.column < p.column:
		return -boxWidth / 3
	}
	return 0
}

func abs(n int) int { return max(n, -n) }
