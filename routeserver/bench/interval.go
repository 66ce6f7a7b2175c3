package main

import (
	"math/rand/v2"
	"slices"
)

// draws is how many times an interval's bounds draw anew from the rounds.
const draws = 1000

// change is how much more of a figure a release takes than an earlier one, in percent: by the medians, and the bounds
// between which nine of ten draws of as many rounds lie (percentile bootstrap; Efron and Tibshirani, An Introduction to
// the Bootstrap, 1993, chapter 13).
type change struct{ median, low, high float64 }

// changeBetween compares two releases' values; either has at least one, and all are above 0.
func changeBetween(then, today []float64) change {
	// The same seed each time, so that a page can be made again from its figures.
	source := rand.New(rand.NewPCG(1, uint64(len(then))))
	drawn := make([]float64, draws)
	for i := range drawn {
		drawn[i] = percentMore(draw(source, then), draw(source, today))
	}
	slices.Sort(drawn)
	return change{percentMore(then, today), drawn[draws/20], drawn[draws-1-draws/20]}
}

// undecided says whether more rounds could tell on which side of a bound, in percent, a change lies.
func (c change) undecided(bound float64) bool { return c.low <= bound && bound < c.high }

func percentMore(then, today []float64) float64 { return 100 * (middle(today)/middle(then) - 1) }

// draw is as many of the values as there are, each from all of them.
func draw(source *rand.Rand, values []float64) []float64 {
	drawn := make([]float64, len(values))
	for i := range drawn {
		drawn[i] = values[source.IntN(len(values))]
	}
	return drawn
}

// middle is the median of at least one value.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	return (sorted[half] + sorted[(len(sorted)-1)/2]) / 2
}
