package tenant

import (
	"sync"
	"time"
)

// MeterSpan is the minimum interval between reports of a rate, and the time without
// attempts after which it is reported as 0.
const MeterSpan = time.Second

// Meter measures the attempts per second between calls of Read.
type Meter struct {
	mu       sync.Mutex
	at       time.Time
	attempts int
	rate     float64
}

// Read returns the rate; attempts is their total number so far. A call less than half
// of MeterSpan after the previous one returns the same rate.
func (m *Meter) Read(now time.Time, attempts int) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	span := now.Sub(m.at)
	if span < MeterSpan/2 {
		return m.rate
	}
	if !m.at.IsZero() && span < 10*MeterSpan {
		m.rate = float64(max(0, attempts-m.attempts)) / span.Seconds()
	} else {
		m.rate = 0
	}
	m.at, m.attempts = now, attempts
	return m.rate
}
