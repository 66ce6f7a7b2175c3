package pace

import (
	"testing"
	"time"

	"weft/agents/transfer/internal/codec"
)

func TestTheSlowerTheLineTheBetterTheLevel(t *testing.T) {
	last := codec.Best
	for _, bandwidth := range []float64{0.3e6, 1e6, 10e6, 40e6, 100e6, 2e9} {
		level := New(2).Level(bandwidth, time.Now())
		if level > last {
			t.Errorf("%v at %.0f bytes per second, and %v on a slower line", level, bandwidth, last)
		}
		last = level
	}
	if last != codec.Stored {
		t.Errorf("%v on a line that is faster than any compression", last)
	}
}

func TestAStageThatTurnsOutToBeSlowIsLeft(t *testing.T) {
	p, now := New(1), time.Now()
	first := p.Level(20e6, now)
	if first == codec.Stored {
		t.Fatal("nothing to leave")
	}
	p.Measured(first, 1<<20, 1<<19, now.Add(-10*time.Second), now) // others use the processor
	p.Measured(codec.Stored, 1<<20, 1<<20, now.Add(-time.Millisecond), now)
	if now = now.Add(Every / 2); p.Level(20e6, now) != first {
		t.Error("the choice is made anew too early")
	}
	if now = now.Add(Every); p.Level(20e6, now) == first {
		t.Errorf("%v is kept, though it makes 0.1 MB/s", first)
	}
}

func TestIncompressiblePagesAreNotCompressedOnAFastLine(t *testing.T) {
	p, now := New(2), time.Now()
	for range 50 {
		p.Measured(p.Level(50e6, now), 1<<20, 1<<20, now.Add(-7*time.Millisecond), now)
		now = now.Add(Every)
	}
	if level := p.Level(50e6, now); level != codec.Stored {
		t.Errorf("%v for what no level makes smaller", level)
	}
}

func TestAnUnknownLineChangesNothing(t *testing.T) {
	if level := New(2).Level(0, time.Now()); level != codec.Fast {
		t.Errorf("%v", level)
	}
}
