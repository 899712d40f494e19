package state

import "cmp"

// Family counts the descendants of a message, see engine.Account.CancelFamily.
type Family struct {
	ID      string // of the message
	Created int    // descendants
	Live    int    `saved:"no"` // those that have not ended
	Cut     bool   // cancelled: no more may be created
}

// Family is the id of the message from which this one descends, or its own.
func (m *Message) Family() string { return cmp.Or(m.Options.Family, m.ID) }
