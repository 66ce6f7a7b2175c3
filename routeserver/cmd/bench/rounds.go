package main

import (
	"errors"
	"fmt"
	"slices"
)

const (
	now    = "weft"
	before = "weft-before"
	// patience limits the rounds of an undecided size, as a multiple of the rounds asked for.
	patience = 3
)

// compare measures two releases in turn, each first in every other round, and returns an error if the later one is
// worse in the median round. A size gets more rounds while the change of one of its figures may lie on either side of
// the bound.
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
	return publishComparison(Figures{machine(), load, results}, revisions, page)
}
