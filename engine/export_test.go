package engine

// CommandKinds are the names of all commands.
func CommandKinds() (names []string) {
	for _, k := range commands {
		names = append(names, k.name)
	}
	return names
}
