package ui

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-mock/understudy/spec/route"
)

// statisticsPeriods are the periods of "Get usage statistics".
var statisticsPeriods = []string{"1h", "3h", "12h", "1d", "3d", "7d", "30d"}

// point is one value of a series, at a UTC time.
type point struct {
	At time.Time
	Y  float64
}

// series is a named line of a chart.
type series struct {
	Name   string
	Points []point
	Total  string
}

// Line reports whether the series counts no outcomes, and is drawn as a line over their bars.
func (s *series) Line() bool {
	return slices.Contains([]string{"created", "retried", "started"}, s.Name)
}

// chart is a bar chart of some series: those of outcomes are stacked, the others are lines.
type chart struct {
	Title  string
	Unit   string
	Total  string // of a single series; "" for several
	Before string // the total of the period before; "" if it is not known
	Series []series

	sums []float64 // of the intervals
	most float64   // the upper end of the axis
}

// statisticsView charts the usage of a period, and compares it with the period before, which is
// a part of the next longer period.
func statisticsView(v *visit) (any, error) {
	at := max(0, slices.Index(statisticsPeriods, v.query.Get("period")))
	u, err := v.usage(statisticsPeriods[at])
	if err != nil {
		return nil, err
	}
	charts := usageCharts(u)
	if at+1 < len(statisticsPeriods) {
		longer, err := v.usage(statisticsPeriods[at+1])
		if err != nil {
			return nil, err
		}
		for i, c := range usageCharts(longer)[:periodCharts] {
			charts[i].compare(&c)
		}
	}
	dead, err := v.tally("dlq", url.Values{})
	return doc{"period": statisticsPeriods[at], "periods": statisticsPeriods, "charts": charts, "bill": (&chart{Unit: "$"}).number(number(u["total_monthly_billing"])), "dead": dead}, err
}

func (v *visit) usage(period string) (u doc, err error) {
	return u, v.get(&u, v.as(route.GetUsageStatistics, v.account), url.Values{"period": {period}})
}

// periodCharts is how many of the charts are of the period; the others are of the month.
const periodCharts = 5

func usageCharts(u doc) []chart {
	return []chart{
		newChart("Delivery attempts", "", oneSeries("attempts", u["daily_used"])),
		newChart("Messages", "", manySeries(messageSeries(u))),
		newChart("Workflow runs", "", manySeries(u["daily_workflow_messages"])),
		newChart("Workflow messages", "", oneSeries("messages", u["daily_used_workflow"])),
		newChart("Bandwidth", "bytes", oneSeries("bytes", u["daily_bandwidth_used"])),
		newChart("Attempts a day, this month", "", oneSeries("attempts", u["daily_requests"])),
		newChart("Cost a day, this month", "$", oneSeries("cost", u["daily_billings"])),
	}
}

// messageSeries finds the series of messages: the name of this field depends on the brand.
func messageSeries(u doc) any {
	for name, v := range u {
		if strings.HasPrefix(name, "daily_") && strings.HasSuffix(name, "_messages") && !strings.Contains(name, "workflow") {
			return v
		}
	}
	return nil
}

func oneSeries(name string, v any) []series { return []series{{Name: name, Points: pointsOf(v)}} }

// manySeries reads a list of series from a response of the interface.
func manySeries(v any) (out []series) {
	for _, d := range asList(v) {
		out = append(out, series{Name: text(d["id"]), Points: pointsOf(d["data_points"])})
	}
	return out
}

func pointsOf(v any) (out []point) {
	for _, d := range asList(v) {
		at, _ := time.Parse("2006-01-02 15:04:05.000000000 +0000 UTC", text(d["x"]))
		y, _ := d["y"].(float64)
		out = append(out, point{at, y})
	}
	return out
}

