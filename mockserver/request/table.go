package request

// Table has handlers by operation. A handler returns the body of the answer, or a
// response.Response.
type Table[T any] map[string]func(T, *Call) (any, error)
