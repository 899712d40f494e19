package engine

// fifo is a queue whose push, pop and unpop cost the same however long it is.
type fifo[T any] struct {
	items []T
	head  int
}

func (f *fifo[T]) len() int { return len(f.items) - f.head }

func (f *fifo[T]) push(v T) { f.items = append(f.items, v) }

// pop takes the oldest; the caller has looked at len.
func (f *fifo[T]) pop() T {
	var zero T
	v := f.items[f.head]
	f.items[f.head] = zero
	f.head++
	if f.head > 64 && 2*f.head > len(f.items) {
		n := copy(f.items, f.items[f.head:])
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
	return v
}

// all visits what waits, oldest first.
func (f *fifo[T]) all(visit func(T)) {
	for _, v := range f.items[f.head:] {
		visit(v)
	}
}
