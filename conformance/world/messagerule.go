package world

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/conformance/harness"
	"github.com/understudy-mock/understudy/conformance/receiver"
	"github.com/understudy-mock/understudy/conformance/report"
	"github.com/understudy-mock/understudy/spec"
)

// tolerance is subtracted from lower bounds.
const tolerance = 50 * time.Millisecond

// tries are the attempts at an endpoint up to its first success: a repeat after it is legal, except
// for the rule about it.
func tries(list []Attempt) int {
	if i := slices.IndexFunc(list, func(a Attempt) bool { return a.Status.Load() == http.StatusOK }); i >= 0 {
		return i + 1
	}
	return len(list)
}

// counts are the attempts at each endpoint.
func (l *Life) counts() (n []int) {
	for _, list := range l.Got {
		n = append(n, tries(list))
	}
	return n
}

// attempts calls do with each attempt and its name.
func (l *Life) attempts(do func(name string, got Attempt)) {
	for i, list := range l.Got {
		for n, got := range list {
			name := fmt.Sprintf("attempt %d", n+1)
			if len(l.Got) > 1 {
				name += fmt.Sprintf(" at endpoint %d", i+1)
			}
			do(name, got)
		}
	}
}

// arrived checks that every endpoint has got something.
func (l *Life) arrived(j *judging) {
	j.that(!slices.Contains(l.counts(), 0), fmt.Sprintf("attempts %v", l.Want.Attempts), fmt.Sprint(l.counts()))
}

// header checks the values of a header in every attempt. A proxy may have joined them.
func (l *Life) header(j *judging, name string, want []string) {
	l.attempts(func(at string, got Attempt) {
		v := got.Header.Values(name)
		plain, all := strings.ReplaceAll(strings.Join(v, ","), ", ", ","), strings.ReplaceAll(strings.Join(want, ","), ", ", ",")
		j.that(len(v) > 0 && (plain == all || l.Want.Forward && strings.Contains(plain, all)), name+": "+strings.Join(want, ", "), at+": "+strings.Join(v, ", "))
	})
}

