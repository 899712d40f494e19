package main

import (
	"fmt"
	"math"
	"strings"
)

// growthColors are distinct on light and on dark pages. In the order of growthOperations.
var growthColors = []string{"#4e79a7", "#e15759", "#f28e2b", "#76b7b2", "#59a14f", "#b07aa1"}

// growthPlot is an SVG: time over messages held, both logarithmic.
func growthPlot(sizes []int, medians map[string][]float64) string {
	const (
		width, height         = 720, 400
		left, right, top, low = 70, 110, 30, 50
		decades               = 5 // of time, from 10 µs
		first                 = 10.0
	)
	x := func(n int) float64 {
		from, to := math.Log10(float64(sizes[0])), math.Log10(float64(sizes[len(sizes)-1]))
		return left + (math.Log10(float64(n))-from)/max(to-from, 1)*(width-left-right)
	}
	y := func(µs float64) float64 {
		return height - low - min(max(math.Log10(µs/first), 0), decades)/decades*(height-top-low)
	}
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img">`+"\n"+
		"<title>Time of an operation over the number of messages held</title>\n", width, height)
	for k, label := range []string{"10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"} {
		at := y(first * math.Pow10(k))
		fmt.Fprintf(&svg, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#888" stroke-opacity="0.3"/><text x="%d" y="%.1f" text-anchor="end" fill="#888">%s</text>`+"\n",
			left, width-right, at, at, left-8, at+4, label)
	}
	for _, n := range sizes {
		fmt.Fprintf(&svg, `<text x="%.1f" y="%d" text-anchor="middle" fill="#888">%d</text>`+"\n", x(n), height-low+20, n)
	}
	fmt.Fprintf(&svg, `<text x="%d" y="%d" text-anchor="middle" fill="#888">messages held</text>`+"\n", (left+width-right)/2, height-10)
	for i, o := range growthOperations {
		var points []string
		for k, value := range medians[o.name] {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(sizes[k]), y(value)))
		}
		fmt.Fprintf(&svg, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/><text x="%d" y="%d" fill="%s">%s</text>`+"\n",
			strings.Join(points, " "), growthColors[i], width-right+12, top+16*(i+1), growthColors[i], o.name)
	}
	return svg.String() + "</svg>\n"
}
