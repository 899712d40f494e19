package mockserver

import (
	"encoding/json"

	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/mockserver/view"
	"github.com/understudy-mock/understudy/spec/api"
)

var _ = registerHandlers(map[string]handler{
	"deleteQueue": (*Server).deleteQueue,
	"getQueue":    (*Server).getQueue,
	"listQueues":  (*Server).listQueues,
	"pauseQueue":  (*Server).pauseQueue,
	"resumeQueue": (*Server).resumeQueue,
	"upsertQueue": (*Server).upsertQueue,
})

func (s *Server) upsertQueue(c *call) (response.Response, error) {
	var body api.QueueUpsert
	if err := json.Unmarshal(c.body, &body); err != nil {
		return response.Response{}, response.Invalid("body: " + err.Error())
	}
	q, err := c.account.UpsertQueue(body.QueueName, body.Parallelism, body.Paused)
	return response.Response{Body: view.Queue(q)}, err
}

func (s *Server) listQueues(c *call) (response.Response, error) {
	queues := c.account.Queues()
	list := make([]api.Queue, len(queues))
	for i, q := range queues {
		list[i] = view.Queue(q)
	}
	return response.Response{Body: list}, nil
}

func (s *Server) getQueue(c *call) (response.Response, error) {
	q, err := c.account.Queue(c.vars["queueName"])
	return response.Response{Body: view.Queue(q)}, err
}

func (s *Server) deleteQueue(c *call) (response.Response, error) {
	return emptyObject, c.account.DeleteQueue(c.vars["queueName"])
}

func (s *Server) pauseQueue(c *call) (response.Response, error) {
	return emptyObject, c.account.SetQueuePaused(c.vars["queueName"], true)
}

func (s *Server) resumeQueue(c *call) (response.Response, error) {
	return emptyObject, c.account.SetQueuePaused(c.vars["queueName"], false)
}
