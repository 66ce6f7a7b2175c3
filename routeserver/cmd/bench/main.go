// Command bench compares route servers that do the same job: each PE has a site route target, sites share pools, and
// the server rewrites route targets so that each PE holds the routes of its own pool, with its own route target, and no
// others.
//
// Every daemon runs alone in a network namespace, with the same emulated PEs; see ../../docs/reports/routeserver.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// Cell is one measurement: a daemon and a size.
type Cell struct {
	Daemon string `json:"daemon"`
	Size
	Changes int           `json:"changes"` // number of membership changes
	Limit   time.Duration `json:"limit"`   // for the whole cell
	Tools   Tools         `json:"-"`
}

// Tools are the paths of the daemons.
type Tools struct{ Weft, Before, Gobgpd, Bird, Bgpd string }

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	f := flag.NewFlagSet("bench", flag.ExitOnError)
	quick := f.Bool("quick", false, "10 and 100 PEs with 1,000 and 10,000 VPNv4 routes only")
	daemons := f.String("daemons", "bare,weft,bird,frr,gobgp,gobgp-reorigin,gobgp-export", "which to run, in this order")
	sizes := f.String("sizes", "", "PEs/routes/pool or PEs/routes/pool/family,... in place of the usual `sizes`")
	changes := f.Int("changes", 100, "membership `changes` per size; slow daemons make fewer")
	limit := f.Duration("limit", 3*time.Minute, "`time` after which a daemon has failed at a size")
	output := f.String("output", "build/bench-routeserver.json", "`file` for the figures")
	page := f.String("page", "", "`file` for the table; the plot goes beside it")
	var t Tools
	f.StringVar(&t.Weft, "weft", "build/bin/weft-routeserver", "`program`")
	f.StringVar(&t.Before, "before", "", "an earlier release's `program`: compare that with -weft, and nothing else")
	rounds := f.Int("rounds", 20, "how often, with -before; up to three times as often while a figure may lie on either side of the bound")
	revisions := f.String("revisions", "", "`names` of the earlier and this one for the page, with -before: OLD..NEW")
	f.StringVar(&t.Gobgpd, "gobgpd", "build/bin/gobgpd", "`program`")
	f.StringVar(&t.Bird, "bird", "/usr/sbin/bird", "`program`")
	f.StringVar(&t.Bgpd, "bgpd", "/usr/lib/frr/bgpd", "`program`")
	from := f.String("from", "", "`file` with figures: measure nothing, and make the page of them")
	inside := f.String("inside", "", "used by the command itself: a cell, as JSON")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *inside != "" {
		return measureInside(*inside, t)
	}
	if *from != "" {
		figures, err := readFigures(*from)
		if err != nil {
			return err
		}
		if t.Before != "" {
			return publishComparison(figures, *revisions, *page)
		}
		return publish(*page, figures)
	}
	if os.Getuid() != 0 {
		return fmt.Errorf("network namespaces need root")
	}
	plan := usual(*quick)
	if *sizes != "" {
		var err error
		if plan, err = parseSizes(*sizes); err != nil {
			return err
		}
	}
	if t.Before != "" {
		cell := func(daemon string, size Size) Cell { return Cell{daemon, size, *changes, *limit, t} }
		return compare(plan, *rounds, *revisions, cell, args, *output, *page)
	}
	load := loadAverage()
	var results []Result
	for _, size := range plan {
		for _, d := range strings.Split(*daemons, ",") {
			k := drivers[d]
			if k == nil {
				return fmt.Errorf("--daemons: there is no driver %q", d)
			}
			if k.lacks(size) {
				continue
			}
			r := measurePatiently(Cell{d, size, *changes, *limit, t}, args)
			if r.Error == interrupted {
				return errors.New(interrupted)
			}
			fmt.Println(r.line())
			results = append(results, r)
			if err := (Figures{machine(), load, results}).write(*output); err != nil {
				return err
			}
		}
	}
	fmt.Println("\n" + table(results))
	if *page != "" {
		return publish(*page, Figures{machine(), load, results})
	}
	return nil
}
