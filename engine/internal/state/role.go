package state

// Role says what a message is for. What follows from it is its row in roleConducts;
// nothing else in the engine compares roles.
type Role string

// The roles of a message.
const (
	RoleMessage         Role = "message"
	RoleCallback        Role = "callback"
	RoleFailureCallback Role = "failureCallback"
	RoleStep            Role = "step" // a call to a workflow endpoint
	RoleCall            Role = "call" // a third-party call of a workflow step
)

// Conduct is what a role does beyond being delivered.
type Conduct struct {
	CarriesSteps  bool // to the endpoint of its run: it ends with the run, and the run fails with it
	CallsOut      bool // for a step: the run sees its last answer alone
	BringsAnswer  bool // of a third party to the endpoint, where it belongs to a run: that fails with it
	ReportsFailed bool // to the failure callback: its DLQ entry learns of the end; it is no part of a run
}

// roleConducts is sorted by role. It is asked several times for each message, and a
// walk through five rows takes less time than a map.
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

// Conduct is the row of a role.
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

// BearsAnswer reports whether the message brings the answer of a third-party
// call to the endpoint: if it cannot be delivered, the run cannot go on.
func (m *Message) BearsAnswer() bool {
	return m.Role.Conduct().BringsAnswer && m.RunID != "" && m.Step != nil
}
