package tenant_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/clock"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/tenant"
	"github.com/understudy-mock/understudy/spec"
)

func newRegistry(t *testing.T, change func(*tenant.Config)) *tenant.Registry {
	t.Helper()
	cfg := tenant.Config{
		Accounts:   []tenant.Credentials{{ID: "a", Token: "token-a"}, {ID: "b", Token: "token-b", Password: "secret"}},
		Dialects:   spec.BuiltInDialects(),
		Auto:       true,
		Clock:      "manual",
		Wall:       clock.NewReal(),
		KVCapacity: kv.NewCapacity(1 << 20),
		Memory:     &engine.Ledger{},
		Deliver: func(*tenant.Registry, *tenant.Tenant) func(context.Context, engine.Attempt) engine.Outcome {
			return func(context.Context, engine.Attempt) engine.Outcome { return engine.Outcome{Err: "no network"} }
		},
		Failed: func(*tenant.Tenant, engine.FailedAttempt) {},
	}
	change(&cfg)
	r, err := tenant.New(cfg)
	expect.NoError(t, err)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func unchanged(*tenant.Config) {}

func ofToken(t *testing.T, r *tenant.Registry, token string) *tenant.Tenant {
	t.Helper()
	found, err := r.ByToken(token)
	expect.NoError(t, err)
	return found
}

// A lookup by id must not search all accounts: a fleet makes one for each request.
func TestByIDDoesNotSearch(t *testing.T) {
	r := newRegistry(t, unchanged)
	for i := range 1000 {
		expect.NoError(t, r.Know(fmt.Sprintf("shop-%d", i), fmt.Appendf(nil, `{"token":"token-%d"}`, i)))
	}
	if got := nameOf(r.ByID("shop-999")); got != "shop-999" {
		t.Errorf("got %q, want shop-999", got)
	}
	if n := testing.AllocsPerRun(10, func() { r.ByID("shop-500") }); n > 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func nameOf(t *tenant.Tenant) string {
	if t == nil {
		return ""
	}
	return t.ID
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, unchanged)
	for name, c := range map[string]struct{ got, want string }{
		"the first account is the default one": {nameOf(r.First()), "a"},
		"a token opens its account":            {nameOf(ofToken(t, r, "token-b")), "b"},
		"an unknown token opens none":          {nameOf(ofToken(t, r, "token-c")), ""},
		"an empty token opens none":            {nameOf(ofToken(t, r, "")), ""},
		"a user and a password":                {nameOf(r.ByUser("b@understudy.test", "secret")), "b"},
		"a user and a wrong password":          {nameOf(r.ByUser("b@understudy.test", "wrong")), ""},
		"an id":                                {nameOf(r.ByID("b")), "b"},
		"an unknown id":                        {nameOf(r.ByID("c")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect.Equal(t, "account", c.got, c.want)
		})
	}
	t.Run("with AnyAccount an unknown token opens an account of its own, always the same", func(t *testing.T) {
		t.Parallel()
		open := newRegistry(t, func(cfg *tenant.Config) { cfg.AnyAccount = true })
		one := ofToken(t, open, "token-c")
		if one == nil {
			t.Fatal("no account")
		}
		if again := ofToken(t, open, "token-c"); again != one {
			t.Errorf("then account %q, want %q", nameOf(again), nameOf(one))
		}
	})
}

func TestReset(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := newRegistry(t, func(cfg *tenant.Config) { cfg.Start = start })
	a := r.First()
	_, err := a.Account.Advance(t.Context(), start.Add(time.Hour))
	expect.NoError(t, errors.Join(err, r.SetMode(a, "auto")))
	a.Rewrites.Set(map[string]string{"https://a.test": "http://localhost:1"})
	expect.NoError(t, r.Reset(a))
	expect.Equal(t, "clock", r.Mode(a), "manual")
	if got := a.Account.Now(); !got.Equal(start) {
		t.Errorf("the clock is at %s, want %s", got, start)
	}
	if got := a.Rewrites.Get(); len(got) != 0 {
		t.Errorf("rewrites %v, want none", got)
	}
}

func TestRewrites(t *testing.T) {
	t.Parallel()
	var r tenant.Rewrites
	r.Set(map[string]string{"https://a.test": "http://one", "https://a.test/deep": "http://two", "https://b.test/": "http://three/"})
	for target, want := range map[string]string{
		"https://a.test":            "http://one",
		"https://a.test/x":          "http://one/x",
		"https://a.test/deep/x":     "http://two/x",
		"https://a.test/deeper":     "http://one/deeper",
		"https://a.test.evil/x":     "https://a.test.evil/x",
		"https://b.test/x?y=1":      "http://three/x?y=1",
		"https://other.test/a.test": "https://other.test/a.test",
	} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			if got := r.Apply(target); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
