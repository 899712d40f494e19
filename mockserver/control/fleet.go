package control

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/understudy-mock/understudy/engine/refusal"
	"github.com/understudy-mock/understudy/mockserver/call"
	"github.com/understudy-mock/understudy/mockserver/fleet"
	"github.com/understudy-mock/understudy/mockserver/response"
)

var _ = registerHandlers(map[string]Handler{"controlFleet": (*Service).fleet})

// fleet lists the servers of the fleet and the owner of each account.
func (s *Service) fleet(*call.Call) (response.Response, error) {
	if s.Fleet == nil {
		return response.Response{}, refusal.Of(refusal.NotFound, "fleet", "", "not found: this server is the only one with its accounts; servers with the same --data nats:// form a fleet")
	}
	return response.Response{Body: s.Fleet.View()}, nil
}

// fleetFigures are the metrics of the fleet, for a server with --data nats://.
type fleetFigures struct{ fleet *fleet.Fleet }

// The descriptions of these metrics.
var (
	fleetMembers  = prometheus.NewDesc("understudy_fleet_members", "Servers of the fleet that this server knows.", nil, nil)
	fleetAccounts = prometheus.NewDesc("understudy_fleet_accounts", "Accounts of the fleet, by their state.", []string{"state"}, nil)
	fleetChanges  = prometheus.NewDesc("understudy_fleet_owner_changes_total", "How often an account has come to another server, as this server has seen it.", nil, nil)
)

// Describe implements prometheus.Collector.
func (f fleetFigures) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(f, to) }

// Collect implements prometheus.Collector.
func (f fleetFigures) Collect(to chan<- prometheus.Metric) {
	v := f.fleet.View()
	to <- prometheus.MustNewConstMetric(fleetMembers, prometheus.GaugeValue, float64(len(v.Members)))
	to <- prometheus.MustNewConstMetric(fleetChanges, prometheus.CounterValue, float64(v.OwnerChanges))
	states := map[string]int{}
	for i := range v.Accounts {
		states[v.Accounts[i].State]++
	}
	for state, n := range states {
		to <- prometheus.MustNewConstMetric(fleetAccounts, prometheus.GaugeValue, float64(n), state)
	}
}
