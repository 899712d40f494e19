package traffic_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
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
		expect.Equal(t, "number of entries", len(list), traffic.Limit)
		expect.Equal(t, "number of dropped", dropped, 3)
	})
	t.Run("a follower gets the entries after its position in batches", func(t *testing.T) {
		t.Parallel()
		j := deliveries(traffic.MaxBatch + 5)
		first, position, _ := j.Since(2, traffic.Filter{})
		expect.Equal(t, "number of entries at first", len(first), traffic.MaxBatch)
		rest, _, _ := j.Since(position, traffic.Filter{})
		expect.Equal(t, "number of entries then", len(rest), 3)
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
		expect.Equal(t, "the oldest body", len(list[0].Request.Body), 0)
		expect.Equal(t, "the next body", string(list[1].Request.Body), "body")
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
		expect.Equal(t, "number of bytes", j.Observed(), 0)
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
		expect.Equal(t, "body", string(list[0].Request.Body), `{"password":"secret"}`)
	})
	t.Run("credentials in a document of the interface are masked", func(t *testing.T) {
		t.Parallel()
		if got := string(list[1].Request.Body); got == `{"password":"secret"}` {
			t.Errorf("body %s", got)
		}
	})
}
