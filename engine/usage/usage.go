// Package usage counts what happens in each minute, and sums it for the periods of the interface.
//
//	var u usage.Minutes
//	u.At(now).Created++
//	s, err := u.Statistics("1h", now)
//
// It does not depend on messages and runs: its caller decides what to count.
package usage

import (
	"slices"
	"time"

	"github.com/understudy-mock/understudy/engine/refusal"
)

// Counts has the counts of an interval of time.
type Counts struct {
	Requests   int64 `json:"requests"` // delivery attempts
	Bytes      int64 `json:"bytes"`    // of requests and responses of deliveries
	Created    int64 `json:"created"`  // messages, without those of workflows
	Delivered  int64 `json:"delivered"`
	Retried    int64 `json:"retried"`
	Failed     int64 `json:"failed"`
	Canceled   int64 `json:"canceled"`
	Steps      int64 `json:"steps"`   // messages of workflows
	Started    int64 `json:"started"` // runs
	Succeeded  int64 `json:"succeeded"`
	RunsFailed int64 `json:"runsFailed"`
	RunsEnded  int64 `json:"runsCanceled"` // runs that were cancelled
}

// Add adds other counts to these.
func (c *Counts) Add(d *Counts) {
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

// messages is the number of billed messages.
func (c *Counts) messages() int64 { return c.Created + c.Steps }

// Minute has the counts of one minute.
type Minute struct {
	Number int64 `saved:"at,minutes"` // minutes since 1970
	Counts
}

func compareMinute(m Minute, number int64) int { return int(m.Number - number) }

// Minutes has the minutes with at least one event, in order of time.
type Minutes []Minute

// keepMinutes is how far back statistics go: a whole month and the longest period.
const keepMinutes = 32 * 24 * 60

// At returns the minute of t and creates it if it does not exist. The pointer is valid
// until the next call.
func (u *Minutes) At(t time.Time) *Minute {
	now := t.Unix() / 60
	list := *u
	n := len(list)
	if n > 0 && list[n-1].Number == now {
		return &list[n-1]
	}
	i, found := slices.BinarySearchFunc(list, now, compareMinute)
	if found {
		return &list[i]
	}
	list = slices.Insert(list, i, Minute{Number: now})
	if len(list) > 1024 && list[len(list)/2].Number < now-keepMinutes {
		old, _ := slices.BinarySearchFunc(list, now-keepMinutes, compareMinute)
		list = slices.Clone(list[old:])
		i -= old
	}
	*u = list
	return &list[i]
}

// Period is an interval of statistics: Points points at a fixed distance ("Get usage
// statistics"; wire.md, "Usage statistics").
type Period struct {
	Name   string
	Points int
	Every  time.Duration
}

// Periods are the periods of the interface document; the first is the default.
var Periods = []Period{
	{"1h", 60, time.Minute},
	{"3h", 60, 3 * time.Minute},
	{"12h", 60, 12 * time.Minute},
	{"1d", 60, 24 * time.Minute},
	{"3d", 60, 72 * time.Minute},
	{"7d", 60, 168 * time.Minute},
	{"30d", 240, 3 * time.Hour},
}

// Point has the counts of the interval that begins at At.
type Point struct {
	At time.Time
	Counts
}

// Statistics is the usage of an account.
type Statistics struct {
	Days            []Point // all days of the current month in UTC, also future ones
	Points          []Point // of the period, oldest first; the last covers now
	DLQ             int     // entries at this moment
	PricePerMessage float64
}

// Bill is the price of the messages of a point.
func (s *Statistics) Bill(p *Point) float64 { return float64(p.messages()) * s.PricePerMessage }

// Statistics returns the usage for a period, "" for the default one. Points are aligned to
// multiples of their distance.
func (u Minutes) Statistics(period string, now time.Time) (Statistics, error) {
	i := slices.IndexFunc(Periods, func(p Period) bool { return p.Name == period || period == "" })
	if i < 0 {
		return Statistics{}, refusal.OfValue("period", period, "", "one of 1h, 3h, 12h, 1d, 3d, 7d, 30d")
	}
	p := Periods[i]
	last := now.UTC().Truncate(p.Every)
	first := last.Add(-time.Duration(p.Points-1) * p.Every)
	s := Statistics{Points: make([]Point, p.Points)}
	for i := range s.Points {
		s.Points[i].At = first.Add(time.Duration(i) * p.Every)
	}
	month := time.Date(now.UTC().Year(), now.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	for day := month; day.Month() == month.Month(); day = day.AddDate(0, 0, 1) {
		s.Days = append(s.Days, Point{At: day})
	}
	u.sum(s.Points, p.Every)
	u.sum(s.Days, 24*time.Hour)
	return s, nil
}

// sum adds each minute to the point whose interval contains it.
func (u Minutes) sum(points []Point, every time.Duration) {
	first := points[0].At.Unix() / 60
	step := int64(every / time.Minute)
	from, _ := slices.BinarySearchFunc(u, first, compareMinute)
	for k := from; k < len(u); k++ {
		i := (u[k].Number - first) / step
		if i >= int64(len(points)) {
			return
		}
		points[i].Add(&u[k].Counts)
	}
}
