// Package client runs the published Go client against a server that `understudy
// serve` started without flags. It uses only the environment variables that the server prints.
package client

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	qstash "github.com/upstash/qstash-go"
)

// arrived is a delivery.
type arrived struct {
	header http.Header
	body   string
}

// destination starts a server that collects deliveries.
func destination(t *testing.T) (url string, deliveries chan arrived) {
	t.Helper()
	deliveries = make(chan arrived, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		deliveries <- arrived{r.Header, string(body)}
	}))
	t.Cleanup(s.Close)
	return s.URL, deliveries
}

func next(t *testing.T, deliveries chan arrived) arrived {
	t.Helper()
	select {
	case got := <-deliveries:
		return got
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was delivered")
		return arrived{}
	}
}

func TestDeliveryIsSignedForTheReceiver(t *testing.T) {
	url, deliveries := destination(t)
	if _, err := qstash.NewClientWithEnv().Publish(qstash.PublishOptions{Url: url, Body: "hello", Headers: map[string]string{"X-Own": "mine"}}); err != nil {
		t.Fatal(err)
	}
	got := next(t, deliveries)
	if got.body != "hello" || got.header.Get("X-Own") != "mine" {
		t.Errorf("got %+v", got)
	}
	if err := qstash.NewReceiverWithEnv().Verify(qstash.VerifyOptions{Signature: got.header.Get("Upstash-Signature"), Url: url, Body: got.body}); err != nil {
		t.Errorf("signature: %v, header %v", err, got.header)
	}
}

func TestOptionsAreHonoured(t *testing.T) {
	url, deliveries := destination(t)
	client := qstash.NewClientWithEnv()
	retries := 7
	sent, err := client.Publish(qstash.PublishOptions{Url: url, Body: "later", Delay: "1h", Retries: &retries})
	if err != nil {
		t.Fatal(err)
	}
	m, err := client.Messages().Get(sent.MessageId)
	if err != nil {
		t.Fatal(err)
	}
	if wait := time.Duration(m.NotBefore-m.CreatedAt) * time.Millisecond; wait != time.Hour || m.MaxRetries != 7 {
		t.Errorf("delay %v, retries %d", wait, m.MaxRetries)
	}
	if err := client.Messages().Cancel(sent.MessageId); err != nil {
		t.Error(err)
	}
	select {
	case got := <-deliveries:
		t.Errorf("delivered at once: %+v", got)
	default:
	}
}

func TestBatchAndSchedule(t *testing.T) {
	url, deliveries := destination(t)
	client := qstash.NewClientWithEnv()
	if _, err := client.Batch([]qstash.BatchOptions{{Url: url, Body: "one"}, {Url: url, Body: "later", Delay: "1h"}}); err != nil {
		t.Fatal(err)
	}
	if got := next(t, deliveries); got.body != "one" || got.header.Get("Upstash-Message-Id") == "" {
		t.Errorf("got %+v", got)
	}
	id, err := client.Schedules().Create(qstash.ScheduleOptions{Destination: url, Cron: "0 0 1 1 *"})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := client.Schedules().Get(id); err != nil || s.Cron != "0 0 1 1 *" {
		t.Errorf("%+v %v", s, err)
	}
	if err := client.Schedules().Delete(id); err != nil {
		t.Error(err)
	}
}

func TestJournalShowsTheNamesThatWereSent(t *testing.T) {
	answer, err := http.Get(os.Getenv("UNDERSTUDY_URL") + "/_understudy/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var journal struct{ Entries []json.RawMessage }
	if err := json.NewDecoder(answer.Body).Decode(&journal); err != nil {
		t.Fatal(err)
	}
	for _, entry := range journal.Entries {
		if strings.Contains(string(entry), "Svc-") {
			t.Errorf("an entry of the journal: got %s, want it without %q", entry, "Svc-")
		}
	}
}
