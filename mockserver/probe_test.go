package mockserver_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/mockserver"
)

// holding is a store whose journals keep the lock of their account, once hold is set.
type holding struct {
	store.Store
	hold   atomic.Bool
	holds  chan struct{}
	loosen chan struct{}
}

func (h *holding) Open(ctx context.Context, account string) (store.Log, error) {
	l, err := h.Store.Open(ctx, account)
	return &holdingLog{l, h}, err
}

type holdingLog struct {
	store.Log
	of *holding
}

// Append runs under the lock of the account.
func (l *holdingLog) Append(r journal.Record) {
	if l.of.hold.CompareAndSwap(true, false) {
		close(l.of.holds)
		<-l.of.loosen
	}
	l.Log.Append(r)
}

func TestProbesNeverWaitForAnAccount(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]mockserver.Config{
		"in real time":            {},
		"seeded":                  {Seed: 7},
		"that must free memory":   {Memory: 1},
		"with many accounts":      {AnyAccount: true},
		"with a manual clock":     {Clock: "manual"},
		"with an automatic clock": {Clock: "auto"},
	} {
		t.Run("a server "+name, func(t *testing.T) {
			t.Parallel()
			st := &holding{Store: folder(t, t.TempDir()), holds: make(chan struct{}), loosen: make(chan struct{})}
			config.Store = st
			u := mockserver.RunT(t, config)
			u.Stub("*", 200)
			u.Publish("https://e.test/", []byte("x"))
			u.Settle()
			c := newClient(t, u)
			c.http.Timeout = time.Minute
			loosen := sync.OnceFunc(func() { close(st.loosen) })
			t.Cleanup(loosen)
			st.hold.Store(true)
			done := make(chan answer)
			go func() {
				done <- newClient(t, u).do("POST", "/v2/publish/https://e.test/", "x", "Svc-Delay: 1h")
			}()
			<-st.holds
			for _, path := range []string{"health", "livez", "readyz", "metrics"} {
				c.do("GET", "/_understudy/"+path, "").ok()
			}
			loosen()
			(<-done).ok()
		})
	}
}
