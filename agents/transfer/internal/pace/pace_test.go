package pace

import (
	"testing"
	"time"

	"weft/agents/transfer/internal/codec"
)

func free(processors float64) func(time.Time) float64 {
	return func(time.Time) float64 { return processors }
}

func TestTheSlowerTheLineTheBetterTheLevel(t *testing.T) {
	last := codec.Best
	for _, bandwidth := range []float64{0.3e6, 1e6, 10e6, 40e6, 100e6, 2e9} {
		level := New(2, free(2)).Level(bandwidth, time.Now())
		if level > last {
			t.Errorf("%v at %.0f bytes per second, and %v on a slower line", level, bandwidth, last)
		}
		last = level
	}
	if last != codec.Stored {
		t.Errorf("%v on a line that is faster than any compression", last)
	}
}

func TestTheBusierTheMachineTheCheaperTheLevel(t *testing.T) {
	const bandwidth = 10e6
	busy, idle := New(4, free(0)).Level(bandwidth, time.Now()), New(4, free(4)).Level(bandwidth, time.Now())
	if busy >= idle {
		t.Errorf("%v on a busy machine, %v on an idle one", busy, idle)
	}
	if busy == codec.Stored {
		t.Error("a busy machine does not compress at all")
	}
}

func TestWhatCompressionTakesItKeeps(t *testing.T) {
	p, now := New(4, free(4)), time.Now()
	first := p.Level(10e6, now)
	p.free = free(0) // as compression takes all of it
	for range 20 {
		p.Measured(first, 8<<20, 2<<20, 2*Every, now) // two of them
		now = now.Add(Every)
		if level := p.Level(10e6, now); level != first {
			t.Fatalf("%v, after %v with the same processors", level, first)
		}
	}
}

func TestAStageThatTurnsOutToBeSlowIsLeft(t *testing.T) {
	p, now := New(1, free(1)), time.Now()
	first := p.Level(20e6, now)
	if first == codec.Stored {
		t.Fatal("nothing to leave")
	}
	p.Measured(first, 1<<20, 1<<19, 10*time.Second, now)
	p.Measured(codec.Stored, 1<<20, 1<<20, time.Millisecond, now)
	if now = now.Add(Every / 2); p.Level(20e6, now) != first {
		t.Error("the choice is made anew too early")
	}
	if now = now.Add(Every); p.Level(20e6, now) == first {
		t.Errorf("%v is kept, though it makes 0.1 MB/s", first)
	}
}

func TestIncompressiblePagesAreNotCompressedOnAFastLine(t *testing.T) {
	p, now := New(2, free(2)), time.Now()
	for range 50 {
		p.Measured(p.Level(50e6, now), 1<<20, 1<<20, 7*time.Millisecond, now)
		now = now.Add(Every)
	}
	if level := p.Level(50e6, now); level != codec.Stored {
		t.Errorf("%v for what no level makes smaller", level)
	}
}

func TestAnUnknownLineChangesNothing(t *testing.T) {
	if level := New(2, free(2)).Level(0, time.Now()); level != codec.Fast {
		t.Errorf("%v", level)
	}
}
