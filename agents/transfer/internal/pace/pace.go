// Package pace chooses how well batches are compressed, by the model of Ha et al. ("You can teach elephants to dance:
// agile VM handoff for edge computing", section 5): the pipeline is as fast as its slowest stage. Level l makes of each
// byte R(l) bytes for the line, and a processor compresses P(l) bytes per second; so the throughput is the smaller one of
// processors × P(l) and bandwidth / R(l). Processors are those that nobody else uses, and so guests are not slowed down.
package pace

import (
	"sync"
	"time"

	"weft/agents/transfer/internal/codec"
)

// Every is how long a choice stays.
const Every = 100 * time.Millisecond

const counts = 5 * Every // the kernel accounts for processors in steps of 10 ms

// model is what is expected of a level: bytes per second of a processor, and bytes that leave for each byte that enters.
type model struct{ speed, ratio float64 }

// measurement is what was found of a level, until a time.
type measurement struct {
	model
	at time.Time
}

// Before anything was measured: libzstd on one core (codec's BenchmarkLibraries), with ratios that are lower by as much as
// guests' memory compresses better than a program at the fastest level.
var prior = map[codec.Level]model{
	codec.Stored:  {3e9, 1},
	codec.Fast:    {220e6, 0.42},
	codec.Default: {165e6, 0.40},
	codec.Better:  {66e6, 0.38},
	codec.Best:    {6.6e6, 0.35},
}

const (
	weight = 0.2             // of the newest batch
	worth  = 1.03            // a dearer level has to be that much faster
	small  = 4096            // bytes of a batch that says nothing about a level
	stale  = 3 * time.Second // other pages compress otherwise
	taken  = 0.25            // processors that compression takes from others, if none is free
)

// Pace is the choice of one end. It may be used by several goroutines.
type Pace struct {
	free     func(now time.Time) float64
	mu       sync.Mutex
	workers  int
	measured map[codec.Level]measurement
	level    codec.Level
	chosen   time.Time

	processors float64       // those that compression can have
	counted    time.Time     // when they were
	spent      time.Duration // by compression since then
}

// New returns a pace for so many workers. `free` returns how many processors nobody has used since it was last asked.
func New(workers int, free func(now time.Time) float64) *Pace {
	return &Pace{free: free, workers: workers, measured: map[codec.Level]measurement{}, level: codec.Fast}
}

// Measured says that a worker has made `out` bytes of `in`, in so much processor time.
func (p *Pace) Measured(level codec.Level, in, out int, took time.Duration, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent += took
	if in < small || took <= 0 {
		return
	}
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
		p.count(now)
		p.level, p.chosen = p.best(bandwidth, now), now
	}
	return p.level
}

// count finds out how many processors compression can have: those that it takes, and those that are free.
func (p *Pace) count(now time.Time) {
	passed := now.Sub(p.counted)
	if passed < counts {
		return
	}
	own := p.spent.Seconds() / passed.Seconds()
	p.processors = min(max(own+p.free(now), taken), float64(p.workers))
	p.counted, p.spent = now, 0
}

func (p *Pace) best(bandwidth float64, now time.Time) codec.Level {
	best, most := codec.Stored, 0.0
	for _, level := range codec.Levels() {
		expected := p.expected(level, now)
		through := min(p.processors*expected.speed, bandwidth/expected.ratio)
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
