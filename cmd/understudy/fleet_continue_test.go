package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-mock/understudy/internal/testkit/effort"
	"github.com/understudy-mock/understudy/internal/testkit/expect"
)

// A server that is stopped, replaced and then continues has an old state of its accounts. It
// must not use that state for a request that has waited in its socket.
func TestFleetServerThatContinues(t *testing.T) {
	effort.Long(t, "starts a cluster")
	if effort.Raced {
		t.Skip("separate processes in real time")
	}
	f := newFleet(t, 2)
	f.settled()
	l, err := f.list(f.members[0])
	expect.NoError(t, err)
	stopped, other := f.members[0], f.members[1]
	for i := range 3 {
		accounts := f.owned(l)[stopped.url]
		if len(accounts) == 0 {
			t.Fatalf("round %d: %s has no accounts: %+v", i+1, stopped.url, l)
		}
		account := accounts[0]
		f.signal(stopped.Signal, syscall.SIGSTOP)
		f.await("the account to be replaced", func() bool {
			l, err = f.list(other)
			if err != nil {
				return false
			}
			for _, a := range l.Accounts {
				if a.ID == account {
					return a.URL == other.url && a.State == "serving"
				}
			}
			return false
		})
		status, text := askMember(t, http.MethodPost, other.url+"/v2/publish/https://e.test/hook?svc-delay=1h", account)
		if status != http.StatusOK {
			t.Fatalf("publish at the new owner: got status %d: %s", status, text)
		}
		var made struct{ MessageID string }
		expect.NoError(t, json.Unmarshal([]byte(text), &made))
		answer := make(chan string, 1)
		go func() {
			status, text := askMember(t, http.MethodGet, stopped.url+"/v2/messages/"+made.MessageID, account)
			answer <- fmt.Sprint(status, " ", text)
		}()
		pause(100 * time.Millisecond) // the request waits in the socket
		f.signal(stopped.Signal, syscall.SIGCONT)
		if got := <-answer; !strings.HasPrefix(got, "200 ") {
			t.Errorf("round %d: message of the new owner, read from the one that continues: got %s, want status 200", i+1, got)
		}
		f.settled()
		if l, err = f.list(stopped); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range f.members {
		if err := m.end(); err != nil {
			t.Error(err)
		}
	}
}

// askMember sends a request with the token of an account. Without an answer, the status is 0
// and the text is the error.
func askMember(t *testing.T, method, url, account string) (status int, text string) {
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Authorization", "Bearer "+tokenPrefix+account)
	client := http.Client{Timeout: 20 * time.Second}
	response, err := client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}
