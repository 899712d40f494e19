package client

// Paths are the path templates of each operation, for tests.
func Paths() map[string]string {
	paths := map[string]string{}
	l, err := load()
	if err != nil {
		panic(err) // Cases reports it
	}
	for name, op := range l.operations {
		for _, w := range op.Requests {
			paths[name] += w.Path + " "
		}
	}
	return paths
}
