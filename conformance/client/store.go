package client

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/gomodule/redigo/redis"

	"github.com/understudy-mock/understudy/conformance/harness"
)

// store is the key-value storage of a rate limiter, over REST (wire.md, "Key-value REST interface").
type store struct {
	mu    sync.Mutex
	redis *miniredis.Miniredis
	conn  redis.Conn
	at    time.Time
	sums  map[string]string // SHA-1 of a script with a first line "#!lua ...": as it was sent, and as the storage has it
}

// kvPath is where the storage is, below the base address.
const kvPath = "/kv"

// newStore starts an empty storage.
func newStore() (*store, error) {
	m, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	conn, err := redis.Dial("tcp", m.Addr())
	if err != nil {
		m.Close()
		return nil, err
	}
	return &store{redis: m, conn: conn, at: harness.Now(), sums: map[string]string{}}, nil
}

func (s *store) close() {
	_ = s.conn.Close()
	s.redis.Close()
}

// reply runs what a request asks for: one command, or a list of them.
func (s *store) reply(q *request) *reply {
	path, _, _ := strings.Cut(strings.TrimPrefix(q.Target, kvPath), "?")
	v, err := decode(q.Body)
	list, ok := v.([]any)
	switch {
	case err != nil && path != "" && path != "/":
		list = nil
		for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
			list = append(list, part)
		}
	case err != nil || !ok:
		return &reply{Status: http.StatusBadRequest, Body: map[string]any{"json": map[string]any{"error": "ERR the body must be a list"}}}
	case strings.Trim(path, "/") == "pipeline", strings.Trim(path, "/") == "multi-exec":
		answers := make([]any, len(list))
		for i := range list {
			command, _ := list[i].([]any)
			answers[i], _ = s.run(command)
		}
		return &reply{Body: map[string]any{"json": answers}}
	}
	answer, status := s.run(list)
	return &reply{Status: status, Body: map[string]any{"json": answer}}
}

// run runs one command. Keys expire in real time.
func (s *store) run(command []any) (answer map[string]any, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(command) == 0 {
		return map[string]any{"error": "ERR empty command"}, http.StatusBadRequest
	}
	now := harness.Now()
	s.redis.SetTime(now)
	s.redis.FastForward(now.Sub(s.at))
	s.at = now
	args := make([]any, len(command)-1)
	for i := range args {
		args[i] = fmt.Sprint(command[i+1])
	}
	s.known(strings.ToUpper(fmt.Sprint(command[0])), args)
	v, err := s.conn.Do(fmt.Sprint(command[0]), args...)
	if err != nil && !errors.Is(err, redis.ErrNil) {
		return map[string]any{"error": err.Error()}, http.StatusBadRequest
	}
	return map[string]any{"result": plain(v)}, http.StatusOK
}

// known makes the first line "#!lua flags=..." of a script a comment: the storage has no flags.
func (s *store) known(command string, args []any) {
	if len(args) == 0 {
		return
	}
	text, _ := args[0].(string)
	sum := func(text string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }
	switch {
	case command == "EVAL" && strings.HasPrefix(text, "#!"):
		args[0] = "--" + text
		s.sums[sum(text)] = sum("--" + text)
	case command == "EVALSHA" && s.sums[text] != "":
		args[0] = s.sums[text]
	}
}

// plain is a value of the storage as JSON.
func plain(v any) any {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	}
	return v
}
