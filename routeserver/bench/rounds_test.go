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

// TestAWorseMedianIsNamed, whatever single rounds were like.
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

// TestARoundThatFailsIsWorse, for it has no figures to compare.
func TestARoundThatFailsIsWorse(t *testing.T) {
	failed := Result{Cell: Cell{Daemon: now, Size: small}, Error: "no session"}
	_, worse := comparison(append(took(before, 100), append(took(now, 100), failed)...), "")
	if len(worse) != 1 || worse[0] != "10/1000/10, weft: 1 rounds failed: no session" {
		t.Errorf("worse: %q", worse)
	}
}
