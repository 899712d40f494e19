package ratelimit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/gomodule/redigo/redis"

	"github.com/understudy-mock/understudy/engine/ratelimit"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// store runs the scripts in a miniredis.
type store struct {
	redis *miniredis.Miniredis
	conn  redis.Conn
}

func newStore(t testing.TB) *store {
	t.Helper()
	m := miniredis.RunT(t)
	m.SetTime(origin)
	m.ClockTTL(true)
	conn, err := redis.Dial("tcp", m.Addr())
	expect.NoError(t, err)
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return &store{redis: m, conn: conn}
}

func (s *store) Eval(ctx context.Context, script ratelimit.Script, keys, args []string) ([]int64, error) {
	values := redis.Args{}.Add(len(keys)).AddFlat(keys).AddFlat(args)
	reply, err := redis.DoContext(s.conn, ctx, "EVALSHA", append(redis.Args{script.SHA}, values...)...)
	if err != nil && strings.Contains(err.Error(), "NOSCRIPT") {
		reply, err = redis.DoContext(s.conn, ctx, "EVAL", append(redis.Args{script.Text}, values...)...)
	}
	return redis.Int64s(reply, err)
}

// origin is 2026-01-01 00:00 UTC, at which a window of each length used here begins.
var origin = time.UnixMilli(1767225600000)

// at is ms milliseconds after origin.
func at(ms int64) time.Time { return origin.Add(time.Duration(ms) * time.Millisecond) }

// ask makes one decision after setting the store's clock.
func (s *store) ask(t testing.TB, now time.Time, l ratelimit.Limit) ratelimit.Decision {
	t.Helper()
	s.redis.SetTime(now)
	d, err := ratelimit.Decide(context.Background(), s, now, ratelimit.Request{Limit: l, Key: "p:GET:/:me"})
	expect.NoError(t, err)
	return d[0]
}
