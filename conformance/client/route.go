package client

import (
	"maps"
	"slices"
	"strings"
)

// route is the usual reply to a request: that of the documented form of the current operation, or
// of the workflow service.
func (x *execution) route(q *request) *reply {
	if strings.HasPrefix(q.Target, kvPath) {
		return x.storage(q)
	}
	if x.served != nil {
		if p := x.workflowReply(q); p != nil {
			return p
		}
	}
	if x.call == nil {
		return nil
	}
	op := x.operation(x.call.Op)
	if op.Name == "" || op.Auth == "none" {
		return nil
	}
	p := op.Reply
	for i := range op.Requests {
		w, err := filled[want](&op.Requests[i], x.known())
		if err == nil && x.path(q, w) == nil {
			if w.Reply != nil {
				p = *w.Reply
			}
			break
		}
	}
	return x.varied(p)
}

// storage is the reply of the storage of a rate limiter, which is made for each case.
func (x *execution) storage(q *request) *reply {
	if x.store == nil {
		made, err := newStore()
		if err != nil {
			return &reply{Status: statusUnscripted, Body: map[string]any{"text": err.Error()}}
		}
		x.store = made
	}
	return x.store.reply(q)
}

// varied changes a usual reply as the current call says.
func (x *execution) varied(p reply) *reply {
	if with := x.call.With; with != nil {
		if with.Status != 0 {
			p.Status = with.Status
		}
		if with.Body != nil {
			p.Body = fill(with.Body, x.vars)
		}
		headers := maps.Clone(p.Headers)
		if headers == nil {
			headers = map[string]any{}
		}
		maps.Copy(headers, with.Headers)
		p.Headers, p.Fault, p.Redirect, p.Gzip = headers, with.Fault, with.Redirect, with.Gzip
	}
	body, _ := p.Body.(map[string]any)
	if change := variations[x.call.Vary]; change != nil && body["json"] != nil {
		p.Body = map[string]any{"json": change(body["json"])}
	}
	return &p
}

// variations are changes of the JSON of a reply that a client must bear.
var variations = map[string]func(any) any{"grow": grow, "nulls": nulls, "drop": drop}

// changedIn applies a change to an object, or to each item of a list; other values stay.
func changedIn(v any, change func(map[string]any) any) any {
	switch v := v.(type) {
	case map[string]any:
		return change(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = changedIn(v[i], change)
		}
		return out
	}
	return v
}

// grow adds unknown members on every level.
func grow(v any) any {
	return changedIn(v, func(v map[string]any) any {
		out := map[string]any{}
		for name, member := range v {
			if !isHeaderMap(member) && name != "namespaces" {
				member = grow(member)
			}
			out[name] = member
		}
		out["zzNew"], out["aaNew"] = map[string]any{"deep": []any{1, "two", nil}}, "new"
		return out
	})
}

// isHeaderMap reports whether a value is a map of header names: its names are data.
func isHeaderMap(v any) bool {
	of, ok := v.(map[string]any)
	if !ok || len(of) == 0 {
		return false
	}
	for _, member := range of {
		if list, ok := member.([]any); !ok || slices.ContainsFunc(list, func(x any) bool { _, text := x.(string); return !text }) {
			return false
		}
	}
	return true
}

// required are members that are always present; the others are optional.
var required = []string{
	"messageId", "dlqId", "scheduleId", "workflowRunId", "workflowUrl", "workflowCreatedAt", "messages", "events", "logs", "runs", "name", "url", "method", "current", "next", "state", "time",
	"cron", "destination", "createdAt", "endpoints", "flowControlKey", "deduplicated", "result", "waiter", "vectorCount", "pendingVectorCount", "indexSize", "dimension", "similarityFunction",
	"indexType", "namespaces", "workflowRuns", "deadline", "cursor", "header", "responseStatus", "maxRetries", "notBefore", "callerIP", "stepName", "stepType", "callType", "concurrent",
}

// drop removes optional members on every level.
func drop(v any) any { return optional(v, func(map[string]any, string) {}) }

// nulls makes optional members null.
func nulls(v any) any {
	return optional(v, func(out map[string]any, name string) { out[name] = nil })
}

func optional(v any, handle func(map[string]any, string)) any {
	return changedIn(v, func(v map[string]any) any {
		out := map[string]any{}
		for name, member := range v {
			switch {
			case slices.Contains(required, name) && name != "cursor":
				out[name] = optional(member, handle)
			case isHeaderMap(v) || v["vectorCount"] != nil && name != "denseIndex":
				out[name] = member
			default:
				handle(out, name)
			}
		}
		return out
	})
}
