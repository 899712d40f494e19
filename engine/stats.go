package engine

import (
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Counts are what is counted of one span of time.
type Counts struct {
	Requests   int64 // delivery attempts
	Bytes      int64 // of deliveries, requests and responses
	Created    int64 // messages, without those of workflows
	Delivered  int64
	Retried    int64
	Failed     int64
	Canceled   int64
	Steps      int64 // messages of workflows
	Started    int64 // runs
	Succeeded  int64
	RunsFailed int64
	RunsEnded  int64 // by cancelling
}

func (c *Counts) add(d *Counts) {
	c.Requests += d.Requests
	c.Bytes += d.Bytes
	c.Created += d.Created
	c.Delivered += d.Delivered
	c.Retried += d.Retried
	c.Failed += d.Failed
	c.Canceled += d.Canceled
	c.Steps += d.Steps
	c.Started += d.Started
	c.Succeeded += d.Succeeded
	c.RunsFailed += d.RunsFailed
	c.RunsEnded += d.RunsEnded
}

// messages is how many messages are billed.
func (c *Counts) messages() int64 { return c.Created + c.Steps }

// minute counts one minute.
type minute struct {
	at int64 // minutes since 1970
	Counts
}

// usage keeps a minute only if something happened in it, in order of time.
type usage struct {
	minutes []minute
}

// keepMinutes is how far back statistics reach: a whole month and the longest
// period.
const keepMinutes = 32 * 24 * 60

// at finds or makes the minute of t.
func (u *usage) at(t time.Time) *minute {
	now := t.Unix() / 60
	n := len(u.minutes)
	if n > 0 && u.minutes[n-1].at == now {
		return &u.minutes[n-1]
	}
	i, found := slices.BinarySearchFunc(u.minutes, now, func(m minute, at int64) int { return int(m.at - at) })
	if found {
		return &u.minutes[i]
	}
	u.minutes = slices.Insert(u.minutes, i, minute{at: now})
	if len(u.minutes) > 1024 && u.minutes[len(u.minutes)/2].at < now-keepMinutes {
		old, _ := slices.BinarySearchFunc(u.minutes, now-keepMinutes, func(m minute, at int64) int { return int(m.at - at) })
		u.minutes = slices.Clone(u.minutes[old:])
		i -= old
	}
	return &u.minutes[i]
}

// record counts an event: the log is the only source of the statistics.
func (u *usage) record(now time.Time, e *event) {
	m := u.at(now)
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

// Period is a span of statistics: so many points at so much distance
// ("Get usage statistics"; wire.md, "Usage statistics").
type Period struct {
	Name   string
	Points int
	Every  time.Duration
}

// Periods are those of the document; the first is the default.
var Periods = []Period{
	{"1h", 60, time.Minute},
	{"3h", 60, 3 * time.Minute},
	{"12h", 60, 12 * time.Minute},
	{"1d", 60, 24 * time.Minute},
	{"3d", 60, 72 * time.Minute},
	{"7d", 60, 168 * time.Minute},
	{"30d", 240, 3 * time.Hour},
}

// Point is what was counted in the span that begins at At.
type Point struct {
	At time.Time
	Counts
}

// Usage is the statistics of an account.
type Usage struct {
	Days            []Point // of the current month, UTC, days to come included
	Points          []Point // of the period, oldest first; the last covers now
	DLQ             int     // entries at this moment
	PricePerMessage float64
}

// Bill is what the messages of a point cost.
func (u *Usage) Bill(p *Point) float64 { return float64(p.messages()) * u.PricePerMessage }

// Usage computes the statistics of a period, "" for the default one. Points
// are aligned to multiples of their distance.
func (a *Account) Usage(period string) (Usage, error) {
	a.lock()
	defer a.unlock()
	i := slices.IndexFunc(Periods, func(p Period) bool { return p.Name == period || period == "" })
	if i < 0 {
		return Usage{}, refusal.OfValue("period", period, "", "one of 1h, 3h, 12h, 1d, 3d, 7d, 30d")
	}
	p := Periods[i]
	last := a.now.UTC().Truncate(p.Every)
	first := last.Add(-time.Duration(p.Points-1) * p.Every)
	u := Usage{DLQ: a.dlq.len(), PricePerMessage: a.cfg.PricePerMessage, Points: make([]Point, p.Points)}
	for i := range u.Points {
		u.Points[i].At = first.Add(time.Duration(i) * p.Every)
	}
	month := time.Date(a.now.UTC().Year(), a.now.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	for day := month; day.Month() == month.Month(); day = day.AddDate(0, 0, 1) {
		u.Days = append(u.Days, Point{At: day})
	}
	a.usage.sum(u.Points, p.Every)
	a.usage.sum(u.Days, 24*time.Hour)
	return u, nil
}

// sum adds each minute to the point that it falls into.
func (u *usage) sum(points []Point, every time.Duration) {
	first := points[0].At.Unix() / 60
	step := int64(every / time.Minute)
	from, _ := slices.BinarySearchFunc(u.minutes, first, func(m minute, at int64) int { return int(m.at - at) })
	for k := from; k < len(u.minutes); k++ {
		i := (u.minutes[k].at - first) / step
		if i >= int64(len(points)) {
			return
		}
		points[i].add(&u.minutes[k].Counts)
	}
}
