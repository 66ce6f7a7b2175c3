package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// curve shows how the time of a change grows with one quantity while the others are constant.
type curve struct {
	title, axis string
	of          func(Size) bool
	x           func(Size) int
}

var growth = []curve{
	{"change, p50 ms: the table grows (100 routes a site)", "routes in the table",
		func(s Size) bool { return s.Family == "vpnv4" && s.Pool == 10 && s.each() == 100 }, func(s Size) int { return s.Routes }},
	{"change, p50 ms: sites grow (100,000 routes in all)", "routes of a site",
		func(s Size) bool { return s.Family == "vpnv4" && s.Pool == 10 && s.Routes == 100000 }, Size.each},
}

// curves draws two panels side by side, below y = top: the p50 of membership changes on logarithmic scales.
func curves(results []Result, top int) string {
	var t strings.Builder
	for n, c := range growth {
		left, bottom := 60+n*400, top+280
		x := func(v int) float64 { return float64(left) + 60*(math.Log10(float64(v))-1)*1.1 }
		if n == 0 {
			x = func(v int) float64 { return float64(left) + 60*(math.Log10(float64(v))-2.5)*1.5 }
		}
		y := func(v float64) float64 { return float64(bottom) - 44*min(max(math.Log10(v)+1, 0), 5.5) }
		fmt.Fprintf(&t, `<text x="%d" y="%d" font-size="13">%s</text>`+"\n", left, top+14, c.title)
		for e := -1.0; e <= 4; e++ {
			v := math.Pow(10, e)
			fmt.Fprintf(&t, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n",
				left, left+260, y(v), y(v), left-6, y(v)+4, v)
		}
		points := map[string][]Result{}
		var at []int
		for _, r := range results {
			if r.Error != "" || r.Made == 0 || !c.of(r.Size) {
				continue
			}
			points[r.Daemon] = append(points[r.Daemon], r)
			if v := c.x(r.Size); !slices.Contains(at, v) {
				at = append(at, v)
			}
		}
		for _, v := range at {
			fmt.Fprintf(&t, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", x(v), bottom+16, v)
		}
		fmt.Fprintf(&t, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", left+130, bottom+32, c.axis)
		for _, r := range results { // in the order of the daemons
			line := points[r.Daemon]
			if len(line) == 0 {
				continue
			}
			delete(points, r.Daemon)
			slices.SortFunc(line, func(a, b Result) int { return c.x(a.Size) - c.x(b.Size) })
			var path []string
			for _, p := range line {
				path = append(path, fmt.Sprintf("%.1f,%.1f", x(c.x(p.Size)), y(p.P50)))
				fmt.Fprintf(&t, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x(c.x(p.Size)), y(p.P50), colours[r.Daemon])
			}
			fmt.Fprintf(&t, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", strings.Join(path, " "), colours[r.Daemon])
		}
	}
	return t.String()
}
