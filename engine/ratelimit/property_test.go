package ratelimit_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/understudy-mock/understudy/engine/ratelimit"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model keeps counters as plain values and decides by the pure functions.
type model struct {
	counts map[int64]int64
	bucket *ratelimit.Level
}

func (m *model) ask(l ratelimit.Limit, now time.Time) (d ratelimit.Decision) {
	n := now.UnixMilli() / l.Window.Milliseconds()
	switch l.Algorithm {
	case ratelimit.Fixed:
		d = ratelimit.FixedWindow(l, now, m.counts[n])
	case ratelimit.Sliding:
		d = ratelimit.SlidingWindow(l, now, m.counts[n], m.counts[n-1])
	default:
		if m.bucket == nil {
			full := ratelimit.Full(l, now)
			m.bucket = &full
		}
		d, *m.bucket = ratelimit.TokenBucket(l, now, *m.bucket)
	}
	if d.Allowed {
		m.counts[n]++
	}
	return d
}

func drawLimit(t *rapid.T, algorithms ...ratelimit.Algorithm) ratelimit.Limit {
	return ratelimit.Limit{
		Algorithm:  rapid.SampledFrom(algorithms).Draw(t, "algorithm"),
		Tokens:     rapid.Int64Range(1, 12).Draw(t, "tokens"),
		Window:     time.Duration(rapid.Int64Range(1, 2000).Draw(t, "window")) * time.Millisecond,
		RefillRate: rapid.Int64Range(0, 15).Draw(t, "refill"),
	}
}

// drawTimes generates times that are mostly close together and sometimes several windows apart.
func drawTimes(t *rapid.T, l ratelimit.Limit) []time.Time {
	w := l.Window.Milliseconds()
	now := origin.UnixMilli() + rapid.Int64Range(0, w).Draw(t, "start")
	steps := rapid.SliceOfN(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, w/4+1), rapid.Int64Range(0, 4*w)), 1, 80).Draw(t, "steps")
	times := make([]time.Time, len(steps))
	for i, step := range steps {
		now += step
		times[i] = time.UnixMilli(now)
	}
	return times
}

func TestScriptsAgreeWithThePureFunctions(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rapid.Check(t, func(t *rapid.T) {
		s.redis.FlushAll()
		l := drawLimit(t, ratelimit.Fixed, ratelimit.Sliding, ratelimit.Bucket)
		m := model{counts: map[int64]int64{}}
		for i, now := range drawTimes(t, l) { // the store's clock is stopped, so that nothing expires
			d, err := ratelimit.Decide(context.Background(), s, now, ratelimit.Request{Limit: l, Key: "k"})
			expect.NoError(t, err)
			if want := m.ask(l, now); !same(d[0], want) {
				t.Fatalf("request %d: script %+v, function %+v", i, d[0], want)
			}
		}
	})
}

// passed sends the requests to the store, advances the store's clock, and returns the times
// of the allowed requests.
func passed(t *rapid.T, s *store, l ratelimit.Limit) (allowed []int64) {
	s.redis.FlushAll()
	for _, now := range drawTimes(t, l) {
		s.redis.SetTime(now)
		d, err := ratelimit.Decide(context.Background(), s, now, ratelimit.Request{Limit: l, Key: "k"})
		expect.NoError(t, err)
		expect.True(expect.Now(t), "a remainder of at least 0", d[0].Remaining >= 0)
		expect.True(expect.Now(t), "a remainder of at most all tokens", d[0].Remaining <= l.Tokens)
		expect.True(expect.Now(t), "a reset in the future", d[0].Reset.After(now))
		if d[0].Allowed {
			allowed = append(allowed, now.UnixMilli())
		}
	}
	return allowed
}

// within counts the times in [from, to).
func within(times []int64, from, to int64) (n int64) {
	for _, at := range times {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

func TestNoWindowAdmitsMoreThanItsFormula(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t, ratelimit.Fixed, ratelimit.Sliding)
		w := l.Window.Milliseconds()
		allowed := passed(t, s, l)
		for _, now := range allowed {
			start := now - now%w
			current, previous := within(allowed, start, now+1), within(allowed, start-w, start)
			bound := current
			if l.Algorithm == ratelimit.Sliding {
				bound += previous * (start + w - now) / w
			}
			if bound > l.Tokens {
				t.Fatalf("%+v: at %d, %d in the window and %d before", l, now, current, previous)
			}
		}
	})
}

func TestABucketNeverGivesMoreThanTokensAndRefill(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t, ratelimit.Bucket)
		refill := l.RefillRate
		if refill == 0 {
			refill = l.Tokens
		}
		w, allowed := l.Window.Milliseconds(), passed(t, s, l)
		for i, from := range allowed {
			for j, to := range allowed[i:] {
				// refills happen at whole intervals, so an interval may contain one more
				// than its length suggests
				if most := l.Tokens + refill*((to-from)/w+1); int64(j+1) > most {
					t.Fatalf("%+v: %d within %d ms, at most %d", l, j+1, to-from, most)
				}
			}
			if within(allowed[i:], from, from+1) > l.Tokens {
				t.Fatalf("%+v: more than the bucket holds at one instant", l)
			}
		}
	})
}

func TestRetryAtIsTheFirstInstantThatPasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimit(t, ratelimit.Fixed, ratelimit.Sliding, ratelimit.Bucket)
		m := model{counts: map[int64]int64{}}
		for _, now := range drawTimes(t, l) {
			d := m.ask(l, now)
			if d.Allowed {
				continue
			}
			if early := m.ask(l, d.RetryAt.Add(-time.Millisecond)); early.Allowed {
				t.Fatalf("%+v at %d: passes before %d", l, now.UnixMilli(), d.RetryAt.UnixMilli())
			}
			if late := m.ask(l, d.RetryAt); !late.Allowed {
				t.Fatalf("%+v at %d: does not pass at %d", l, now.UnixMilli(), d.RetryAt.UnixMilli())
			}
			return
		}
	})
}
