package tenant

import (
	"sync"
	"time"
)

// MeterSpan is how often a rate is told at most, and after how long without
// attempts it is told to be nothing.
const MeterSpan = time.Second

// Meter measures attempts per second between the times that it is asked.
type Meter struct {
	mu       sync.Mutex
	at       time.Time
	attempts int
	rate     float64
}

// Read is the rate; a span shorter than half of MeterSpan tells nothing new.
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
