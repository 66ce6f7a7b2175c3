package engine

import (
	"slices"
	"sync"
	"time"
)

// durationBounds are the upper bounds of the histogram's buckets, in seconds.
var durationBounds = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5}

// Durations is a histogram of how long transactions took, from the call until the last byte was on its way, and the last
// receipt.
type Durations struct {
	Bounds []float64 // seconds
	Counts []uint64  // number of transactions up to each bound, and of all
	Sum    float64   // seconds
	Last   *Receipt  // nil: none yet
	LastAt time.Time
}

type durations struct {
	mu sync.Mutex
	Durations
}

func (d *durations) observe(r *Receipt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Counts == nil {
		d.Bounds, d.Counts = durationBounds, make([]uint64, len(durationBounds)+1)
	}
	seconds := float64(r.Micros) / 1e6
	for i, bound := range d.Bounds {
		if seconds <= bound {
			d.Counts[i]++
		}
	}
	d.Counts[len(d.Bounds)]++
	d.Sum += seconds
	d.Last, d.LastAt = r, now()
}

// Durations returns the durations of the transactions since the start.
func (e *Engine) Durations() Durations {
	e.durations.mu.Lock()
	defer e.durations.mu.Unlock()
	d := e.durations.Durations
	d.Counts = slices.Clone(d.Counts)
	return d
}
