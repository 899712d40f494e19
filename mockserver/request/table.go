package request

// Table has handlers by operation; each file of a package adds its own. A handler returns the body
// of the answer, or a response.Response.
type Table[T any] map[string]func(T, *Call) (any, error)

// Add adds the handlers of a file. It panics if an operation already has one.
func (t Table[T]) Add(rows Table[T]) Table[T] {
	for id, h := range rows {
		if t[id] != nil {
			panic("two handlers for operation " + id)
		}
		t[id] = h
	}
	return rows
}
