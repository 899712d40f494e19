package world

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/conformance/check"
	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// left are the rows of some runs in a list.
func (v *view) left() *seen {
	s := &harness.Scenario{Suite: &harness.Suite{}}
	rows := &seen{owner: map[string]*Tale{}, began: 999, key: s.RowKey(v.section), times: map[string]int{}}
	for i := range 60 {
		run := fmt.Sprintf("wfr_%d", i/6)
		row := map[string]any{
			"dlqId": fmt.Sprint("dlq", i), "workflowRunId": run, "workflowUrl": fmt.Sprintf("http://x.test/%d", i/12), "state": []string{"CREATED", "DELIVERED", "ERROR"}[i%3],
			"workflowCreatedAt": 1000 + i/6, "createdAt": 1000 + i, "time": 1000 + i, "responseStatus": 500 + i%2, "callerIP": "127.0.0.1", "stepInfo": map[string]any{"messageId": fmt.Sprint("msg_", i/2)},
		}
		if i%2 == 0 {
			row["label"], row["failureCallbackInfo"] = fmt.Sprint("label-", i%6), map[string]any{"state": []string{"CALLBACK_FAIL", "CALLBACK_SUCCESS"}[i%4/2]}
		}
		if i%6 == 3 {
			row["label"] = nil
		}
		text, _ := json.Marshal(row) // plain values
		rows.all, rows.owner[run] = append(rows.all, check.Decode(text)), &Tale{}
		rows.times[rows.key(rows.all[i])]++
	}
	return rows
}

// list answers a query as a server does that obeys the document but for its flaw.
func (v *view) list(flaw string, l *Life, rows *seen) (items []any) {
	if l.Pick["reader"] > 0 && !(flaw == "filters show others" && len(l.filters()) > 0) {
		return nil
	}
	for _, row := range rows.all {
		fits := true
		for _, f := range v.filters {
			asked, has := l.View.query[f.binding], plain(row, "/"+strings.TrimPrefix(f.pointer, "/"))
			at, _ := strconv.ParseInt(asked, 10, 64)
			first := slices.Min(v.times(nil, row))
			switch {
			case asked == "" || flaw == f.says+" is ignored":
			case f.binding == "from":
				fits = fits && first >= at && !(flaw == "the start date is exclusive" && first == at)
			case f.binding == "to":
				fits = fits && first <= at
			case flaw == f.says+" is a prefix":
				fits = fits && strings.HasPrefix(has, asked)
			default:
				fits = fits && has == asked
			}
		}
		if fits {
			items = append(items, row)
		}
	}
	switch size := l.on("pages").n; {
	case flaw == "pages overlap" && size > 0 && len(items) > size:
		return slices.Insert(items, size, items[size-1])
	case flaw == "the first of many is left out" && len(items) > 1:
		return items[1:]
	}
	return items
}

func TestReadsOfAServerThatObeysBreakNoRule(t *testing.T) {
	t.Parallel()
	for name, v := range views {
		rows, k := v.left(), Views(name, nil)
		for flaw, want := range map[string][]string{
			"":                              nil,
			"run id is ignored":             {v.filtered[4:] + " stated"},
			"run id is a prefix":            {v.filtered[4:] + " stated"},
			"workflow url is a prefix":      {v.filtered[4:] + " stated"},
			"end date is ignored":           {v.dated[4:] + " stated"},
			"the start date is exclusive":   {v.filtered[4:] + " stated", v.dated[4:] + " stated"},
			"the first of many is left out": {v.filtered[4:] + " stated", v.dated[4:] + " stated"},
			"pages overlap":                 {v.paged[4:] + " stated"},
			"filters show others":           {"AUT-005 implied"},
		} {
			t.Run(name+", "+flaw, func(t *testing.T) {
				t.Parallel()
				var ids []string
				judged := map[string]int{}
				for seed := range uint64(3) {
					w := &World{Kind: k, names: bindings}
					for _, thing := range plan(k, seed) {
						l := &Life{Thing: thing}
						v.ask(w, l, rows)
						l.View.list(v.list(flaw, l, rows))
						w.Lives = append(w.Lives, l)
					}
					breaks(w, &ids, judged)
				}
				slices.Sort(ids)
				expect.Equal(t, "broken rules", ids, want)
				for _, r := range k.Rules {
					if judged[r.Says] == 0 {
						t.Errorf("nothing was judged by: %s", r.Says)
					}
				}
			})
		}
	}
}

// The floor of pairs of filters: three worlds have nearly all.
func TestReadsCoverPairsOfFilters(t *testing.T) {
	t.Parallel()
	for name := range views {
		seen := map[[2]string]bool{}
		for seed := range uint64(3) {
			for _, read := range Views(name, nil).Generate(seed+1, 40, everything) {
				if set := read.filters(); len(set) == 2 {
					seen[[2]string(set)] = true
				}
			}
		}
		n := len(views[name].filters)
		got := 100 * len(seen) / (n * (n - 1) / 2)
		t.Logf("%s: %d of %d pairs: %d %%", name, len(seen), n*(n-1)/2, got)
		if got < 90 {
			t.Errorf("%s: three worlds have %d %% of the pairs of filters: must be at least 90", name, got)
		}
	}
}