// messageRules are the rules of messages, in the order of the feature.
var messageRules = []*Rule{
	{"REQ-PUB-003", spec.Stated, "a publish with the token in the header is accepted", func(_ *World, l *Life, j *judging) {
		if l.on("token").at == inHeader {
			l.accepted(j)
		}
	}},
	{"REQ-PUB-004", spec.Stated, "a publish with the token in the query is accepted", func(_ *World, l *Life, j *judging) {
		if l.on("token").at == inQuery {
			l.accepted(j)
		}
	}},
	{"REQ-PUB-001", spec.Stated, "a message to a URL arrives there", func(_ *World, l *Life, j *judging) {
		if l.Error == nil && !l.grouped() && !l.Want.Held {
			l.arrived(j)
		}
	}},
	{"REQ-PUB-002", spec.Stated, "a message to a group arrives at every endpoint", func(_ *World, l *Life, j *judging) {
		if l.Error == nil && l.grouped() && !l.Want.Held {
			l.arrived(j)
		}
	}},
	{"REQ-FLC-001", spec.Stated, "a message that a key holds arrives after the resume", func(_ *World, l *Life, j *judging) {
		if l.Error == nil && l.on("key").n > 0 {
			l.arrived(j)
		}
	}},
	{"REQ-FLC-003", spec.Implied, "a message stays held while only other keys are resumed", func(_ *World, l *Life, j *judging) {
		if n := l.on("key").n; n != 0 {
			j.that(l.early == 0 && (n > 0 || len(l.Strange)+slices.Max(l.counts()) == 0), "no attempt before the resume", fmt.Sprint(l.counts()))
		}
	}},
	{"REQ-PUB-001", spec.Stated, "nothing arrives that was not published there", func(w *World, l *Life, j *judging) {
		j.that(len(l.Strange) == 0, "only the messages of this endpoint", fmt.Sprint(len(l.Strange), " others"))
		l.attempts(func(at string, got Attempt) {
			for _, other := range w.Lives { // a body with the key of a message is of that one alone
				j.that(other == l || !bytes.Contains(got.Body, []byte(other.Key)) || !bytes.Equal(got.Body, other.Order.Body), brief(l.Order.Body), at+": that of another message, "+brief(got.Body))
			}
		})
	}},
	{"REQ-PUB-001", spec.Stated, "every attempt is at the path and the query of the destination", func(_ *World, l *Life, j *judging) {
		l.attempts(func(at string, got Attempt) { j.that(got.Path == l.path, l.path, at+": "+got.Path) })
	}},
	{"REQ-RTY-001", spec.Stated, "an endpoint that fails is tried as often as the message allows", func(_ *World, l *Life, j *judging) {
		for i, n := range l.counts() {
			if n > 0 && l.Want.Attempts[i] > 1 {
				j.that(n >= l.Want.Attempts[i], fmt.Sprintf("attempts %v", l.Want.Attempts), fmt.Sprint(l.counts()))
			}
		}
	}},
	{"REQ-RTY-002", spec.Stated, "an endpoint is not tried more often than the message allows", func(_ *World, l *Life, j *judging) {
		for i, n := range l.counts() {
			if !l.Want.Broken[i] && n > 0 && l.Want.Attempts[i] > 0 {
				j.that(n <= l.Want.Attempts[i], fmt.Sprintf("attempts %v", l.Want.Attempts), fmt.Sprint(l.counts()))
			}
		}
	}},
	{"REQ-RTY-003", spec.Implied, "nothing is called again after a success, nor a callback more often than the message", func(_ *World, l *Life, j *judging) {
		attempts := 0
		for i, list := range l.Got {
			attempts += len(list)
			if n := tries(list); !l.Want.Broken[i] && succeeded(list, n-1) {
				j.that(len(list) == n, fmt.Sprintf("attempts %v", l.Want.Attempts), fmt.Sprintf("%d at endpoint %d", len(list), i+1))
			}
		}
		for kind, list := range l.Callbacks {
			j.that(len(list) <= attempts, fmt.Sprintf("at most %d calls of the %s callback", attempts, kind), strconv.Itoa(len(list)))
		}
	}},
	{"REQ-PUB-010", spec.Stated, "nothing arrives before the delay has passed", func(_ *World, l *Life, j *judging) {
		l.attempts(func(at string, got Attempt) {
			if l.Want.Delay > 0 {
				j.that(got.At-l.Begun >= l.Want.Delay-tolerance, "not before "+l.Want.Delay.String(), at+" after "+(got.At-l.Begun).Round(time.Millisecond).String())
			}
		})
	}},
	{"REQ-PUB-010", spec.Implied, "a message is not delayed by what does not configure it", func(w *World, l *Life, j *judging) {
		late, usual := l.late(), w.typical()
		if l.on("key").says == "" && len(w.Lives) > 4 && !w.paced {
			j.that(late < 1500*time.Millisecond || late < 5*usual, "within about "+usual.Round(time.Millisecond).String()+", as the others", late.Round(time.Millisecond).String()+" late")
		}
	}},
	{"REQ-PUB-011", spec.Implied, "every attempt has the body of the message, and the method and the type of the first", func(_ *World, l *Life, j *judging) {
		first := ""
		l.attempts(func(at string, got Attempt) {
			j.that(bytes.Equal(got.Body, l.Order.Body), brief(l.Order.Body), at+": "+brief(got.Body))
			kind := got.Method + " " + got.Header.Get("Content-Type")
			first = cmp.Or(first, kind)
			j.that(kind == first, first, at+": "+kind)
		})
	}},
	{"REQ-PUB-006", spec.Stated, "every attempt carries the values of the forwarded headers", func(_ *World, l *Life, j *judging) {
		h := l.on("forwarded header")
		l.attempts(func(at string, got Attempt) {
			for _, v := range h.values {
				j.that(harness.Carrying(got.Received, v) != "", h.name+": "+v, at+" without it")
			}
		})
	}},
	{"REQ-PUB-006", spec.Implied, "every attempt carries the forwarded headers under their names", func(_ *World, l *Life, j *judging) {
		if h := l.on("forwarded header"); h.name != "" {
			l.header(j, h.name, h.values)
		}
	}},
	{"REQ-PUB-007", spec.Stated, "no attempt carries a header that is not forwarded", func(_ *World, l *Life, j *judging) {
		l.attempts(func(at string, got Attempt) {
			for _, v := range l.plain() {
				if !l.Want.Forward {
					where := harness.Carrying(got.Received, v)
					j.that(where == "", "no header with "+v, at+": "+where)
				}
			}
		})
	}},
	{"REQ-PUB-008", spec.Stated, "every attempt carries all headers when the message forwards all", func(_ *World, l *Life, j *judging) {
		if values := l.plain(); values != nil && l.Want.Forward && l.on("forwarding").at != inQuery {
			l.header(j, plainHeader, values)
		}
	}},
	{"REQ-PUB-009", spec.Stated, "every attempt carries all headers when the message forwards all by query", func(_ *World, l *Life, j *judging) {
		if values := l.plain(); values != nil && l.Want.Forward && l.on("forwarding").at == inQuery {
			l.header(j, plainHeader, values)
		}
	}},
	{"REQ-GRP-002", spec.Stated, "every attempt carries the default headers of the group", func(_ *World, l *Life, j *judging) {
		if values := l.defaults(); len(values) > 0 && l.Want.Forward { // otherwise it is open
			l.header(j, defaultHeader, values)
		}
	}},
	{"REQ-GRP-002", spec.Implied, "no attempt carries the default headers of another group", func(_ *World, l *Life, j *judging) {
		l.attempts(func(at string, got Attempt) {
			if len(l.defaults()) == 0 {
				j.that(len(got.Header.Values(defaultHeader)) == 0, "no "+defaultHeader, at+": "+got.Header.Get(defaultHeader))
			}
		})
	}},
	{"REQ-PUB-014", spec.Stated, "the callback of the outcome is called", func(_ *World, l *Life, j *judging) {
		for kind, due := range map[string]bool{"success": l.Want.Success, "failure": l.Want.Failure} {
			if due && l.callbacks[kind] != nil && slices.Equal(l.counts(), l.Want.Attempts) {
				j.that(len(l.Callbacks[kind]) > 0, "a call of the "+kind+" callback", "none")
			}
		}
	}},
	{"REQ-PUB-014", spec.Implied, "the failure callback is not called after a success", func(_ *World, l *Life, j *judging) {
		if l.callbacks["failure"] != nil && l.Want.Success && slices.Equal(l.counts(), l.Want.Attempts) {
			j.that(len(l.Callbacks["failure"]) == 0, "no call", fmt.Sprint(len(l.Callbacks["failure"])))
		}
	}},
	{"REQ-AUT-006", spec.Implied, "no delivery and no callback shows the credential of the publisher", func(w *World, l *Life, j *judging) {
		shows := func(got *receiver.Received, header bool) bool {
			return header && harness.Carrying(got, w.secret) != "" || strings.Contains(got.Path, w.secret) || bytes.Contains(got.Body, []byte(w.secret))
		}
		l.attempts(func(at string, got Attempt) {
			j.that(w.secret == "" || !shows(got.Received, !l.Want.Forward), "no credential", at)
		})
		for kind, list := range l.Callbacks {
			for _, got := range list {
				j.that(w.secret == "" || !shows(got, true), "no credential", "the "+kind+" callback")
			}
		}
	}},
}

// accepted checks that the publish was not refused. What the network did is no verdict.
func (l *Life) accepted(j *judging) {
	f, refused := errors.AsType[*report.Failure](l.Error)
	if !refused {
		f = &report.Failure{}
	}
	j.that(!refused || f.Want == "", f.Want, f.Got)
}

func brief(b []byte) string {
	if len(b) > 120 {
		return fmt.Sprintf("%q... (%d bytes)", b[:120], len(b))
	}
	return fmt.Sprintf("%q", b)
}
