// Package pace chooses how well batches are compressed, by the model of Ha et al. ("You can teach elephants to dance:
// agile VM handoff for edge computing", section 5): the pipeline is as fast as its slowest stage. Level l makes of each
// byte R(l) bytes for the line, and each worker compresses P(l) bytes per second; so the throughput is the smaller one of
// workers × P(l) and bandwidth / R(l).
package pace

import (
	"sync"
	"time"

	"weft/agents/transfer/internal/codec"
)

// Every is how long a choice stays.
const Every = 100 * time.Millisecond

// model is what is expected of a level: bytes per second of a worker, and bytes that leave for each byte that enters.
type model struct{ speed, ratio float64 }

// measurement is what was found of a level, until a time.
type measurement struct {
	model
	at time.Time
}

// Before anything was measured: klauspost's zstd on one core, on guests' memory.
var prior = map[codec.Level]model{
	codec.Stored:  {3e9, 1},
	codec.Fast:    {155e6, 0.42},
	codec.Default: {122e6, 0.38},
	codec.Better:  {52e6, 0.36},
	codec.Best:    {9e6, 0.34},
}

const (
	weight = 0.2             // of the newest batch
	worth  = 1.03            // a dearer level has to be that much faster
	small  = 4096            // bytes of a batch that says nothing about a level
	stale  = 3 * time.Second // other pages compress otherwise
)

// Pace is the choice of one end. It may be used by several goroutines.
type Pace struct {
	mu       sync.Mutex
	workers  int
	measured map[codec.Level]measurement
	level    codec.Level
	chosen   time.Time
}

// New returns a pace for so many workers.
func New(workers int) *Pace {
	return &Pace{workers: workers, measured: map[codec.Level]measurement{}, level: codec.Fast}
}

// Measured says that a worker has made `out` bytes of `in`, from one time to another.
func (p *Pace) Measured(level codec.Level, in, out int, began, now time.Time) {
	took := now.Sub(began)
	if in < small || took <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found := model{float64(in) / took.Seconds(), float64(out) / float64(in)}
	if before, known := p.measured[level]; known && now.Sub(before.at) < stale {
		found.speed = before.speed + weight*(found.speed-before.speed)
		found.ratio = before.ratio + weight*(found.ratio-before.ratio)
	}
	p.measured[level] = measurement{found, now}
}

// Level returns the level for a line that takes so many bytes per second; 0 if that is unknown.
func (p *Pace) Level(bandwidth float64, now time.Time) codec.Level {
	p.mu.Lock()
	defer p.mu.Unlock()
	if bandwidth > 0 && now.Sub(p.chosen) >= Every {
		p.level, p.chosen = p.best(bandwidth, now), now
	}
	return p.level
}

func (p *Pace) best(bandwidth float64, now time.Time) codec.Level {
	best, most := codec.Stored, 0.0
	for _, level := range codec.Levels() {
		expected := p.expected(level, now)
		through := min(float64(p.workers)*expected.speed, bandwidth/expected.ratio)
		if through > worth*most {
			best, most = level, through
		}
	}
	return best
}

// expected returns what was measured of a level. Of one that was not tried: what is known of it beforehand, corrected by
// how much the present level differs from that.
func (p *Pace) expected(level codec.Level, now time.Time) model {
	if found, known := p.measured[level]; known && now.Sub(found.at) < stale {
		return found.model
	}
	expected := prior[level]
	if present, known := p.measured[p.level]; known && p.level != codec.Stored && level != codec.Stored {
		expected.speed *= present.speed / prior[p.level].speed
		expected.ratio = min(1, expected.ratio*present.ratio/prior[p.level].ratio)
	}
	return expected
}
