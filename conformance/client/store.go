package client

import (
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
	return &store{redis: m, conn: conn, at: harness.Now()}, nil
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
	v, err := s.conn.Do(fmt.Sprint(command[0]), args...)
	if err != nil && !errors.Is(err, redis.ErrNil) {
		return map[string]any{"error": err.Error()}, http.StatusBadRequest
	}
	return map[string]any{"result": plain(v)}, http.StatusOK
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
