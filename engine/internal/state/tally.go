package state

// Tally counts messages and runs by their current state, including ended ones, since the
// account was created or reset.
type Tally struct {
	Messages map[MessageState]int
	Runs     map[RunState]int
}

func newTally() Tally {
	return Tally{Messages: map[MessageState]int{}, Runs: map[RunState]int{}}
}

// Message counts the transition of a message.
func (t *Tally) Message(from, to MessageState) {
	if from != "" {
		t.Messages[from]--
	}
	t.Messages[to]++
}

// Run counts a run-level event. States that are only events count nothing.
func (t *Tally) Run(to RunState) {
	switch to {
	case RunStarted:
		t.Runs[to]++
	case RunSuccess, RunFailed, RunCanceled:
		t.Runs[RunStarted]--
		t.Runs[to]++
	}
}

// Recount computes the tally again after a snapshot was loaded.
func (s *State) Recount() {
	s.Tally = newTally()
	seen := map[*Message]bool{}
	for _, e := range s.Log.Created {
		if !seen[e.Message] {
			seen[e.Message] = true
			s.Tally.Messages[e.Message.State]++
		}
	}
	for _, m := range s.Messages {
		if !seen[m] {
			s.Tally.Messages[m.State]++
		}
	}
	for r := range s.RunList.Newest(NewestPosition) {
		s.Tally.Runs[r.State]++
	}
}
