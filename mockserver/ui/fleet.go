package ui

// fleetView shows the owner of each account. The navigation has it only in a fleet.
var fleetView = view{name: "fleet", title: "Fleet", key: "e", load: fleetOf}

// fleet is the servers and the owners of accounts, from the control API.
type fleet struct {
	Self         string
	Members      []member
	Accounts     []ownedAccount
	OwnerChanges int
}

type member struct {
	ID, URL  string
	Accounts int
	Since    int64 // Unix ms
	Leaving  bool
}

type ownedAccount struct{ ID, Owner, URL, State, Reason string }

// State is the state of a server in words.
func (m *member) State() string {
	if m.Leaving {
		return "leaving"
	}
	return "serving"
}

func fleetOf(v *visit) (any, error) {
	var f fleet
	err := v.get(&f, "fleet", nil)
	return &f, err
}

// hasFleet reports whether the server belongs to a fleet.
func hasFleet(v *visit) bool {
	_, err := fleetOf(v)
	return err == nil
}
