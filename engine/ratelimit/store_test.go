package ratelimit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/understudy-mock/understudy/engine/ratelimit"
)

// store runs the scripts in a miniredis.
type store struct {
	redis  *miniredis.Miniredis
	client *redis.Client
}

func newStore(t testing.TB) *store {
	t.Helper()
	m := miniredis.RunT(t)
	m.SetTime(origin)
	m.ClockTTL(true)
	s := &store{redis: m, client: redis.NewClient(&redis.Options{Addr: m.Addr(), Protocol: 2, DisableIdentity: true})}
	t.Cleanup(func() {
		if err := s.client.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *store) Eval(ctx context.Context, script ratelimit.Script, keys, args []string) ([]int64, error) {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a
	}
	reply := s.client.EvalSha(ctx, script.SHA, keys, values...)
	if err := reply.Err(); err != nil && strings.Contains(err.Error(), "NOSCRIPT") {
		reply = s.client.Eval(ctx, script.Text, keys, values...)
	}
	return reply.Int64Slice()
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
	if err != nil {
		t.Fatal(err)
	}
	return d[0]
}
