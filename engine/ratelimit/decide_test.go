package ratelimit_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/ratelimit"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// ask is one request of a scenario and its expected decision.
type ask struct {
	ms        int64 // after origin
	allowed   bool
	remaining int64
	reset     int64 // ms after origin
	retry     int64 // ms after origin, of refused requests
}

var scenarios = map[string]struct {
	limit ratelimit.Limit
	asks  []ask
}{
	"a fixed window: last request of one, first of the next": {
		ratelimit.Limit{Algorithm: ratelimit.Fixed, Tokens: 2, Window: 10 * time.Second},
		[]ask{
			{0, true, 1, 10000, 0}, {9998, true, 0, 10000, 0}, {9999, false, 0, 10000, 10000},
			{10000, true, 1, 20000, 0}, {45000, true, 1, 50000, 0},
		},
	},
	"a sliding window weighs the window before, rounded down": {
		ratelimit.Limit{Algorithm: ratelimit.Sliding, Tokens: 10, Window: 10 * time.Second},
		append(repeat(10, func(i int64) ask { return ask{1000, true, 9 - i, 10000, 0} }),
			ask{9999, false, 0, 10000, 10001},  // full; one millisecond into the next window, 9.999 is rounded to 9
			ask{10000, false, 0, 20000, 10001}, // weight 10
			ask{10001, true, 0, 20000, 0},      // weight 9
			ask{11000, false, 0, 20000, 11001}, // weight 9, 1 charged
			ask{15000, true, 3, 20000, 0},      // weight 5, 1 charged
			ask{19000, true, 6, 20000, 0},      // weight 1, 2 charged: (1-0.9)x10 is 1, not 0.99
			ask{20000, true, 6, 30000, 0},      // weight 3, of 3 in the previous window
			ask{55000, true, 9, 60000, 0}),
	},
	"a bucket is refilled at whole intervals": {
		ratelimit.Limit{Algorithm: ratelimit.Bucket, Tokens: 3, Window: time.Second, RefillRate: 2},
		[]ask{
			{0, true, 2, 1000, 0}, {0, true, 1, 1000, 0}, {0, true, 0, 1000, 0}, {999, false, 0, 1000, 1000},
			{1000, true, 1, 2000, 0}, {1000, true, 0, 2000, 0}, {1500, false, 0, 2000, 2000},
			{2500, true, 1, 3000, 0},
			{60500, true, 2, 61500, 0}, // expired after it was full for long, so it starts again
		},
	},
	"a bucket without refill rate gets all tokens back": {
		ratelimit.Limit{Algorithm: ratelimit.Bucket, Tokens: 2, Window: time.Second},
		[]ask{{0, true, 1, 1000, 0}, {0, true, 0, 1000, 0}, {1, false, 0, 1000, 1000}, {1000, true, 1, 2000, 0}},
	},
}

func repeat(n int64, one func(i int64) ask) (asks []ask) {
	for i := range n {
		asks = append(asks, one(i))
	}
	return asks
}

func TestWindowsAndBucketsToTheEdge(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			for i, a := range s.asks {
				got := store.ask(t, at(a.ms), s.limit)
				want := ratelimit.Decision{Allowed: a.allowed, Limit: s.limit.Tokens, Remaining: a.remaining, Reset: at(a.reset)}
				if !a.allowed {
					want.RetryAt = at(a.retry)
				}
				if !same(got, want) {
					t.Errorf("request %d at %d ms: got %+v, want %+v", i, a.ms, got, want)
				}
			}
		})
	}
}

func same(a, b ratelimit.Decision) bool {
	return a.Allowed == b.Allowed && a.Limit == b.Limit && a.Remaining == b.Remaining && a.Reset.Equal(b.Reset) && a.RetryAt.Equal(b.RetryAt)
}

func TestARequestIsChargedToAllLimitsOrToNone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	wide := ratelimit.Request{Limit: ratelimit.Limit{Algorithm: ratelimit.Fixed, Tokens: 5, Window: time.Minute}, Key: "wide"}
	narrow := ratelimit.Request{Limit: ratelimit.Limit{Algorithm: ratelimit.Bucket, Tokens: 1, Window: time.Minute}, Key: "narrow"}
	for i, remaining := range []int64{4, 4, 4} {
		d, err := ratelimit.Decide(context.Background(), s, origin, wide, narrow)
		expect.NoError(t, err)
		expect.True(t, "a request that the wide limit allows", d[0].Allowed)
		expect.Equal(t, "what remains of the wide limit", d[0].Remaining, remaining)
		expect.Equal(t, "whether the narrow limit allows the request", d[1].Allowed, i == 0)
	}
	if got, _ := s.redis.Get("wide:" + "29453760"); got != "1" {
		t.Errorf("the wide limit was charged %q times, want 1", got)
	}
}

