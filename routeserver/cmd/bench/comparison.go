package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// slower is the increase of a figure over the earlier release, in percent, above which the later release counts as
// worse.
const slower = 10.0

// figure is a value of a result; less is better.
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

const comparisonIntro = `# This route server and an earlier one

Made by ` + "`make bench-routeserver-against`" + `: round by round, both releases do the job of docs/reports/routeserver.md at each size, one
after the other, and in the next round the other way round (%s; %s; load average before: %s). Each round's change is of its own
two figures, as the machine is faster in one minute than in another; all columns are medians over the rounds, and a change of
more than %g %% fails the command. In brackets: between what and what nine of ten draws of as many rounds, from those made,
have their median (bootstrap). While the bound is in between, a size gets more rounds, up to %d times as many as asked for.

`

// publishComparison prints the table of both releases, writes the page if it has a name, and returns an error if the
// later release is worse.
func publishComparison(f Figures, revisions, page string) error {
	text, worse := comparison(f.Results, revisions)
	fmt.Println("\n" + text)
	if page != "" {
		head := fmt.Sprintf(comparisonIntro, f.Machine, time.Now().UTC().Format("2006-01-02"), f.Load, slower, patience)
		if err := os.WriteFile(page, []byte(head+text), 0o644); err != nil {
			return err
		}
	}
	if len(worse) > 0 {
		return fmt.Errorf("worse than before: %s", strings.Join(worse, "; "))
	}
	return nil
}

// comparison returns the medians of both releases in Markdown, and a text for each median of the later one that is
// worse.
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
			rounds := pairs(results, size, f)
			if len(rounds) == 0 {
				continue
			}
			var then, today []float64
			for _, r := range rounds {
				then, today = append(then, r.then), append(today, r.today)
			}
			c := changeOver(rounds)
			fmt.Fprintf(&text, "| %s | %d | %s | %.2f | %.2f | %+.1f %% (%+.1f to %+.1f) |\n",
				strings.ReplaceAll(size.String(), "/", " / "), len(rounds), f.name, middle(then), middle(today), c.median, c.low, c.high)
			if c.median > slower {
				worse = append(worse, fmt.Sprintf("%s, %s: %+.1f %%", size, f.name, c.median))
			}
		}
	}
	return text.String(), worse
}

// undecided reports whether the change of any figure at a size may lie on either side of the bound.
func undecided(results []Result, size Size) bool {
	return slices.ContainsFunc(compared, func(f figure) bool {
		rounds := pairs(results, size, f)
		return len(rounds) > 0 && changeOver(rounds).undecided(slower)
	})
}

// pairs returns a figure at a size for each round that measured it with both releases.
func pairs(results []Result, size Size, f figure) (found []pair) {
	of := map[string][]float64{}
	for _, r := range results {
		if r.Size == size {
			value := f.of(r)
			if r.Error != "" {
				value = 0
			}
			of[r.Daemon] = append(of[r.Daemon], value)
		}
	}
	for i := range min(len(of[before]), len(of[now])) {
		if p := (pair{of[before][i], of[now][i]}); p.then > 0 && p.today > 0 {
			found = append(found, p)
		}
	}
	return found
}

// failures describes how many rounds of a release gave no figures, and why the first one failed.
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
