package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fault is a period in which attempts may be cut.
type fault struct {
	at, until time.Time
	accounts  []int // positions in crashConfig.Tokens; nil: all
	twofold   bool  // a stopped server may continue while its replacement runs
}

// defaultSlack is the slack for a server that stores its data itself.
const defaultSlack = 500 * time.Millisecond

// concerns reports whether a fault may have cut an attempt between two instants.
func (l *crashLoad) concerns(f *fault, account int, began, ended time.Time) bool {
	return (f.accounts == nil || slices.Contains(f.accounts, account)) && ended.After(f.at.Add(-l.cfg.Slack)) && began.Before(f.until.Add(l.cfg.Slack))
}

// excess is an attempt above the limit of its key.
type excess struct {
	account, running int
	at               time.Time
}

// accountOf is the account of a message, by its name.
func accountOf(name string) int {
	for part := range strings.SplitSeq(name, "-") {
		if n, err := strconv.Atoi(part); err == nil {
			return n
		}
	}
	return -1
}

// near reports whether an attempt may have been cut.
func (l *crashLoad) near(account int, v visit) bool {
	return v.cut || slices.ContainsFunc(l.faults, func(f *fault) bool { return l.concerns(f, account, v.began, v.ended) })
}

// times describes when attempts began and ended, and the faults around them.
func (l *crashLoad) times(visits []visit) string {
	var b strings.Builder
	first := visits[0].began
	since := func(at time.Time) time.Duration { return at.Sub(first).Round(time.Millisecond) }
	for _, v := range visits {
		fmt.Fprintf(&b, "%s to %s: %d; ", since(v.began), since(v.ended), v.status)
	}
	for _, f := range l.faults {
		if f.until.After(first.Add(-5*time.Second)) && f.at.Before(visits[len(visits)-1].ended) {
			fmt.Fprintf(&b, "fault %s to %s of accounts %v; ", since(f.at), since(f.until), f.accounts)
		}
	}
	return b.String()
}
