package control

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/understudy-mock/understudy/mockserver/kv"
	"github.com/understudy-mock/understudy/mockserver/request"
	"github.com/understudy-mock/understudy/mockserver/response"
)

// counterBody is a counter of the rate-limit plugin. The store has no limits: the plugin passes
// them with each request.
type counterBody struct {
	Key       string `json:"key"`
	Used      *int64 `json:"used,omitempty"`      // requests that passed in the window
	Left      *int64 `json:"left,omitempty"`      // tokens in the bucket after its last request
	ExpiresAt int64  `json:"expiresAt,omitempty"` // Unix ms
}

// counterKey matches the keys of the plugin: prefix, method, route, identifier, and the number
// of the window ("Storage", interface document). Its analytics have such keys too, but no numbers.
var counterKey = regexp.MustCompile(`(?s)^.*:(?:ALL|DELETE|GET|PATCH|POST|PUT):.*:.`)

// maxCounters is the maximum number of counters that are listed.
const maxCounters = 500

// limits lists the counters of the plugin in the account's key-value store, by key.
func (s *Service) limits(c *request.Call) (any, error) {
	list, err := counters(c.Request.Context(), c.Tenant.KV)
	if err != nil {
		return nil, fmt.Errorf("key-value store: %w", err)
	}
	return map[string]any{"limits": list}, nil
}

func counters(ctx context.Context, store *kv.KV) ([]counterBody, error) {
	found, err := store.Do(ctx, []string{"KEYS", "*:*:*:*"})
	if err != nil {
		return nil, err
	}
	keys, _ := found[0].([]any) // an error if the request has ended
	list := []counterBody{}
	for _, key := range keys {
		key, _ := key.(string)
		if !counterKey.MatchString(key) || len(list) == maxCounters {
			continue
		}
		got, err := store.Do(ctx, []string{"GET", key}, []string{"HGET", key, "tokens"}, []string{"PEXPIRETIME", key})
		if err != nil {
			return nil, err
		}
		at, _ := got[2].(int64) // negative for never
		one := counterBody{key, wholeNumber(got[0]), wholeNumber(got[1]), max(at, 0)}
		if one.Used != nil || one.Left != nil {
			list = append(list, one)
		}
	}
	return list, nil
}

// wholeNumber is the number in a reply, nil if it is none.
func wholeNumber(reply any) *int64 {
	text, _ := reply.(string)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// clearLimits deletes the given counters, or all.
func (s *Service) clearLimits(c *request.Call) (any, error) {
	list, err := counters(c.Request.Context(), c.Tenant.KV)
	for _, one := range list {
		if wanted := c.Query["key"]; err == nil && (len(wanted) == 0 || slices.Contains(wanted, one.Key)) {
			_, err = c.Tenant.KV.Do(c.Request.Context(), []string{"DEL", one.Key})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("key-value store: %w", err)
	}
	return response.Empty, nil
}