// newChart computes the totals and the axis. Only a chart with one series has a total, because
// totals of different things must not be added.
func newChart(title, unit string, list []series) chart {
	c := chart{Title: title, Unit: unit, Series: list}
	for i := range c.Series {
		sum := 0.0
		for j, p := range c.Series[i].Points {
			if sum += p.Y; j >= len(c.sums) {
				c.sums = append(c.sums, 0)
			}
			if !c.Series[i].Line() {
				c.sums[j] += p.Y
			}
			c.most = max(c.most, c.sums[j], p.Y)
		}
		c.Series[i].Total = c.number(sum)
	}
	if len(c.Series) == 1 {
		c.Total = c.Series[0].Total
	}
	if step := math.Pow(10, math.Floor(math.Log10(max(c.most, 1e-9)))); c.Unit == "" && c.most > 0 { // the next 1, 2 or 5
		for _, n := range []float64{1, 2, 5, 10} {
			if n*step >= c.most {
				c.most = n * step
				break
			}
		}
	}
	return c
}

// compare adds the total of the period before, from the chart of a longer period. Its intervals are longer too: the last
// of them may end in the shown period, whose part of it does not count.
func (c *chart) compare(longer *chart) {
	if len(c.Series) != 1 {
		return
	}
	points, all := c.Series[0].Points, longer.Series[0].Points
	begin, every, sum := points[0].At, all[1].At.Sub(all[0].At), 0.0
	earliest := begin.Add(time.Duration(len(points)) * begin.Sub(points[1].At))
	for _, p := range all {
		if p.At.Before(begin) && !p.At.Before(earliest) {
			sum += p.Y
		}
	}
	for _, p := range points {
		if p.At.Before(begin.Add(-1).Truncate(every).Add(every)) {
			sum -= p.Y
		}
	}
	c.Before = c.number(sum)
}

func (c *chart) number(n float64) string {
	switch c.Unit {
	case "bytes":
		return SizeText(n)
	case "$":
		return "$" + strconv.FormatFloat(n, 'f', -1, 32)
	}
	return groupedNumber(n)
}

// InWords describes the chart for screen readers.
func (c *chart) InWords() string {
	parts := []string{}
	for _, s := range c.Series {
		parts = append(parts, s.Name+" "+s.Total)
	}
	return fmt.Sprintf("%s: %s; at most %s at once", c.Title, strings.Join(parts, ", "), c.number(slices.Max(append(c.sums, 0))))
}

// mark is a value or a time on an axis, in per cent of it.
type mark struct {
	Place   float64
	Text    string
	Instant int64 // Unix ms
}

// Values are the marks of the vertical axis, from above.
func (c *chart) Values() (list []mark) {
	if c.most == 0 {
		return []mark{{Place: 100, Text: "0"}}
	}
	return []mark{{0, c.number(c.most), 0}, {50, c.number(c.most / 2), 0}, {100, "0", 0}}
}

// Times are the marks of the horizontal axis: the first, one in the middle, and the last.
func (c *chart) Times() (list []mark) {
	if len(c.sums) < 3 {
		return nil
	}
	points := c.Series[0].Points
	for _, i := range []int{0, len(points) / 2, len(points) - 1} {
		list = append(list, mark{Text: points[i].At.Format("2 Jan 15:04"), Instant: points[i].At.UnixMilli()})
	}
	return list
}

// bar is a value in the chart, in per cent.
type bar struct {
	X, Y, Width, Height float64
	Tone, Text          string
}

// Bars stacks the series of each interval. A bar without height, over the whole interval, has the values as its text.
func (c *chart) Bars() (list []bar) {
	width := 100 / float64(max(1, len(c.sums)))
	for i := range c.sums {
		y, words := 100.0, []string{}
		for _, s := range c.Series {
			if i >= len(s.Points) || s.Points[i].Y <= 0 {
				continue
			}
			words = append(words, c.number(s.Points[i].Y)+" "+s.Name)
			h := 100 * s.Points[i].Y / c.most
			tone := "one"
			if len(c.Series) > 1 {
				tone = stateTone(s.Name)
			}
			if s.Line() {
				list = append(list, bar{float64(i) * width, 100 - h, width, 1.6, tone + " line", ""})
				continue
			}
			y -= h
			list = append(list, bar{float64(i) * width, y, width * 0.86, h, tone, ""})
		}
		if len(words) > 0 {
			list = append(list, bar{float64(i) * width, 0, width, 100, "over", c.Series[0].Points[i].At.Format("2 Jan 15:04") + ": " + strings.Join(words, ", ")})
		}
	}
	return list
}
