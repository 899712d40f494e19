package fleet

import (
	"cmp"
	"maps"
	"slices"

	"github.com/understudy-mock/understudy/mockserver/control"
	"github.com/understudy-mock/understudy/spec/api"
)

// The states of an account without a job; otherwise it is the kind of the job.
const (
	serving = "serving"
	refused = "refused" // its server cannot serve it
	waiting = "waiting" // it has no live server
)

// View returns the current state of the fleet, sorted by id.
func (f *Fleet) View() any { return f.view() }

func (f *Fleet) view() api.Fleet {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := api.Fleet{Self: f.id, Members: []api.FleetMember{}, Accounts: []api.FleetAccount{}, OwnerChanges: int(f.moves)}
	counts := map[string]int{}
	for _, id := range f.host.Accounts.IDs() {
		owner := f.owner[id].member
		m, there := f.alive[owner]
		a := api.FleetAccount{ID: id, State: waiting}
		if there {
			counts[owner]++
			a.Owner, a.URL, a.State = owner, m.URL, serving
		}
		if owner == f.id && !f.host.Accounts.Has(id) {
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
		v.Members = append(v.Members, api.FleetMember{ID: id, URL: m.URL, Accounts: counts[id], Since: m.Since, Leaving: m.Leaving})
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
