//go:build browser

package ui_test

import (
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
	"github.com/understudy-mock/understudy/spec/api"
)

// TestThePaletteOfRandomStates does random things, and compares the lines of the palette with the search of
// the API: what failed is first, then the order of the search, and a run is one line with its messages.
func TestThePaletteOfRandomStates(t *testing.T) {
	t.Parallel()
	u, w := randomAccount(t)
	b := look(t, u, "")
	b.do("open the palette", evaluate(`palette.open()`))
	random := rand.New(rand.NewPCG(5, 47))
	for i := range 60 {
		what := randomAct(t, u, w, random, i)
		u.Settle()
		if i%4 != 0 {
			continue
		}
		for _, words := range []string{"shop", "down.test", "charge", "state:failed"} {
			want := paletteLines(t, u, words)
			var got []string
			for _, line := range ask[[][]string](b, `(async () => { find("#palette input").value = `+quote(words)+`; await palette.ask(); return palette.found.map(([, , detail, address]) => [address, detail]); })()`) {
				address, err := url.Parse(line[0])
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, strings.TrimPrefix(address.Path, "/_understudy/ui/"))
				expect.Contains(t, "the line of "+address.Path, line[1], address.Path[strings.LastIndexByte(address.Path, '/')+1:])
			}
			expect.Equal(t, "lines for "+words+" after "+what, strings.Join(got, " "), strings.Join(want, " "))
		}
	}
}

// paletteLines are the views to which the palette leads for words, by the search of the API.
func paletteLines(t *testing.T, u *mockserver.TestServer, words string) (lines []string) {
	t.Helper()
	queries := []string{words}
	if !strings.Contains(words, ":") {
		queries = append(queries, "id:"+words, "run:"+words)
	}
	var hits []api.SearchHit
	for _, q := range queries {
		hits = append(hits, fetch[struct{ Hits []api.SearchHit }](t, u, "/_understudy/search?q="+url.QueryEscape(q)).Hits...)
	}
	for _, failed := range []bool{true, false} {
		for _, h := range hits {
			line := "messages/" + h.ID
			switch {
			case h.WorkflowRunID != "":
				line = "runs/" + h.WorkflowRunID
			case h.Kind == "dlq":
				line = "dlq/" + h.ID
			case h.Kind == "log":
				line = "messages/" + h.MessageID
			}
			if strings.Contains(h.State, "FAILED") == failed && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines[:min(len(lines), 12)]
}
