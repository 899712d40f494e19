package mockserver_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/understudy-mock/understudy/mockserver"
)

// A follower gets entries in parts, and all of them.
func TestFollowersGetEverything(t *testing.T) {
	t.Parallel()
	const messages = 300
	lines := func(t *testing.T, u *mockserver.TestServer, path, want string, act func()) {
		t.Helper()
		response, err := newClient(t, u).http.Get(u.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
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
