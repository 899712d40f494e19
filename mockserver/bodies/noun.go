package bodies

import (
	"time"

	"github.com/understudy-mock/understudy/engine"
	"github.com/understudy-mock/understudy/engine/search"
	"github.com/understudy-mock/understudy/mockserver/response"
	"github.com/understudy-mock/understudy/spec/api"
)

// FlowKey is a flow-control key. A limit of 0 is none, as clients require numbers.
func FlowKey(k engine.FlowKey) api.FlowControlKey {
	out := api.FlowControlKey{
		FlowControlKey:      k.Key,
		WaitListSize:        k.Waiting,
		ParallelismCount:    k.InFlight,
		ParallelismMax:      k.Parallelism,
		IsPaused:            k.Paused,
		IsPinnedParallelism: k.PinnedParallelism,
		IsPinnedRate:        k.PinnedRate,
	}
	if k.Rate > 0 {
		out.RateMax, out.RateCount, out.RatePeriod, out.RatePeriodStart = k.Rate, k.RateCount, int(k.Period/time.Second), int(k.PeriodStart.Unix())
	}
	return out
}

// Group is a URL group with its endpoints and default headers.
func Group(g engine.Group) api.URLGroup {
	endpoints := make([]api.Endpoint, len(g.Endpoints))
	for i, e := range g.Endpoints {
		endpoints[i] = api.Endpoint{Name: response.Optional(e.Name), Url: response.Optional(e.URL)}
	}
	return api.URLGroup{
		Name:      g.Name,
		CreatedAt: g.CreatedAt.UnixMilli(),
		UpdatedAt: g.UpdatedAt.UnixMilli(),
		Endpoints: endpoints,
		Headers:   response.HeaderMap(g.Headers),
	}
}

// Queue is a queue with the number of its messages that wait.
func Queue(q engine.Queue) api.Queue {
	return api.Queue{
		Name:        q.Name,
		CreatedAt:   q.CreatedAt.UnixMilli(),
		UpdatedAt:   q.UpdatedAt.UnixMilli(),
		Parallelism: q.Parallelism,
		Paused:      q.Paused,
		Lag:         q.Lag,
	}
}

// SearchIndex is a search index; customer is the user name of the management API.
func SearchIndex(i search.Index, customer string) api.SearchIndex {
	created := int(i.CreatedAt.Unix())
	return api.SearchIndex{
		Id: i.ID, Name: i.Name, Region: i.Region, Type: i.Type,
		CreatedAt: response.Millis(i.CreatedAt), CreationTime: &created, CustomerId: &customer,
		Token: response.Optional(i.Token), ReadOnlyToken: response.Optional(i.ReadOnlyToken),
	}
}
