package state

// Role says what a message is for. Its effects are in its row of roleConducts; no other
// code of the engine compares roles.
type Role string

// The roles of a message.
const (
	RoleMessage         Role = "message"
	RoleCallback        Role = "callback"
	RoleFailureCallback Role = "failureCallback"
	RoleStep            Role = "step" // a call to a workflow endpoint
	RoleCall            Role = "call" // a third-party call of a workflow step
)

// Conduct says what a role does besides being delivered.
type Conduct struct {
	CarriesSteps  bool // calls the endpoint of its run: it ends with the run, and the run fails with it
	CallsOut      bool // makes a third-party call for a step: the run sees the last answer only
	BringsAnswer  bool // if it belongs to a run: carries the answer of a third party to the endpoint, and the run fails with it
	ReportsFailed bool // calls the failure callback: its end is noted in the DLQ entry; it is not part of a run
}

// roleConducts is sorted by role. It is a list, because it is read several times per
// message and scanning five rows is faster than a map.
var roleConducts = []struct {
	role Role
	Conduct
}{
	{RoleCall, Conduct{CallsOut: true}},
	{RoleCallback, Conduct{BringsAnswer: true}},
	{RoleFailureCallback, Conduct{ReportsFailed: true}},
	{RoleMessage, Conduct{}},
	{RoleStep, Conduct{CarriesSteps: true}},
}

// Conduct returns the row of a role.
func (r Role) Conduct() Conduct {
	for i := range roleConducts {
		if roleConducts[i].role == r {
			return roleConducts[i].Conduct
		}
	}
	return Conduct{}
}

// DecidesRun reports whether the run of the message fails with it.
func (m *Message) DecidesRun() bool { return m.Role.Conduct().CarriesSteps || m.BearsAnswer() }

// BearsAnswer reports whether the message carries the answer of a third-party call to the
// endpoint. If it cannot be delivered, the run cannot continue.
func (m *Message) BearsAnswer() bool {
	return m.Role.Conduct().BringsAnswer && m.RunID != "" && m.Step != nil
}
