package state

import (
	"time"
)

// Endpoint is one member of a URL group.
type Endpoint struct {
	Name string
	URL  string
}

// Group is a URL group: a publish to it triggers every endpoint ("URL group";
// decided: 9).
type Group struct {
	Name      string
	CreatedAt time.Time
	UpdatedAt time.Time
	Endpoints []Endpoint
	Headers   Header  // default headers as given
	Options   Options // configuration from Headers
	Forward   Header  // the other headers: sent with every request to the group
}
