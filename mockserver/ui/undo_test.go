package ui_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/understudy-mock/understudy/internal/testkit/expect"
	"github.com/understudy-mock/understudy/mockserver"
)

func TestTheQuestionOfAResetNamesAllThatGoes(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://down.test/*", 503)
	u.Publish("https://down.test/a", nil, "Svc-Retries: 0", "Svc-Flow-Control-Key: k", "Svc-Flow-Control-Value: parallelism=1")
	u.Settle()
	for _, body := range [][2]string{{"/v2/queues/", `{"queueName":"q"}`}, {"/v2/topics/g/endpoints", `{"endpoints":[{"url":"https://a.test"}]}`}} {
		request(t, u, http.MethodPost, body[0], body[1])
	}
	request(t, u, http.MethodPost, "/v2/schedules/https://a.test", "", "Svc-Cron", "0 0 * * *")
	request(t, u, http.MethodPut, "/_understudy/faults", `[{"on":"api","status":500,"operation":"listQueues"}]`)
	request(t, u, http.MethodPut, "/_understudy/rewrites", `{"https://a.test":"https://b.test"}`)
	page := press(t, u, "reset")
	for _, part := range []string{"1 message", "1 DLQ entry", "1 schedule", "1 URL group", "1 queue", "1 flow-control key", "1 stub", "1 fault", "1 rewrite", "key-value store", "clock"} {
		expect.Contains(t, "question", page, part)
	}
}

func TestUndoOfRules(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://app.test/*", 503)
	page := press(t, u, "stub.clear", "sure", "yes")
	expect.Contains(t, "page after all stubs were removed", page, "Undo remove all stubs")
	waits := u.Publish("https://app.test/later", nil, "Svc-Delay: 1h")
	press(t, u, "undo", "id", "undo_1", "label", "remove all stubs", "scope", "rules")
	expect.Contains(t, "stubs", request(t, u, http.MethodGet, "/_understudy/stubs", ""), "https://app.test/*")
	expect.Equal(t, "state of a later message", string(u.Message(waits).State), "CREATED")
}

func TestWhatCannotBeUndoneSaysSo(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t, mockserver.Config{Memory: 16 << 10}) // allows 1 KiB of undo points
	noise := make([]byte, 4000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // never fails
	u.Publish("https://app.test/later", noise, "Svc-Delay: 1h")
	waits := request(t, u, http.MethodGet, "/_understudy/messages", "")
	t.Run("a button with a question says it in the question", func(t *testing.T) {
		page := press(t, u, "reset", "sure", "yes")
		expect.Contains(t, "page", page, "It forgets 1 message, ")
		expect.Contains(t, "page", page, "It cannot be undone")
	})
	t.Run("a button without a question asks for confirmation", func(t *testing.T) {
		page := press(t, u, "message.cancel", "id", "msg_1")
		expect.Contains(t, "page", page, "Cancel message msg_1? It cannot be undone")
	})
	t.Run("nothing was done", func(t *testing.T) {
		expect.Contains(t, "messages", waits, "app.test/later")
		expect.Contains(t, "messages", request(t, u, http.MethodGet, "/_understudy/messages", ""), "app.test/later")
	})
	t.Run("a confirmed action is done without an undo point", func(t *testing.T) {
		page := press(t, u, "reset", "sure", "yes", "undo", "no")
		expect.Contains(t, "page", page, "The account was reset.")
		expect.Lacks(t, "page", page, "Undo reset")
	})
}

