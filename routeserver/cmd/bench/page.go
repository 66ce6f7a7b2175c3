package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const intro = `# Route servers side by side

Made by ` + "`make bench-routeserver`" + ` (%s; %s). All do the same job: every site announces its
routes under its own route target, and each PE may hold the routes of its own pool only. The same emulated PEs (loopback, a
namespace per daemon and size) count for all, and check the route target and the pool of every announcement that they get;
at the end everything is counted again. A daemon that sends one wrong route has failed; one that fails is tried once more.
Sizes are PEs / routes in all / members of a pool, VPNv4 if no family is named; a daemon is left out where it lacks it.

- *convergence*: all PEs announce at once, until the last PE has the last route. *× bare sender*: against a program that
  hears the same announcements and then writes the finished UPDATEs.
- *change*: a site moves from one pool to another, from the start of the call until the last PE has the last announcement
  and the last withdrawal. With fewer than 100 changes the p99 is the slowest. *× weft*: against Weft's route server.
- *withdrawal*: a site withdraws all it has. *flap*: a session ends until its routes are gone; and from the first attempt
  to connect until all is as before (timers of the daemon included).
- *peak*: VmHWM. *CPU*: user and system time, start to end.

How each is driven, after trying what there was to choose from:

- Weft over its control API; every change is on its disk (fsync) before it is sent.
- BIRD: import filters mark routes with their pool, export filters take the pool's and replace the route target. ` + "`configure`" + `
  reloads the one PE whose two filters change, and is followed by ` + "`show status`" + ` to keep BIRD from sleeping. Functions and a
  template keep the configuration short, since BIRD reads and compares all of it at each change.
- FRR: the same with route maps, one per pool, so that PEs share update groups (a map per PE would make it work for each);
  its PEs see the route targets of their whole pool. Edits are one transaction of the northbound, the maps of one PE are
  exchanged. A work queue's hold of 50 ms and a delay of as much before policy is applied are fixed in FRR.
- gobgpd in three ways. *gobgp*: an import policy puts the pool's route targets in place, RT-Constrain distributes, soft reset in.
  *gobgp-reorigin*: a program beside it originates every route anew with the pool's route targets. *gobgp-export*: a
  statement per PE for exports, up to 100 PEs. (The other two are measured with pools of up to 100 members: a change
  touches the routes of all of them, for each PE.) (Its VPLS routes do not reach a PE that asks for them by RT-Constrain later:
  "never". For five seconds after a session it takes no new one.)

Acknowledgements on loopback are not delayed, for the sake of those with Nagle on. The figures are of one run%s. While other
work shares the cores, single stalls decide a p99 or a convergence of a few milliseconds; compare sizes and repeat the run.

![Convergence and change](routeserver.svg)

`

// publish writes the table and, beside it, the plot.
func publish(page string, f Figures) error {
	results, load := f.Results, ""
	if f.Load != "" {
		load = fmt.Sprintf(" (load average before it: %s)", f.Load)
	}
	text := fmt.Sprintf(intro, f.Machine, time.Now().UTC().Format("2006-01-02"), load)
	seen := map[string]bool{}
	for _, r := range results {
		if r.Version != "" && !seen[r.Daemon] {
			seen[r.Daemon] = true
			text += fmt.Sprintf("- %s: %s\n", r.Daemon, r.Version)
		}
	}
	if err := os.WriteFile(page, []byte(text+"\n"+table(results)), 0o644); err != nil {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(page, filepath.Ext(page))+".svg", []byte(plot(results)), 0o644)
}

var colours = map[string]string{"bare": "#999999", "weft": "#0072b2", "bird": "#d55e00", "frr": "#009e73", "gobgp": "#cc79a7", "gobgp-export": "#e69f00", "gobgp-reorigin": "#56b4e9"}

// plot draws two panels of bars on logarithmic scales, with a group per size.
func plot(results []Result) string {
	var sizes, daemons []string
	for _, r := range results {
		if s := r.Size.String(); !slices.Contains(sizes, s) {
			sizes = append(sizes, s)
		}
		if !slices.Contains(daemons, r.Daemon) {
			daemons = append(daemons, r.Daemon)
		}
	}
	group := 14*len(daemons) + 24
	width := 80 + max(group*len(sizes), 720)
	var t strings.Builder
	fmt.Fprintf(&t, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="1060" font-family="sans-serif" font-size="11">`+
		`<rect width="100%%" height="100%%" fill="white"/>`+"\n", width)
	for i, d := range daemons {
		fmt.Fprintf(&t, `<rect x="%d" y="8" width="10" height="10" fill="%s"/><text x="%d" y="17">%s</text>`+"\n", 60+i*105, colours[d], 74+i*105, d)
	}
	panels := []struct {
		title string
		of    func(Result) float64
	}{
		{"initial convergence, ms", func(r Result) float64 { return r.Converged }},
		{"membership change, p50, ms", func(r Result) float64 { return r.P50 }},
	}
	for n, panel := range panels {
		bottom, low, decades := 330+n*330, -1.0, 6.0
		y := func(v float64) float64 {
			return float64(bottom) - 260*min(max((math.Log10(v)-low)/decades, 0), 1)
		}
		fmt.Fprintf(&t, `<text x="60" y="%d" font-size="13">%s</text>`+"\n", bottom-275, panel.title)
		for e := low; e <= low+decades; e++ {
			v := math.Pow(10, e)
			fmt.Fprintf(&t, `<line x1="60" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="54" y="%.1f" text-anchor="end">%g</text>`+"\n",
				width-10, y(v), y(v), y(v)+4, v)
		}
		for i, s := range sizes {
			fmt.Fprintf(&t, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", 68+i*group+7*len(daemons), bottom+16, s)
		}
		for _, r := range results {
			x := 68 + slices.Index(sizes, r.Size.String())*group + 14*slices.Index(daemons, r.Daemon)
			if r.Error != "" {
				fmt.Fprintf(&t, `<text x="%d" y="%d" fill="%s">×</text>`+"\n", x+3, bottom-2, colours[r.Daemon])
			} else if v := panel.of(r); v > 0 {
				fmt.Fprintf(&t, `<rect x="%d" y="%.1f" width="12" height="%.1f" fill="%s"/>`+"\n", x, y(v), float64(bottom)-y(v), colours[r.Daemon])
			}
		}
	}
	fmt.Fprintf(&t, `<text x="60" y="700">PEs / routes / members of a pool; × failed</text>`+"\n")
	t.WriteString(curves(results, 720))
	t.WriteString("</svg>\n")
	return t.String()
}
