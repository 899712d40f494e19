package mockserver_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

// A follower gets entries in parts, and all of them.
func TestFollowersGetEverything(t *testing.T) {
	t.Parallel()
	const messages = 300
	lines := func(t *testing.T, u *mockserver.TestServer, path, want string, act func()) {
		t.Helper()
		response, err := newClient(t, u).http.Get(u.URL() + path)
		expect.NoError(t, err)
		defer response.Body.Close()
		act()
		reader, seen := bufio.NewReaderSize(response.Body, 1<<20), 0
		for seen < messages {
			line, err := reader.ReadString('\n')
			if err != nil {
				t.Fatalf("after %d of %d: %v", seen, messages, err)
			}
			if strings.HasPrefix(line, "data: ") && strings.Contains(line, want) {
				seen++
			}
		}
	}
	publish := func(u *mockserver.TestServer) {
		u.Stub("*", 200)
		for i := range messages {
			u.Publish(fmt.Sprint("https://e.test/", i), nil)
		}
		u.Settle()
	}
	t.Run("of a log that is there", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		publish(u)
		lines(t, u, "/_understudy/events", `"DELIVERED"`, func() {})
	})
	t.Run("of a journal that grows", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		lines(t, u, "/_understudy/deliveries?follow=true", `"attempt":0`, func() { publish(u) })
	})
}

// A client of the stream of events learns where the past ends, and continues where it was interrupted.
func TestTheStreamOfEventsContinues(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("*", 200)
	u.Publish("https://e.test/", nil)
	u.Settle()
	past := func(after string) (ids []string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.URL()+"/_understudy/events", http.NoBody)
		expect.NoError(t, err)
		r.Header.Set("Last-Event-ID", after)
		response, err := newClient(t, u).http.Do(r)
		expect.NoError(t, err)
		defer response.Body.Close()
		for lines := bufio.NewScanner(response.Body); lines.Scan() && lines.Text() != ": now"; {
			if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				ids = append(ids, id)
			}
		}
		return ids
	}
	all := past("")
	if len(all) < 2 {
		t.Fatalf("got %d events before the comment, want some", len(all))
	}
	expect.Equal(t, "events after the first", past(all[0]), all[1:])
	expect.Equal(t, "events after a text that is no id", past("x"), all)
}
