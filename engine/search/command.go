package search

import "time"

// A Change is a command on the indexes that returns the changed index. It is plain data, so
// that it can be recorded and applied again.
type Change interface {
	Apply(all Indexes, draw NewID, now time.Time) (Index, error)
}

// The commands. Each is named after the method of Indexes that it calls.
type (
	// CreateCommand adds an index.
	CreateCommand struct{ Index Index }
	// RenameCommand changes the name of an index.
	RenameCommand struct{ ID, Name string }
	// ResetTokensCommand generates new tokens for an index.
	ResetTokensCommand struct{ ID string }
	// DeleteCommand removes an index permanently.
	DeleteCommand struct{ ID string }
)

// Apply creates the index.
func (c CreateCommand) Apply(all Indexes, draw NewID, now time.Time) (Index, error) {
	return all.Create(c.Index, draw, now)
}

// Apply renames the index.
func (c RenameCommand) Apply(all Indexes, _ NewID, _ time.Time) (Index, error) {
	return all.Rename(c.ID, c.Name)
}

// Apply generates the tokens.
func (c ResetTokensCommand) Apply(all Indexes, draw NewID, _ time.Time) (Index, error) {
	return all.ResetTokens(c.ID, draw)
}

// Apply deletes the index.
func (c DeleteCommand) Apply(all Indexes, _ NewID, _ time.Time) (Index, error) {
	return all.Delete(c.ID)
}
