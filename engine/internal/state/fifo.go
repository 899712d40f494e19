package state

// FIFO is a queue. The cost of push and pop does not depend on its length.
type FIFO[T any] struct {
	Items []T
	Head  int
}

// Len is the number of entries.
func (f *FIFO[T]) Len() int { return len(f.Items) - f.Head }

// Push adds an entry at the end.
func (f *FIFO[T]) Push(v T) { f.Items = append(f.Items, v) }

// Pop removes and returns the oldest entry. The queue must not be empty.
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

// All calls visit for each entry, oldest first.
func (f *FIFO[T]) All(visit func(T)) {
	for _, v := range f.Items[f.Head:] {
		visit(v)
	}
}
