package ui_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// TestRunAgainFromAStep starts runs from the form of a finished one: the steps before the chosen
// one are not executed, and the endpoint receives their results as edited.
func TestRunAgainFromAStep(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Start: time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)})
	w := runOrders(t, u)
	failed(w, "wfr_old")
	form := func(from string) (action string, fields url.Values) {
		page := read(t, u, "ui/runs/wfr_old?tab=again&from="+from).at("view").first("form", "edit")
		fields = url.Values{}
		for _, one := range append(page.all("input", ""), page.all("textarea", "")...) {
			value := one.is("value")
			if one.Data == "textarea" && one.FirstChild != nil {
				value = one.FirstChild.Data
			}
			fields.Add(one.is("name"), value)
		}
		return page.is("action"), fields
	}
	t.Run("from the beginning, the input is the same", func(t *testing.T) {
		action, fields := form("")
		expect.Contains(t, "action", action, "do/run.trigger")
		expect.Equal(t, "payload", fields.Get("body"), `{"order":7}`)
	})
	t.Run("from a step, the steps before it have their results", func(t *testing.T) {
		action, fields := form("2")
		expect.Contains(t, "action", action, "do/run.from")
		expect.Equal(t, "kept steps", strings.Join(fields["name"], ","), "check the order")
		fields.Set("out", `{"total":1}`)
		request(t, u, http.MethodPost, action, fields.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		u.Settle()
		page := read(t, u, "ui/runs/"+newest(t, u)).at("view").text()
		expect.Contains(t, "the new run", page, "RUN_STARTED sleeping")
		outs := texts(read(t, u, "ui/runs/"+newest(t, u)+"?tab=again&from=2").all("textarea", ""))
		expect.True(t, "its first result is the edited one", slices.Contains(outs, `{"total":1}`))
	})
	t.Run("behind a parallel block, the page says why not", func(t *testing.T) {
		expect.Contains(t, "the form", read(t, u, "ui/runs/wfr_old?tab=again").at("view").text(), "cannot be chosen: they are in a parallel block, or behind one, whose plan")
	})
}
