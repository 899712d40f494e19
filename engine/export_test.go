package engine

import (
	"reflect"
	"time"

	"github.com/understudy-mock/understudy/engine/journal"
)

// CommandKinds are the names of all commands.
func CommandKinds() (names []string) {
	for _, k := range commandTable {
		names = append(names, k.name)
	}
	return names
}

// Rewritten reads the body of a record, and writes it again.
func Rewritten(r journal.Record) ([]byte, error) {
	k, _ := kindNamed(r.Kind)
	c := reflect.New(k.body)
	err := k.decode(r.Body, c.Interface())
	return k.encode(c.Interface()), err
}

// Document is a snapshot as a document.
func Document(s *Snapshot) []byte { return s.Document() }

// MoveTime moves all times of an account; CorrectClock does it by the distance to the wall clock.
func MoveTime(a *Account, by time.Duration) error {
	a.saves.Lock()
	defer a.saves.Unlock()
	return doDurably(a, func() error { return a.moveTime(by) })
}

// Test binaries do not know the versions of their modules.
func init() {
	moduleVersions = func() map[string]string { return map[string]string{cronModule: "v1.20.4"} }
}
