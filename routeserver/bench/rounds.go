package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	now    = "weft"
	before = "weft-before"
	// slower is how much more of anything the release of now may take than the one before, in percent.
	slower = 10.0
	// patience is how many times as many rounds as asked for a size gets while it is not clear whether it takes more.
	patience = 3
)

// figure is one of a result's, of which less is better.
type figure struct {
	name string
	of   func(Result) float64
}

var compared = []figure{
	{"convergence, ms", func(r Result) float64 { return r.Converged }},
	{"change p50, ms", func(r Result) float64 { return r.P50 }},
	{"change p99, ms", func(r Result) float64 { return r.P99 }},
	{"CPU of a change, ms", func(r Result) float64 { return 1000 * r.ChangeCPU }},
	{"withdrawal, ms", func(r Result) float64 { return r.Withdrawal }},
	{"flap, down, ms", func(r Result) float64 { return r.FlapDown }},
	{"flap, up, ms", func(r Result) float64 { return r.FlapUp }},
	{"peak, MB", func(r Result) float64 { return r.Peak }},
	{"CPU, s", func(r Result) float64 { return r.CPU }},
}

// compare measures two releases in turn, each first in every other round, and returns an error if a median of the later
// one is worse. A size of which a figure's change may lie on either side of the bound gets more rounds.
func compare(plan []Size, rounds int, revisions string, cell func(string, Size) Cell, args []string, output, page string) error {
	load, results := loadAverage(), []Result{}
	for round := 0; round < patience*rounds; round++ {
		for _, size := range plan {
			if round >= rounds && !undecided(results, size) {
				continue
			}
			daemons := []string{before, now}
			if round%2 == 1 {
				slices.Reverse(daemons)
			}
			for _, d := range daemons {
				r := measurePatiently(cell(d, size), args)
				if r.Error == interrupted {
					return errors.New(interrupted)
				}
				fmt.Printf("%d of %d: %s\n", round+1, max(rounds, round+1), r.line())
				results = append(results, r)
				if err := (Figures{machine(), load, results}).write(output); err != nil {
					return err
				}
			}
		}
	}
	text, worse := comparison(results, revisions)
	fmt.Println("\n" + text)
	if page != "" {
		head := fmt.Sprintf(comparisonIntro, rounds, machine(), time.Now().UTC().Format("2006-01-02"), load, slower, patience)
		if err := os.WriteFile(page, []byte(head+text), 0o644); err != nil {
			return err
		}
	}
	if len(worse) > 0 {
		return fmt.Errorf("worse than before: %s", strings.Join(worse, "; "))
	}
	return nil
}

const comparisonIntro = `# This route server and an earlier one

Made by ` + "`make bench-routeserver-against`" + `: %d rounds, in each of which both releases do the job of docs/routeserver.md at each
size, one after the other, and in the next round the other way round (%s; %s; load average before: %s). The figures are
medians over the rounds; one that is more than %g %% above the earlier release's fails the command. In brackets: between
what and what the change lies in nine of ten draws of as many rounds from those made (bootstrap). While the bound is in
between, a size gets more rounds, up to %d times as many.

`

// comparison is the medians of both releases in Markdown, and in words which of the later one's are worse.
func comparison(results []Result, revisions string) (string, []string) {
	var text strings.Builder
	var sizes []Size
	versions := map[string]string{}
	for _, r := range results {
		if !slices.Contains(sizes, r.Size) {
			sizes = append(sizes, r.Size)
		}
		if r.Version != "" {
			versions[r.Daemon] = r.Version
		}
	}
	fmt.Fprintf(&text, "Before: %s. Now: %s. Revisions: %s.\n\n", versions[before], versions[now], cmp.Or(revisions, "not said"))
	text.WriteString("| PEs / routes / pool | rounds | figure | before | now | change |\n| --- | --: | --- | --: | --: | --: |\n")
	var worse []string
	for _, size := range sizes {
		for _, d := range []string{before, now} {
			if failed := failures(results, size, d); failed != "" {
				worse = append(worse, fmt.Sprintf("%s, %s: %s", size, d, failed))
			}
		}
		for _, f := range compared {
			then, today := values(results, size, before, f), values(results, size, now, f)
			if len(then) == 0 || len(today) == 0 {
				continue
			}
			c := changeBetween(then, today)
			fmt.Fprintf(&text, "| %s | %d | %s | %.2f | %.2f | %+.1f %% (%+.1f to %+.1f) |\n",
				strings.ReplaceAll(size.String(), "/", " / "), len(today), f.name, middle(then), middle(today), c.median, c.low, c.high)
			if c.median > slower {
				worse = append(worse, fmt.Sprintf("%s, %s: %+.1f %%", size, f.name, c.median))
			}
		}
	}
	return text.String(), worse
}

// undecided says whether any figure's change at a size may lie on either side of the bound.
func undecided(results []Result, size Size) bool {
	return slices.ContainsFunc(compared, func(f figure) bool {
		then, today := values(results, size, before, f), values(results, size, now, f)
		return len(then) > 0 && len(today) > 0 && changeBetween(then, today).undecided(slower)
	})
}

// values are a release's figures at a size, of the rounds that gave one.
func values(results []Result, size Size, daemon string, f figure) (all []float64) {
	for _, r := range results {
		if r.Size == size && r.Daemon == daemon && r.Error == "" && f.of(r) > 0 {
			all = append(all, f.of(r))
		}
	}
	return all
}

// failures says how many rounds of a release gave no figures, and why the first did not.
func failures(results []Result, size Size, daemon string) string {
	count, why := 0, ""
	for _, r := range results {
		if r.Size == size && r.Daemon == daemon && r.Error != "" {
			if count++; why == "" {
				why = r.Error
			}
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%d rounds failed: %s", count, why)
}