func TestAnalyticsCountOutcomesByHourAndExpire(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	r := ratelimit.Request{
		Limit: ratelimit.Limit{Algorithm: ratelimit.Fixed, Tokens: 1, Window: time.Minute}, Key: "k",
		Count: &ratelimit.Count{Prefix: "p", Method: "GET", Route: "/a", Identifier: "me"},
	}
	for range 3 {
		expect.NoError(t, expect.ErrorOf(ratelimit.Decide(context.Background(), s, at(1800000), r)))
	}
	for _, key := range []string{"p:events:1767225600000", "p:GET:/a:events:1767225600000"} {
		got, err := s.redis.SortedSet(key)
		want := map[string]float64{`{"identifier":"me","success":true}`: 1, `{"identifier":"me","success":false}`: 2}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v; want %v", key, got, err, want)
		}
		if s.redis.TTL(key) != 90*24*time.Hour {
			t.Errorf("%s expires in %s, want 90 days", key, s.redis.TTL(key))
		}
	}
}

func TestNoCounterStaysForever(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, a := range []ratelimit.Algorithm{ratelimit.Fixed, ratelimit.Sliding, ratelimit.Bucket} {
		s.redis.FlushAll()
		s.ask(t, origin, ratelimit.Limit{Algorithm: a, Tokens: 5, Window: time.Minute})
		for _, key := range s.redis.Keys() {
			if ttl := s.redis.TTL(key); ttl < time.Minute || ttl > 3*time.Minute {
				t.Errorf("%s: %s expires in %s", a, key, ttl)
			}
		}
	}
}

type replies []int64

func (r replies) Eval(context.Context, ratelimit.Script, []string, []string) ([]int64, error) {
	if r == nil {
		return nil, errors.New("down")
	}
	return r, nil
}

func TestAStoreThatAnswersGarbageIsAnError(t *testing.T) {
	t.Parallel()
	r := ratelimit.Request{Limit: ratelimit.Limit{Algorithm: ratelimit.Fixed, Tokens: 1, Window: time.Minute}, Key: "k"}
	for name, reply := range map[string]replies{
		"none":                                  nil,
		"empty":                                 {},
		"too short":                             {1, 0},
		"a decision that contradicts its count": {0, 0, 0},
	} {
		if d, err := ratelimit.Decide(context.Background(), reply, origin, r); err == nil {
			t.Errorf("%s: got %+v, want an error", name, d)
		}
	}
}

func TestLimitsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	good := ratelimit.Limit{Algorithm: ratelimit.Fixed, Tokens: 1, Window: time.Second}
	for name, change := range map[string]func(*ratelimit.Limit){
		"no algorithm":              func(l *ratelimit.Limit) { l.Algorithm = "" },
		"unknown algorithm":         func(l *ratelimit.Limit) { l.Algorithm = "tokenBucket" },
		"no tokens":                 func(l *ratelimit.Limit) { l.Tokens = 0 },
		"too many tokens":           func(l *ratelimit.Limit) { l.Tokens = 1 << 53 },
		"no window":                 func(l *ratelimit.Limit) { l.Window = 0 },
		"fraction of a millisecond": func(l *ratelimit.Limit) { l.Window += time.Microsecond },
		"negative refill":           func(l *ratelimit.Limit) { l.RefillRate = -1 },
	} {
		l := good
		change(&l)
		if l.Check() == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := ratelimit.Decide(context.Background(), replies{1, 0, 0}, origin, ratelimit.Request{Limit: l}); err == nil {
			t.Errorf("%s: decided without an error", name)
		}
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}

func TestParseWindow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"1ms": time.Millisecond, "20s": 20 * time.Second, "1 m": time.Minute, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour,
		"36500d": 36500 * 24 * time.Hour,
	} {
		if got, err := ratelimit.ParseWindow(text); got != want || err != nil {
			t.Errorf("%q: got %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "s", "10", "0s", "10w", "10 parsecs", "10S", "1.5s", "-1s", "+1s", "1  s", " 1s", "1s ", "1s1s", "36501d",
		"99999999999999999999d", "18446744073709551615ms",
	} {
		if got, err := ratelimit.ParseWindow(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, got)
		}
	}
}

func FuzzParseWindow(f *testing.F) {
	for _, text := range []string{"10s", "1 d", "10w", "0ms", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ratelimit.ParseWindow(text)
		if err == nil {
			expect.True(t, "a window of at least 1ms", d >= time.Millisecond)
			expect.Equal(t, "what is left over of whole milliseconds", d%time.Millisecond, 0)
		}
	})
}