// TestUndoOfOneThing deletes a group, a queue or a schedule and restores it, while the rest of
// the account continues.
func TestUndoOfOneThing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, button, field string
		make                func(u *mockserver.TestServer)
	}{
		"a group": {"/v2/topics/g", "group.delete", "name", func(u *mockserver.TestServer) {
			request(t, u, http.MethodPost, "/v2/topics/g/endpoints", `{"endpoints":[{"name":"one","url":"https://app.test/one"},{"url":"https://app.test/two"}]}`)
		}},
		"a queue": {"/v2/queues/g", "queue.delete", "name", func(u *mockserver.TestServer) {
			request(t, u, http.MethodPost, "/v2/queues", `{"queueName":"g","parallelism":7}`)
			request(t, u, http.MethodPost, "/v2/queues/g/pause", "")
		}},
		"a schedule": {"/v2/schedules/g", "schedule.delete", "id", func(u *mockserver.TestServer) {
			request(t, u, http.MethodPost, "/v2/schedules/https://app.test/tick", "tick", "Svc-Schedule-Id", "g", "Svc-Cron", "CRON_TZ=Europe/Berlin 0 9 * * *", "Svc-Retries", "2", "Svc-Forward-X-Shop", "7", "Svc-Callback", "https://app.test/back", "Svc-Delay", "3s", "Svc-Label", "nightly")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := mockserver.RunT(t)
			u.Stub("*", 200)
			c.make(u)
			before := request(t, u, http.MethodGet, c.path, "")
			page := press(t, u, c.button, c.field, "g")
			expect.Contains(t, "page", page, "Undo delete the ")
			var kept struct {
				Points []struct {
					Scope string
					Bytes int
				}
			}
			expect.Nil(t, "error", json.Unmarshal([]byte(request(t, u, http.MethodGet, "/_understudy/undo", "")), &kept))
			expect.True(t, "the point is small", kept.Points[0].Bytes < 2000)
			later := u.Publish("https://app.test/later", nil)
			u.Settle()
			press(t, u, "undo", "id", "undo_1", "label", "delete", "scope", kept.Points[0].Scope)
			expect.Equal(t, "it", request(t, u, http.MethodGet, c.path, ""), before)
			expect.Contains(t, "messages", request(t, u, http.MethodGet, "/_understudy/messages", ""), later)
		})
	}
	t.Run("a point of one entity names it", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		for body, want := range map[string]string{
			`{"label":"x","scope":"schedule"}`:             "id: must be the name or id of a schedule",
			`{"label":"x","scope":"schedule","id":"none"}`: "not found",
			`{"label":"x","id":"g"}`:                       "id: must be without the scope account",
		} {
			expect.Contains(t, "answer to "+body, request(t, u, http.MethodPost, "/_understudy/undo", body, "Content-Type", "application/json"), want)
		}
	})
	t.Run("a queue with messages is restored with the account", func(t *testing.T) {
		t.Parallel()
		u := mockserver.RunT(t)
		request(t, u, http.MethodPost, "/v2/queues", `{"queueName":"g","parallelism":1}`)
		request(t, u, http.MethodPost, "/v2/queues/g/pause", "")
		request(t, u, http.MethodPost, "/v2/enqueue/g/https://app.test/x", "")
		press(t, u, "queue.delete", "name", "g")
		expect.Contains(t, "points", request(t, u, http.MethodGet, "/_understudy/undo", ""), `"scope":"account"`)
	})
}

// TestUndoAsksBeforeItTakesBackMore deletes a DLQ entry; then somebody else publishes. The undo of
// the deletion would lose that message.
func TestUndoAsksBeforeItTakesBackMore(t *testing.T) {
	t.Parallel()
	u := mockserver.RunT(t)
	u.Stub("https://down.test/*", 503)
	u.Publish("https://down.test/a", []byte("order-7"), "Svc-Retries: 0")
	u.Settle()
	failed := func() (ids []string) {
		var list struct{ Messages []struct{ DLQID string } }
		expect.Nil(t, "error", json.Unmarshal([]byte(request(t, u, http.MethodGet, "/v2/dlq", "")), &list))
		for _, m := range list.Messages {
			ids = append(ids, m.DLQID)
		}
		return ids
	}
	id := failed()[0]
	expect.Contains(t, "page", press(t, u, "dlq.delete", "id", id), "Undo delete DLQ entry "+id)
	later := u.Publish("https://app.test/later", nil, "Svc-Delay: 1h")
	undo := []string{"id", "undo_1", "label", "delete DLQ entry " + id, "scope", "account"}
	page := press(t, u, "undo", undo...)
	t.Run("the question says what would be lost", func(t *testing.T) {
		expect.Contains(t, "page", page, "take back everything since? The log has 1 event since then")
		expect.Contains(t, "messages", request(t, u, http.MethodGet, "/_understudy/messages", ""), later)
		expect.Equal(t, "DLQ entries", len(failed()), 0)
	})
	t.Run("a confirmed undo takes it back, and offers to undo that", func(t *testing.T) {
		expect.Contains(t, "page", press(t, u, "undo", append(undo, "sure", "yes")...), "Undo going back")
		expect.Equal(t, "DLQ entries", len(failed()), 1)
		expect.Lacks(t, "messages", request(t, u, http.MethodGet, "/_understudy/messages", ""), later)
	})
}
