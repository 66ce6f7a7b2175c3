package main

import (
	"math/rand/v2"
	"slices"
)

// draws is how many times an interval's bounds draw anew from the rounds.
const draws = 1000

// pair is a figure of both releases in one round, minutes of which the machine may be slower or faster in; both are
// above 0.
type pair struct{ then, today float64 }

// change is how much more of a figure a release takes than an earlier one, in percent: the median over the rounds, and
// the bounds between which nine of ten draws of as many rounds lie (percentile bootstrap; Efron and Tibshirani, An
// Introduction to the Bootstrap, 1993, chapter 13).
type change struct{ median, low, high float64 }

// changeOver compares two releases by at least one round.
func changeOver(rounds []pair) change {
	more := make([]float64, len(rounds))
	for i, r := range rounds {
		more[i] = 100 * (r.today/r.then - 1)
	}
	// The same seed each time, so that a page can be made again from its figures.
	source := rand.New(rand.NewPCG(1, uint64(len(more))))
	drawn := make([]float64, draws)
	for i := range drawn {
		drawn[i] = middle(draw(source, more))
	}
	slices.Sort(drawn)
	return change{middle(more), drawn[draws/20], drawn[draws-1-draws/20]}
}

// undecided says whether more rounds could tell on which side of a bound, in percent, a change lies.
func (c change) undecided(bound float64) bool { return c.low <= bound && bound < c.high }

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
