package shop

import (
	"cmp"
	"os"
	"testing"

	qstash "github.com/upstash/qstash-go"
)

func TestAReminderIsDeliveredAfterAnHour(t *testing.T) {
	image := cmp.Or(os.Getenv("UNDERSTUDY_IMAGE"), "ghcr.io/understudy-mock/understudy:latest")
	understudy, err := StartUnderstudy(t.Context(), image, map[string]string{
		"UNDERSTUDY_CLOCK": "manual",
		"UNDERSTUDY_STUB":  "https://shop.example/*=200", // answers deliveries without network
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := understudy.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	client := qstash.NewClientWith(qstash.Options{Url: understudy.URL, Token: understudy.Token})
	if _, err := client.Publish(qstash.PublishOptions{Url: "https://shop.example/reminders", Body: `{"order":1}`, Delay: "1h"}); err != nil {
		t.Fatal(err)
	}

	for _, step := range []struct {
		advance string
		want    int
	}{{"59m", 0}, {"1m", 1}} {
		if err := understudy.Advance(t.Context(), step.advance); err != nil {
			t.Fatal(err)
		}
		deliveries, err := understudy.Deliveries(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(deliveries) != step.want {
			t.Fatalf("after %s: got %d deliveries, want %d", step.advance, len(deliveries), step.want)
		}
		if step.want == 0 {
			continue
		}
		if got, want := deliveries[0].URL, "https://shop.example/reminders"; got != want {
			t.Errorf("the URL of the delivery: got %s, want %s", got, want)
		}
		if got, want := deliveries[0].Request.Body, `{"order":1}`; got != want {
			t.Errorf("the body of the delivery: got %s, want %s", got, want)
		}
	}
}
