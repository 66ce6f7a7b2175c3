package main

import (
	"strings"
	"testing"
)

var small = Size{10, 1000, 10, "vpnv4"}

func took(daemon string, converged ...float64) (results []Result) {
	for _, ms := range converged {
		results = append(results, Result{Cell: Cell{Daemon: daemon, Size: small}, Version: daemon + " 1", Converged: ms})
	}
	return results
}

// TestAWorseMedianIsNamed checks that comparison names a worse median, whatever the single rounds are.
func TestAWorseMedianIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		now   []float64
		worse string
	}{
		"as fast":        {[]float64{100, 109, 500}, ""},
		"slower":         {[]float64{90, 112, 500}, "10/1000/10, convergence, ms: +12.0 %"},
		"between two":    {[]float64{100, 130}, "10/1000/10, convergence, ms: +15.0 %"},
		"faster":         {[]float64{50, 50, 50}, ""},
		"never measured": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text, worse := comparison(append(took(before, 100, 100, 100), took(now, c.now...)...), "")
			if got := strings.Join(worse, "; "); got != c.worse {
				t.Errorf("worse: %q, not %q", got, c.worse)
			}
			if strings.Contains(text, "convergence") != (c.now != nil) {
				t.Errorf("the table is\n%s", text)
			}
		})
	}
}

// TestARoundThatFailsIsWorse checks that a failed round counts as worse, since it has no figures.
func TestARoundThatFailsIsWorse(t *testing.T) {
	failed := Result{Cell: Cell{Daemon: now, Size: small}, Error: "no session"}
	_, worse := comparison(append(took(before, 100), append(took(now, 100), failed)...), "")
	if len(worse) != 1 || worse[0] != "10/1000/10, weft: 1 rounds failed: no session" {
		t.Errorf("worse: %q", worse)
	}
}

// TestMoreRoundsWhileTheBoundIsBetween checks that scattered figures are undecided and that agreeing ones decide.
func TestMoreRoundsWhileTheBoundIsBetween(t *testing.T) {
	for name, c := range map[string]struct {
		now       []float64
		undecided bool
	}{
		"the same":        {[]float64{99, 100, 101, 100, 100}, false},
		"clearly slower":  {[]float64{119, 120, 121, 120, 120}, false},
		"about the bound": {[]float64{100, 105, 112, 118, 125}, true},
		"never measured":  {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			results := append(took(before, 99, 100, 101, 100, 100), took(now, c.now...)...)
			if got := undecided(results, small); got != c.undecided {
				t.Errorf("undecided: %v", got)
			}
		})
	}
}

// TestAPageIsMadeAgainFromItsFigures checks that the same figures give the same page, to the digit.
func TestAPageIsMadeAgainFromItsFigures(t *testing.T) {
	results := append(took(before, 60, 80, 70, 95), took(now, 61, 85, 72, 99)...)
	first, _ := comparison(results, "a..b")
	if second, _ := comparison(results, "a..b"); second != first {
		t.Errorf("first\n%s\nthen\n%s", first, second)
	}
	if !strings.Contains(first, "| 4 | convergence, ms | 75.00 | 78.50 | +3.5 % (") {
		t.Errorf("the table is\n%s", first)
	}
}
