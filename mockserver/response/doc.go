// Package response is what handlers of operations return, and how values look
// in it: responses, errors with their statuses, times, bodies and texts.
//
//	return response.Response{}, response.Invalid("body: " + err.Error())
//
// It is the only place that chooses a failing status, and knows no server.
package response
