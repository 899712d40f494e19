package mockserver_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestDefaultRetriesEndInTheDLQ(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://app.test/*", http.StatusServiceUnavailable)
	id := u.Publish("https://app.test/hook", []byte(`{"a":1}`), "Content-Type: application/json")
	u.Advance(48 * time.Hour)
	var at []time.Duration
	deliveries := u.Deliveries()
	for _, d := range deliveries {
		at = append(at, time.Duration(d.At-deliveries[0].At)*time.Millisecond)
		expect.Equal(t, "delivery", d.MessageID, id)
	}
	want := []time.Duration{0, 12 * time.Second, 12*time.Second + 148*time.Second, 12*time.Second + 148*time.Second + 1808*time.Second}
	if len(at) != len(want) {
		t.Fatalf("attempts at %v, want %v", at, want)
	}
	for i := range want {
		if at[i] != want[i] {
			t.Errorf("attempt %d at %v, want %v", i, at[i], want[i])
		}
	}
}
