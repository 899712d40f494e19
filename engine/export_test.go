package engine

// CommandKinds are the names of all commands.
func CommandKinds() (names []string) {
	for _, k := range commandTable {
		names = append(names, k.name)
	}
	return names
}

// Document is a snapshot as a document.
func Document(s *Snapshot) []byte { return s.Document() }
