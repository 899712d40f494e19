package engine

// Role says what a message is for. What follows from it is its row in conducts;
// nothing else in this package compares roles.
type Role string

// The roles of a message.
const (
	RoleMessage         Role = "message"
	RoleCallback        Role = "callback"
	RoleFailureCallback Role = "failureCallback"
	RoleStep            Role = "step" // a call to a workflow endpoint
	RoleCall            Role = "call" // a third-party call of a workflow step
)

// conduct is what a role does beyond being delivered.
type conduct struct {
	carriesSteps  bool // to the endpoint of its run: it ends with the run, and the run fails with it
	callsOut      bool // for a step: the run sees its last answer alone
	bringsAnswer  bool // of a third party to the endpoint, where it belongs to a run: that fails with it
	reportsFailed bool // to the failure callback: its DLQ entry learns of the end; it is no part of a run
}

// roleConducts is sorted by role. It is asked several times for each message, and a
// walk through five rows takes less time than a map.
var roleConducts = []struct {
	role Role
	conduct
}{
	{RoleCall, conduct{callsOut: true}},
	{RoleCallback, conduct{bringsAnswer: true}},
	{RoleFailureCallback, conduct{reportsFailed: true}},
	{RoleMessage, conduct{}},
	{RoleStep, conduct{carriesSteps: true}},
}

func (r Role) does() conduct {
	for i := range roleConducts {
		if roleConducts[i].role == r {
			return roleConducts[i].conduct
		}
	}
	return conduct{}
}

// decidesRun reports whether the run of the message fails with it.
func (m *Message) decidesRun() bool { return m.Role.does().carriesSteps || m.bearsAnswer() }

// bearsAnswer reports whether the message brings the answer of a third-party
// call to the endpoint: if it cannot be delivered, the run cannot go on.
func (m *Message) bearsAnswer() bool {
	return m.Role.does().bringsAnswer && m.RunID != "" && m.step != nil
}
