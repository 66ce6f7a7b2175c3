package main

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Result is the outcome of a run.
type Result struct {
	Plan
	Machine  string         `json:"machine"`
	Started  time.Time      `json:"started"`
	Done     map[string]int `json:"disturbances"`
	Checked  int64          `json:"announcements_checked"`
	Audits   int            `json:"audits"`
	OK       bool           `json:"ok"`
	Failure  string         `json:"failure,omitempty"`
	Measures []Measure      `json:"measures"`
	Samples  []Sample       `json:"samples"`
}

// Measure is a quantity that must not grow.
type Measure struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Mean   float64 `json:"mean"`   // in the second half
	Peak   float64 `json:"peak"`   // in the whole run
	Growth float64 `json:"growth"` // over the second half, by the best-fitting line
	Bound  float64 `json:"bound"`
	OK     bool    `json:"ok"`
}

var watched = []struct {
	name, unit      string
	of              func(Sample) float64
	share, absolute float64 // allowed growth: a share of the mean, but at least the absolute value
}{
	{"resident memory", "MB", func(s Sample) float64 { return s.RSS }, 0.05, 1},
	{"live heap", "MB", func(s Sample) float64 { return s.Heap }, 0.05, 1},
	{"goroutines", "", func(s Sample) float64 { return s.Goroutines }, 0.01, 4},
	{"file descriptors", "", func(s Sample) float64 { return s.Descriptors }, 0.01, 4},
}

// judge decides whether the run is good. Caches, logs and histories fill in the first half.
func (r *Result) judge(err error) {
	r.OK = err == nil
	if err != nil {
		r.Failure = err.Error()
	}
	half := r.Samples[len(r.Samples)/2:]
	if len(half) < 10 {
		r.OK = false
		return
	}
	for _, w := range watched {
		m := Measure{Name: w.name, Unit: w.unit}
		for _, s := range r.Samples {
			m.Peak = max(m.Peak, w.of(s))
		}
		m.Mean, m.Growth = fit(half, w.of)
		m.Bound = max(w.share*m.Mean, w.absolute)
		m.OK = m.Growth <= m.Bound && m.Mean > 0
		r.OK = r.OK && m.OK
		r.Measures = append(r.Measures, m)
	}
}

// fit returns the mean of samples, and the growth of the least-squares line from the first to the last.
func fit(samples []Sample, of func(Sample) float64) (mean, growth float64) {
	n := float64(len(samples))
	var at, value float64
	for _, s := range samples {
		at, value = at+s.At/n, value+of(s)/n
	}
	var up, square float64
	for _, s := range samples {
		up += (s.At - at) * (of(s) - value)
		square += (s.At - at) * (s.At - at)
	}
	return value, up / square * (samples[len(samples)-1].At - samples[0].At)
}

// text returns the verdict for a terminal.
func (r *Result) text() string {
	var t strings.Builder
	verdict := map[bool]string{true: "flat", false: "NOT FLAT"}
	for _, m := range r.Measures {
		fmt.Fprintf(&t, "%-17s %7.1f %-2s  %+6.2f in the second half (bound %.2f): %s\n", m.Name, m.Mean, m.Unit, m.Growth, m.Bound, verdict[m.OK])
	}
	fmt.Fprintf(&t, "%d announcements checked, %d audits, %d samples\n", r.Checked, r.Audits, len(r.Samples))
	for _, name := range slices.Sorted(maps.Keys(r.Done)) {
		fmt.Fprintf(&t, "%7d × %s\n", r.Done[name], name)
	}
	if r.Failure != "" {
		return t.String() + "FAILED: " + r.Failure
	}
	return t.String() + map[bool]string{true: "all is well", false: "FAILED"}[r.OK]
}

func machine() string {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%d cores, Linux %s, %s", runtime.NumCPU(), strings.TrimSpace(string(kernel)), runtime.Version())
}
