package engine

import (
	"github.com/understudy-mock/understudy/engine/internal/state"
	"github.com/understudy-mock/understudy/engine/usage"
)

// countUsage counts an event: the log is the only source of the statistics.
func (a *Account) countUsage(e *state.LogEntry) {
	if e.State == string(Errored) && a.moving != nil {
		a.moving.Failed++
	}
	m := a.state.Usage.At(a.state.Now)
	if e.LogDetail != nil && e.Outcome != nil && (e.State == string(Delivered) || e.State == string(Errored)) {
		m.Bytes += int64(e.Outcome.BytesUp + e.Outcome.BytesIn)
	}
	if e.State == string(Active) {
		m.Requests++
	}
	if e.Run == nil {
		switch MessageState(e.State) {
		case Created:
			m.Created++
		case Delivered:
			m.Delivered++
		case Retry:
			m.Retried++
		case Failed:
			m.Failed++
		case Canceled:
			m.Canceled++
		}
		return
	}
	switch e.State {
	case string(Created):
		m.Steps++
	case string(RunStarted):
		m.Started++
	case string(RunSuccess):
		m.Succeeded++
	case string(RunFailed):
		m.RunsFailed++
	case string(RunCanceled):
		m.RunsEnded++
	}
}

// Usage returns the statistics of a period; "" means the default one. An
// unknown period is an error.
func (a *Account) Usage(period string) (usage.Statistics, error) {
	a.lock()
	defer a.unlock()
	s, err := a.state.Usage.Statistics(period, a.state.Now)
	if err != nil {
		return s, err
	}
	s.DLQ, s.PricePerMessage = a.state.DLQ.Len(), a.cfg.PricePerMessage
	return s, nil
}
