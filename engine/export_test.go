package engine

// Headline is the line of an answer that says what went wrong.
func Headline(body []byte) string { return headline(body) }

// CommandKinds are the names of all commands.
func CommandKinds() (names []string) {
	for _, k := range commands {
		names = append(names, k.name)
	}
	return names
}
