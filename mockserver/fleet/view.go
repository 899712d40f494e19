package fleet

import (
	"cmp"
	"maps"
	"slices"

	"github.com/understudy-mock/understudy/mockserver/control"
)

// View is the members of a fleet and the owners of its accounts, as seen by this server.
type View struct {
	Self         string          `json:"self"` // id of this server
	Members      []ViewOfMember  `json:"members"`
	Accounts     []ViewOfAccount `json:"accounts"`
	OwnerChanges int64           `json:"ownerChanges"` // that this server has seen
}

// ViewOfMember is a server of the fleet.
type ViewOfMember struct {
	ID       string `json:"id"`
	URL      string `json:"url"`
	Accounts int    `json:"accounts"` // how many it has
	Since    int64  `json:"since"`    // Unix ms
	Leaving  bool   `json:"leaving,omitempty"`
}

// ViewOfAccount is an account and its server.
type ViewOfAccount struct {
	ID     string `json:"id"`
	Owner  string `json:"owner,omitempty"` // id of its server
	URL    string `json:"url,omitempty"`   // of that server
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"` // why it is refused
}

// The states of an account without a job; otherwise it is the kind of the job.
const (
	serving = "serving"
	refused = "refused" // its server cannot serve it
	waiting = "waiting" // it has no live server
)

// View returns the current state of the fleet, sorted by id.
func (f *Fleet) View() any { return f.view() }

func (f *Fleet) view() View {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := View{Self: f.id, Members: []ViewOfMember{}, Accounts: []ViewOfAccount{}, OwnerChanges: f.moves}
	counts := map[string]int{}
	for _, id := range f.accounts.IDs() {
		owner := f.owner[id].member
		m, there := f.alive[owner]
		a := ViewOfAccount{ID: id, State: waiting}
		if there {
			counts[owner]++
			a.Owner, a.URL, a.State = owner, m.URL, serving
		}
		if owner == f.id && !f.accounts.Has(id) {
			a.State = opening
		}
		a.State = cmp.Or(f.busy[id], a.State)
		if why, ok := f.refused[id]; ok && !why.passing() {
			a.State, a.Reason = refused, why.err.Error()
		}
		v.Accounts = append(v.Accounts, a)
	}
	for _, id := range slices.Sorted(maps.Keys(f.alive)) {
		m := f.alive[id]
		v.Members = append(v.Members, ViewOfMember{id, m.URL, counts[id], m.Since, m.Leaving})
	}
	return v
}

// Metrics are the numbers of the fleet for a monitoring system.
func (f *Fleet) Metrics() []control.Metric {
	v, states := f.view(), map[string]float64{}
	for i := range v.Accounts {
		states[v.Accounts[i].State]++
	}
	return []control.Metric{
		control.Number("understudy_fleet_members", "Servers of the fleet that this server knows.", control.Gauge, float64(len(v.Members))),
		{Name: "understudy_fleet_accounts", Help: "Accounts of the fleet, by their state.", Kind: control.Gauge, Label: "state", Values: states},
		control.Number("understudy_fleet_owner_changes_total", "How often an account has come to another server, as this server has seen it.", control.Counter, float64(v.OwnerChanges)),
	}
}
