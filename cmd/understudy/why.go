package main

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// WhyCmd explains a message, a run, a DLQ entry or a flow-control key.
type WhyCmd struct {
	remote `embed:""`

	ID string `arg:"" help:"Message id, run id, DLQ id or flow-control key."`
}

// Run prints the reasons in the order in which they end, and links to the page.
func (c *WhyCmd) Run(e *env) error {
	var x struct {
		Kind, State string
		Now         int64
		Reasons     []struct {
			Reason, Rule string
			Until        int64
		}
		Pages   []string
		Failure struct {
			Stack     struct{ Own string }
			Signature struct{ Checks []string }
		}
		Lineage []struct{ Relation, ID, State string }
	}
	if err := c.call(e, http.MethodGet, "explain/"+url.PathEscape(c.ID), nil, nil, &x); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(e.out, "%s %s: %s\n", x.Kind, c.ID, x.State)
	for _, r := range x.Reasons {
		line := "  " + r.Reason
		if r.Until > 0 {
			until := time.UnixMilli(r.Until)
			if ahead := until.Sub(time.UnixMilli(x.Now)); ahead < math.MaxInt64 { // else more than a duration can say, 292 years
				line += fmt.Sprintf("; in %s", ahead)
			}
			line += ", at " + until.UTC().Format(time.RFC3339)
		}
		if r.Rule != "" {
			line += " (" + r.Rule + ")"
		}
		_, _ = fmt.Fprintln(e.out, line)
	}
	if own := x.Failure.Stack.Own; own != "" {
		_, _ = fmt.Fprintln(e.out, "  "+own)
	}
	for _, check := range x.Failure.Signature.Checks {
		_, _ = fmt.Fprintln(e.out, "  check: "+check)
	}
	for _, l := range x.Lineage {
		_, _ = fmt.Fprintln(e.out, strings.TrimRight("  "+l.Relation+" "+l.ID+" "+l.State, " "))
	}
	for _, page := range x.Pages {
		if c.Account != "" {
			page += map[bool]string{true: "&", false: "?"}[strings.Contains(page, "?")] + "account=" + url.QueryEscape(c.Account)
		}
		_, _ = fmt.Fprintln(e.out, "  see "+c.URL.base()+page)
	}
	return nil
}
