package state

// FIFO is a queue whose push, pop and unpop cost the same however long it is.
type FIFO[T any] struct {
	Items []T
	Head  int
}

// Len is how many wait.
func (f *FIFO[T]) Len() int { return len(f.Items) - f.Head }

// Push puts one at the end.
func (f *FIFO[T]) Push(v T) { f.Items = append(f.Items, v) }

// Pop takes the oldest; the caller has looked at len.
func (f *FIFO[T]) Pop() T {
	var zero T
	v := f.Items[f.Head]
	f.Items[f.Head] = zero
	f.Head++
	if f.Head > 64 && 2*f.Head > len(f.Items) {
		n := copy(f.Items, f.Items[f.Head:])
		clear(f.Items[n:])
		f.Items, f.Head = f.Items[:n], 0
	}
	return v
}

// All visits what waits, oldest first.
func (f *FIFO[T]) All(visit func(T)) {
	for _, v := range f.Items[f.Head:] {
		visit(v)
	}
}
