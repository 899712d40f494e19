package engine

import "github.com/understudy-mock/understudy/engine/usage"

// countUsage counts an event: the log is the only source of the statistics.
func (a *Account) countUsage(e *event) {
	m := a.usage.At(a.now)
	if e.detail != nil && e.out != nil && (e.state == string(Delivered) || e.state == string(Errored)) {
		m.Bytes += int64(e.out.BytesUp + e.out.BytesIn)
	}
	if e.state == string(Active) {
		m.Requests++
	}
	if e.run == nil {
		switch MessageState(e.state) {
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
	switch e.state {
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

// Usage computes the statistics of a period, "" for the default one.
func (a *Account) Usage(period string) (usage.Statistics, error) {
	a.lock()
	defer a.unlock()
	s, err := a.usage.Statistics(period, a.now)
	if err != nil {
		return s, err
	}
	s.DLQ, s.PricePerMessage = a.dlq.len(), a.cfg.PricePerMessage
	return s, nil
}
