// Package response defines what handlers of operations return: responses, and
// errors with their statuses. It also formats times, bodies and texts for them.
//
//	return response.Response{}, response.Invalid("body: " + err.Error())
//
// Only this package chooses the statuses of errors. It does not depend on a server.
package response
