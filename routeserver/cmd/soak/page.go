package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const intro = `# The route server under churn

Made by ` + "`make soak`" + ` (%s; %s):
one route server and %d emulated PEs over loopback, for %g minutes. PEs of three families (VPNv4, EVPN, VPLS), half of
them with graceful restart, in pools of %d at first; up to %d routes each. About %.0f times a second something happens,
at random:

`

const method = `
All the time besides: one PE asks for everything twenty times and then takes nothing for 20 s; one sends garbage (noise,
lengths that do not add up, half messages, malformed attributes) and loses its session, up to once a second; one is hostile
within the protocol's rules: it announces routes with 3,000 bytes of communities each, asks for everything 4,000 times and
reads none of it, announces and withdraws a route 500 times, withdraws 12,800 routes that it never had, and opens and ends
20 sessions, in turn. A PE of ill will in a whole region is [siege.md](siege.md)'s.

Checked: every announcement that a PE gets, for its pool and for the route target, which has to be the PE's own (%d
announcements); no session ends that should not; and once a minute, when everything has settled, that every PE holds exactly
what it ought to hold, also by the route server's own account (%d times).

Measured once a second: resident memory, what the last garbage collection found alive, goroutines, file descriptors, CPU.
Flat means: the line that fits best grows by no more than the bound from the middle of the run to its end.

| | mean, second half | peak | growth in the second half | bound | |
| --- | --: | --: | --: | --: | --- |
`

// publish writes the page and, beside it, the plot.
func (r *Result) publish(page string) error {
	var t strings.Builder
	all := 0
	for _, n := range r.Done {
		all += n
	}
	fmt.Fprintf(&t, intro, r.Machine, r.Started.Format("2006-01-02"), r.PEs, r.Minutes, r.Pool, r.Routes, float64(all)/r.Minutes/60)
	for _, name := range slices.Sorted(maps.Keys(r.Done)) {
		fmt.Fprintf(&t, "- %s: %d times\n", name, r.Done[name])
	}
	fmt.Fprintf(&t, method, r.Checked, r.Audits)
	for _, m := range r.Measures {
		fmt.Fprintf(&t, "| %s%s | %.1f | %.1f | %+.2f | %.2f | %s |\n", m.Name, m.unit(), m.Mean, m.Peak, m.Growth, m.Bound, map[bool]string{true: "flat", false: "**not flat**"}[m.OK])
	}
	var loads, cpu []float64
	for _, s := range r.Samples {
		loads, cpu = append(loads, s.Load), append(cpu, s.CPU)
	}
	slices.Sort(loads)
	slices.Sort(cpu)
	if n := len(loads); n > 0 {
		fmt.Fprintf(&t, "\nThe route server took %.1f %% of a core in the median. The machine's load average was %.1f in the median and %.1f at most:\n"+
			"what is above the route server and its PEs is other work on the same cores.\n", cpu[n/2], loads[n/2], loads[n-1])
	}
	if !r.OK {
		fmt.Fprintf(&t, "\n**Failed.** %s\n", r.Failure)
	}
	base := strings.TrimSuffix(page, filepath.Ext(page))
	fmt.Fprintf(&t, "\n![Memory, goroutines, descriptors and CPU over time](%s.svg)\n", filepath.Base(base))
	if err := os.WriteFile(page, []byte(t.String()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(base+".svg", []byte(r.plot()), 0o644)
}

func (m Measure) unit() string {
	if m.Unit == "" {
		return ""
	}
	return ", " + m.Unit
}

type curve struct {
	name, colour string
	of           func(Sample) float64
}

var panels = []struct {
	title  string
	curves []curve
}{
	{"memory, MB", []curve{{"resident", "#0072b2", func(s Sample) float64 { return s.RSS }}, {"live heap", "#d55e00", func(s Sample) float64 { return s.Heap }}}},
	{"number", []curve{{"goroutines", "#009e73", func(s Sample) float64 { return s.Goroutines }}, {"file descriptors", "#cc79a7", func(s Sample) float64 { return s.Descriptors }}}},
	{"CPU, % of a core", []curve{{"route server", "#0072b2", func(s Sample) float64 { return s.CPU }}}},
	{"load average of the machine", []curve{{"load", "#999999", func(s Sample) float64 { return s.Load }}}},
}

// plot draws a panel over time for each kind of measure.
func (r *Result) plot() string {
	const left, width, height, gap = 60, 720, 130, 60
	var t strings.Builder
	fmt.Fprintf(&t, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+
		`<rect width="100%%" height="100%%" fill="white"/>`+"\n", left+width+20, len(panels)*(height+gap)+30)
	end := 1.0
	if n := len(r.Samples); n > 0 {
		end = r.Samples[n-1].At
	}
	for i, p := range panels {
		bottom, top := gap-20+height+i*(height+gap), 0.0
		for _, c := range p.curves {
			for _, s := range r.Samples {
				top = max(top, c.of(s))
			}
		}
		step := nice(top / 4)
		top = max(step*4, top)
		y := func(v float64) float64 { return float64(bottom) - v/top*height }
		fmt.Fprintf(&t, `<text x="%d" y="%d" font-size="13">%s</text>`+"\n", left, bottom-height-10, p.title)
		for v := 0.0; v <= top; v += step {
			fmt.Fprintf(&t, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n",
				left, left+width, y(v), y(v), left-6, y(v)+4, v)
		}
		for n, c := range p.curves {
			fmt.Fprintf(&t, `<rect x="%d" y="%d" width="10" height="10" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n",
				left+220+n*130, bottom-height-20, c.colour, left+234+n*130, bottom-height-11, c.name)
			fmt.Fprintf(&t, `<polyline fill="none" stroke="%s" points="`, c.colour)
			each := max(len(r.Samples)/width, 1) // a point per pixel: the mean
			for k := 0; k+each <= len(r.Samples); k += each {
				mean := 0.0
				for _, s := range r.Samples[k : k+each] {
					mean += c.of(s) / float64(each)
				}
				fmt.Fprintf(&t, "%.1f,%.1f ", left+r.Samples[k].At/end*width, y(mean))
			}
			t.WriteString(`"/>` + "\n")
		}
	}
	bottom := gap - 20 + height + (len(panels)-1)*(height+gap)
	for minute := 0.0; minute*60 <= end+1; minute += nice(end / 60 / 6) {
		fmt.Fprintf(&t, `<text x="%.1f" y="%d" text-anchor="middle">%g</text>`+"\n", left+minute*60/end*width, bottom+16, minute)
	}
	fmt.Fprintf(&t, `<text x="%d" y="%d" text-anchor="middle">minutes</text></svg>`+"\n", left+width/2, bottom+34)
	return t.String()
}

// nice returns the next number from v upwards that begins with 1, 2 or 5.
func nice(v float64) float64 {
	for unit := 0.1; ; unit *= 10 {
		for _, n := range []float64{1, 2, 5} {
			if unit*n >= v {
				return unit * n
			}
		}
	}
}
