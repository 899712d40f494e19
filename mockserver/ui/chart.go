package ui

import (
	"fmt"
	"html/template"
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
	X string
	Y float64
}

// series is a named line of a chart.
type series struct {
	Name   string
	Points []point
	Total  string
}

// chart is a bar chart of some series.
type chart struct {
	Title  string
	Unit   string
	Total  string // of a single series; "" for several
	Series []series
}

// statisticsView charts the usage of a period.
func statisticsView(v *visit) (any, error) {
	period := v.query.Get("period")
	if !slices.Contains(statisticsPeriods, period) {
		period = statisticsPeriods[0]
	}
	var u map[string]any
	if err := v.get(&u, v.as(route.GetUsageStatistics, v.account), url.Values{"period": {period}}); err != nil {
		return nil, err
	}
	charts := []chart{
		newChart("Delivery attempts", "", oneSeries("attempts", u["daily_used"])),
		newChart("Messages", "", manySeries(messageSeries(u))),
		newChart("Workflow runs", "", manySeries(u["daily_workflow_messages"])),
		newChart("Workflow messages", "", oneSeries("messages", u["daily_used_workflow"])),
		newChart("Bandwidth", "bytes", oneSeries("bytes", u["daily_bandwidth_used"])),
		newChart("Attempts a day, this month", "", oneSeries("attempts", u["daily_requests"])),
		newChart("Cost a day, this month", "$", oneSeries("cost", u["daily_billings"])),
	}
	return doc{"period": period, "periods": statisticsPeriods, "charts": charts, "dlq": u["dlq_message_count"], "bill": u["total_monthly_billing"]}, nil
}

// messageSeries finds the series of messages: the name of this field depends on the brand.
func messageSeries(u map[string]any) any {
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
	list, _ := v.([]any)
	for _, one := range list {
		d, _ := one.(doc)
		name, _ := d["id"].(string)
		out = append(out, series{Name: name, Points: pointsOf(d["data_points"])})
	}
	return out
}

func pointsOf(v any) (out []point) {
	list, _ := v.([]any)
	for _, one := range list {
		d, _ := one.(doc)
		x, _ := d["x"].(string)
		y, _ := d["y"].(float64)
		out = append(out, point{x, y})
	}
	return out
}

// newChart computes the totals of the series. Only a chart with one series has a total,
// because totals of different things must not be added.
func newChart(title, unit string, list []series) chart {
	c := chart{Title: title, Unit: unit, Series: list}
	for i := range c.Series {
		sum := 0.0
		for _, p := range c.Series[i].Points {
			sum += p.Y
		}
		c.Series[i].Total = c.number(sum)
	}
	if len(c.Series) == 1 {
		c.Total = c.Series[0].Total
	}
	return c
}

func (c *chart) number(n float64) string {
	switch c.Unit {
	case "bytes":
		return sizeText(n)
	case "$":
		return "$" + strconv.FormatFloat(n, 'f', -1, 32)
	}
	return groupedNumber(n)
}

// Heights in a chart, in pixels. Its width is that of its card, and positions are in percent,
// so that texts have the same size in each.
const (
	chartHeight = 130
	chartFoot   = 18
	chartHead   = 16
)

// Draw draws bars; those of several series are stacked.
func (c chart) Draw() template.HTML {
	d := drawing{}
	n := 0
	for _, s := range c.Series {
		n = max(n, len(s.Points))
	}
	sums := make([]float64, n)
	for _, s := range c.Series {
		for i, p := range s.Points {
			sums[i] += p.Y
		}
	}
	most := 0.0
	if n > 0 {
		most = slices.Max(sums)
	}
	d.printf(`<svg class="chart" height="%d" role="img" aria-label="%s">`, chartHeight, escapeHTML(c.inWords(most)))
	base := chartHeight - chartFoot
	d.printf(`<line class="grid" x1="0" x2="100%%" y1="%d" y2="%d"/>`, base, base)
	if most > 0 {
		d.printf(`<line class="grid" x1="0" x2="100%%" y1="%d" y2="%d"/><text class="axis" y="%d">%s</text>`, chartHead, chartHead, chartHead-4, escapeHTML(c.number(most)))
		c.bars(&d, n, most)
	}
	if n > 0 {
		x := c.Series[0].Points
		d.printf(`<text class="axis" y="%d"%s</text><text class="axis end" x="100%%" y="%d"%s</text>`, chartHeight-5, labelledTime(x[0].X), chartHeight-5, labelledTime(x[len(x)-1].X))
	}
	return d.close()
}

// tone is the colour of a series: the colour of its state if there are several series.
func (c *chart) tone(name string) string {
	if len(c.Series) == 1 {
		return "one"
	}
	return stateTone(name)
}

// inWords describes the chart for screen readers.
func (c *chart) inWords(most float64) string {
	parts := []string{}
	for _, s := range c.Series {
		parts = append(parts, s.Name+" "+s.Total)
	}
	return fmt.Sprintf("%s: %s; at most %s at once", c.Title, strings.Join(parts, ", "), c.number(most))
}

// bars stacks the series of each interval.
func (c *chart) bars(d *drawing, n int, most float64) {
	width := 100 / float64(n)
	height := float64(chartHeight - chartFoot - chartHead)
	for i := range n {
		y := float64(chartHeight - chartFoot)
		for _, s := range c.Series {
			if i >= len(s.Points) || s.Points[i].Y <= 0 {
				continue
			}
			h := height * s.Points[i].Y / most
			y -= h
			d.printf(`<rect class="series %s" x="%.3f%%" y="%.2f" width="%.3f%%" height="%.2f"><title>%s</title></rect>`,
				c.tone(s.Name), float64(i)*width, y, width*0.9, h, escapeHTML(shortTime(s.Points[i].X)+": "+c.number(s.Points[i].Y)+" "+s.Name))
		}
	}
}

// statisticsTime parses a time of the statistics.
func statisticsTime(x string) (time.Time, error) {
	return time.Parse("2006-01-02 15:04:05.000000000 +0000 UTC", x)
}

// shortTime is a short form of a time of the statistics.
func shortTime(x string) string {
	t, err := statisticsTime(x)
	if err != nil {
		return x
	}
	return t.Format("2 Jan 15:04")
}

// labelledTime is the rest of a tag and its text: a time that the script converts to the
// chosen time zone.
func labelledTime(x string) string {
	t, err := statisticsTime(x)
	if err != nil {
		return ">" + escapeHTML(x)
	}
	return fmt.Sprintf(` data-instant="%d">%s`, t.UnixMilli(), shortTime(x))
}
