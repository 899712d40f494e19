package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/engine/clock"
)

// visit is the destination: it delays every answer by up to 19 ms, fails some messages once,
// and some always.
func (l *crashLoad) visit(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the request was cut
	}
	if r.URL.Path == runPath {
		l.runStep(w, r, body)
		return
	}
	line, _, _ := bytes.Cut(body, []byte("\n"))
	name := string(line)
	switch back, isBack := strings.CutPrefix(r.URL.Path, "/back/"); {
	case isBack:
		name = "back-" + back
	case strings.HasPrefix(r.URL.Path, "/group/"):
		name = strings.TrimPrefix(r.URL.Path, "/group/") + "-" + name
	}
	l.answer(w, r, name, func() bool { return true })
}

// answer records an attempt and answers it after a delay. It answers with an error when then
// returns false.
func (l *crashLoad) answer(w http.ResponseWriter, r *http.Request, name string, then func() bool) {
	began := wall.Now()
	key := ""
	if parts := strings.Split(name, "-"); parts[0] == "key" {
		key = parts[1] // the account
	}
	l.mu.Lock()
	if key != "" {
		l.running[key]++
		l.most = max(l.most, l.running[key])
		if l.running[key] > keyLimit {
			l.over = append(l.over, excess{accountOf(name), l.running[key], began})
		}
	}
	visits := len(l.seen[name])
	held := l.hold
	l.hold = nil
	l.mu.Unlock()
	sum := uint32(0)
	for _, b := range []byte(name) {
		sum = sum*31 + uint32(b)
	}
	delay := time.Duration(sum%20) * time.Millisecond
	if held != nil {
		close(held)
		delay = time.Minute
	}
	cut := clock.Pause(r.Context(), delay) != nil
	status := l.status(name, sum, visits)
	if status == http.StatusOK && !then() {
		status = http.StatusBadGateway
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if key != "" {
		l.running[key]--
	}
	l.seen[name] = append(l.seen[name], visit{began, wall.Now(), status, cut})
	w.WriteHeader(status)
}

// status is the destination's answer to an attempt.
func (l *crashLoad) status(name string, sum uint32, visits int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	kind, _, _ := strings.Cut(name, "-")
	switch {
	case kind == "dead" && !l.revived[name],
		(kind == "plain" || kind == "queue" || kind == "a" || kind == "batch") && sum%50 == 0, // at every attempt
		kind != "dead" && kind != "callback" && kind != "dedup" && sum%7 == 0 && visits == 0:
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

// deliveredVisits is the number of attempts that have delivered a message.
func deliveredVisits(visits []visit) (n int) {
	for _, v := range visits {
		if v.status == http.StatusOK && !v.cut {
			n++
		}
	}
	return n
}

// problem records something that must not happen.
func (l *crashLoad) problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}
