package engine

import "time"

// CommandKinds are the names of all commands.
func CommandKinds() (names []string) {
	for _, k := range commandTable {
		names = append(names, k.name)
	}
	return names
}

// Document is a snapshot as a document.
func Document(s *Snapshot) []byte { return s.Document() }

// MoveTime moves all times of an account; CorrectClock does it by the distance to the wall clock.
func MoveTime(a *Account, by time.Duration) error {
	a.saves.Lock()
	defer a.saves.Unlock()
	return errorOnly(runDurably(a, func() (nothing, error) { return a.moveTime(by) }))
}

// Test binaries do not know the versions of their modules.
func init() {
	moduleVersions = func() map[string]string { return map[string]string{cronModule: "v1.20.4"} }
}
