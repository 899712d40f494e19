package mockserver_test

import (
	"context"
	"iter"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/engine/journal"
	"github.com/understudy-mock/understudy/engine/store"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// slowStore is a store whose records come when they are let go.
type slowStore struct {
	store.Store
	begun, release chan struct{}
}

func (s *slowStore) Open(ctx context.Context, account string) (store.Log, error) {
	l, err := s.Store.Open(ctx, account)
	return &slowLog{l, s}, err
}

type slowLog struct {
	store.Log
	of *slowStore
}

func (l *slowLog) Records(ctx context.Context) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		close(l.of.begun)
		<-l.of.release
		l.Log.Records(ctx)(yield)
	}
}

func TestAServerThatReadsItsDataIsAliveAndNotReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := mockserver.RunT(t, mockserver.Config{Store: folder(t, dir)})
	id := before.Publish("https://e.test/", []byte("x"), "Svc-Delay: 1h")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	address := free.Addr().String()
	_ = free.Close()
	slow := &slowStore{folder(t, crashed(t, dir)), make(chan struct{}), make(chan struct{})}
	type started struct {
		*mockserver.Server
		err error
	}
	done := make(chan started)
	go func() {
		s, err := mockserver.Run(mockserver.Config{Addr: address, Store: slow})
		done <- started{s, err}
	}()
	<-slow.begun
	c := newClient(t, before)
	c.url = "http://" + address
	for _, path := range []string{"health", "livez"} {
		c.do("GET", "/_understudy/"+path, "").ok()
	}
	for _, call := range [][2]string{{"GET", "/_understudy/readyz"}, {"GET", "/_understudy/overview"}, {"POST", "/v2/publish/https://e.test/"}, {"POST", "/_understudy/livez"}, {"GET", "/"}} {
		c.do(call[0], call[1], "").refused(http.StatusServiceUnavailable, "the server is starting", "repeat the request later")
	}
	answers, since := 0, time.Now()
	for ; answers < 300; answers++ { // two hundred more than are refused at once
		c.do("GET", "/_understudy/overview", "").refused(http.StatusServiceUnavailable, "the server is starting")
	}
	if most := 101 + int(100*time.Since(since).Seconds()); answers > most { // a burst, and then a hundred a second
		t.Errorf("%d requests were refused, want at most %d", answers, most)
	}
	close(slow.release)
	after := <-done
	if !expect.Nil(t, "starting the server", after.err) {
		return
	}
	c.do("GET", "/_understudy/readyz", "").ok()
	expect.Contains(t, "messages", string(c.do("GET", "/_understudy/messages", "").ok().raw), id)
	expect.Nil(t, "closing the server", after.Close())
}
