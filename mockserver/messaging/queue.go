package messaging

import (
	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

// upsertQueue changes only the members that the body has: pointers distinguish
// an absent member from false and 0.
func (a *API) upsertQueue(c *request.Call) (any, error) {
	var body api.QueueUpsert
	if err := c.Read(&body); err != nil {
		return nil, err
	}
	q, err := c.Account.UpsertQueue(body.QueueName, body.Parallelism, body.Paused)
	return queueBody(&q), err
}

func (a *API) listQueues(c *request.Call) (any, error) {
	return response.List(c.Account.Queues(), queueBody), nil
}

func (a *API) getQueue(c *request.Call) (any, error) {
	q, err := c.Account.Queue(c.Vars["queueName"])
	return queueBody(&q), err
}

// deleteQueue cancels the messages that still wait in the queue.
func (a *API) deleteQueue(c *request.Call) (any, error) {
	return response.Empty, c.Account.DeleteQueue(c.Vars["queueName"])
}

func (a *API) pauseQueue(c *request.Call) (any, error) {
	return response.Empty, c.Account.SetQueuePaused(c.Vars["queueName"], true)
}

func (a *API) resumeQueue(c *request.Call) (any, error) {
	return response.Empty, c.Account.SetQueuePaused(c.Vars["queueName"], false)
}

// queueBody is a queue with the number of its messages that wait.
func queueBody(q *engine.Queue) api.Queue {
	return api.Queue{
		Name:        q.Name,
		CreatedAt:   q.CreatedAt.UnixMilli(),
		UpdatedAt:   q.UpdatedAt.UnixMilli(),
		Parallelism: q.Parallelism,
		Paused:      q.Paused,
		Lag:         q.Lag,
	}
}
