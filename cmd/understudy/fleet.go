package main

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// ctlFleet shows the fleet of a server.
type ctlFleet struct{}

// The tables of ctl fleet.
var (
	memberTable = listing{"members", []column{
		{"SERVER", memberText("id")}, {"ACCOUNTS", memberText("accounts")}, {"SINCE (UTC)", memberTime("since")}, {"LEAVING", memberText("leaving")}, {"URL", memberText("url")},
	}}
	ownerTable = listing{"accounts", []column{
		{"ACCOUNT", memberText("id")}, {"STATE", memberText("state")}, {"SERVER", memberText("owner")}, {"URL", memberText("url")}, {"REASON", memberText("reason")},
	}}
)

// Run prints the servers and then the accounts.
func (*ctlFleet) Run(e *env, c *cli) error {
	var answer json.RawMessage
	if err := c.Ctl.call(e, http.MethodGet, "fleet", nil, nil, &answer); err != nil {
		return err
	}
	if !c.Ctl.asTable(e) {
		return c.Ctl.print(e, answer, nil)
	}
	if err := memberTable.write(e.out, answer); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(e.out); err != nil {
		return err
	}
	return ownerTable.write(e.out, answer)
}
