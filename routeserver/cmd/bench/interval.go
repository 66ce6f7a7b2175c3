package main

import (
	"math/rand/v2"
	"slices"
)

// draws is the number of resamples of the rounds for the bounds of an interval.
const draws = 1000

// pair is a figure of both releases in one round, so that the machine's speed in these minutes counts for both; both
// are above 0.
type pair struct{ then, today float64 }

// change is the increase of a figure from an earlier release to a later one, in percent: the median over the rounds,
// and the bounds between which nine of ten resamples of as many rounds lie (percentile bootstrap; Efron and Tibshirani,
// An Introduction to the Bootstrap, 1993, chapter 13).
type change struct{ median, low, high float64 }

// changeOver compares two releases over at least one round.
func changeOver(rounds []pair) change {
	more := make([]float64, len(rounds))
	for i, r := range rounds {
		more[i] = 100 * (r.today/r.then - 1)
	}
	// The seed is always the same, so that the figures give the same page again.
	source := rand.New(rand.NewPCG(1, uint64(len(more))))
	drawn := make([]float64, draws)
	for i := range drawn {
		drawn[i] = middle(draw(source, more))
	}
	slices.Sort(drawn)
	return change{middle(more), drawn[draws/20], drawn[draws-1-draws/20]}
}

// undecided reports whether the interval of a change contains a bound, in percent, so that more rounds could decide.
func (c change) undecided(bound float64) bool { return c.low <= bound && bound < c.high }

// draw returns as many values as it gets, each drawn from all of them.
func draw(source *rand.Rand, values []float64) []float64 {
	drawn := make([]float64, len(values))
	for i := range drawn {
		drawn[i] = values[source.IntN(len(values))]
	}
	return drawn
}

// middle returns the median of at least one value.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	return (sorted[half] + sorted[(len(sorted)-1)/2]) / 2
}
