package ui

// fleetOf loads the servers and the owners of accounts.
func fleetOf(v *visit) (any, error) {
	var fleet doc
	err := v.get(&fleet, "fleet", nil)
	return fleet, err
}

// hasFleet reports whether the server belongs to a fleet.
func hasFleet(v *visit) bool {
	_, err := fleetOf(v)
	return err == nil
}
