package traffic_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/traffic"
)

func deliveries(n int) *traffic.Deliveries {
	var j traffic.Deliveries
	j.CountIn(&engine.Ledger{})
	for i := range n {
		j.Add(&traffic.Delivery{MessageID: strconv.Itoa(i), Request: traffic.Message{Body: []byte("body")}})
	}
	return &j
}

func ids(list []traffic.Delivery) (out []string) {
	for i := range list {
		out = append(out, list[i].MessageID)
	}
	return out
}

func TestEntries(t *testing.T) {
	t.Parallel()
	t.Run("the latest are listed, oldest first", func(t *testing.T) {
		t.Parallel()
		list, _ := deliveries(5).List(2, traffic.Filter{})
		if diff := cmp.Diff([]string{"3", "4"}, ids(list)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("the oldest entries beyond the limit are dropped", func(t *testing.T) {
		t.Parallel()
		list, dropped := deliveries(traffic.Limit+3).List(0, traffic.Filter{})
		if got, want := len(list), traffic.Limit; got != want {
			t.Errorf("%d entries, want %d", got, want)
		}
		if got, want := dropped, 3; got != want {
			t.Errorf("%d dropped, want %d", got, want)
		}
	})
	t.Run("a follower gets the entries after its position in batches", func(t *testing.T) {
		t.Parallel()
		j := deliveries(traffic.MaxBatch + 5)
		first, position, _ := j.Since(2, traffic.Filter{})
		if got, want := len(first), traffic.MaxBatch; got != want {
			t.Errorf("%d entries at first, want %d", got, want)
		}
		rest, _, _ := j.Since(position, traffic.Filter{})
		if got, want := len(rest), 3; got != want {
			t.Errorf("%d entries then, want %d", got, want)
		}
	})
	t.Run("a follower continues with the next entry after the journal was emptied", func(t *testing.T) {
		t.Parallel()
		j := deliveries(3)
		_, position, _ := j.Since(0, traffic.Filter{})
		j.Clear()
		j.Add(&traffic.Delivery{MessageID: "next"})
		list, _, _ := j.Since(position, traffic.Filter{})
		if diff := cmp.Diff([]string{"next"}, ids(list)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("the next entry wakes the waiters", func(t *testing.T) {
		t.Parallel()
		j := deliveries(1)
		more := j.Next()
		j.Add(&traffic.Delivery{})
		<-more
	})
}

func TestForget(t *testing.T) {
	t.Parallel()
	t.Run("the oldest bodies are dropped first, and their entries stay", func(t *testing.T) {
		t.Parallel()
		j := deliveries(3)
		j.Forget(1)
		list, _ := j.List(0, traffic.Filter{})
		if diff := cmp.Diff([]string{"0", "1", "2"}, ids(list)); diff != "" {
			t.Error(diff)
		}
		if got := len(list[0].Request.Body); got != 0 {
			t.Errorf("the oldest body has %d bytes, want none", got)
		}
		if got, want := string(list[1].Request.Body), "body"; got != want {
			t.Errorf("the next body is %q, want %q", got, want)
		}
	})
	t.Run("when no bodies are left, the older half of the entries is dropped", func(t *testing.T) {
		t.Parallel()
		j := deliveries(4)
		j.Forget(16) // drops the bodies
		j.Forget(1)
		list, _ := j.List(0, traffic.Filter{})
		if diff := cmp.Diff([]string{"2", "3"}, ids(list)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an empty journal counts no bytes", func(t *testing.T) {
		t.Parallel()
		j := deliveries(4)
		j.Clear()
		if got := j.Observed(); got != 0 {
			t.Errorf("%d bytes are counted, want 0", got)
		}
	})
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	var j traffic.Exchanges
	j.CountIn(&engine.Ledger{})
	x := traffic.Exchange{Request: traffic.Message{Header: http.Header{"Authorization": {"Bearer secret"}}, Body: []byte(`{"password":"secret"}`)}}
	j.Add(&x)
	x.MarkDocuments(true, false)
	j.Add(&x)
	list, _ := j.List(0, traffic.Filter{})
	t.Run("credentials in headers are masked", func(t *testing.T) {
		t.Parallel()
		if got := list[0].Request.Header.Get("Authorization"); got == "Bearer secret" {
			t.Errorf("Authorization is %q", got)
		}
	})
	t.Run("the body of a message is not masked", func(t *testing.T) {
		t.Parallel()
		if got, want := string(list[0].Request.Body), `{"password":"secret"}`; got != want {
			t.Errorf("body %s, want %s", got, want)
		}
	})
	t.Run("credentials in a document of the interface are masked", func(t *testing.T) {
		t.Parallel()
		if got := string(list[1].Request.Body); got == `{"password":"secret"}` {
			t.Errorf("body %s", got)
		}
	})
}
