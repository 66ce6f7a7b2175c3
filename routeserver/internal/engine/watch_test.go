package engine

import (
	"testing"

	"weft/routeserver/internal/ruleset"
)

// TestASlowWatcherIsCutOff checks that a reader that takes nothing is cut off after what its buffer holds, and blocks
// nobody.
func TestASlowWatcherIsCutOff(t *testing.T) {
	e := populated(t, 200)
	slow, quick := e.Watch(Filter{AnyFamily: true, AnyRT: true}), e.Watch(Filter{AnyFamily: true, AnyRT: true, Peer: "pe0"})
	defer e.Unwatch(quick)
	g := uint64(1)
	for ; ; g++ {
		op := ruleset.Leave
		if g%2 == 0 {
			op = ruleset.Join
		}
		if _, err := e.Change(&ruleset.Change{Base: g, Generation: g + 1, Ops: []ruleset.Operation{{Op: op, Pool: "v0", Member: "e5"}}}); err != nil {
			t.Fatal(err)
		}
		if len(quick.C) != 400 { // e5's routes to pe0, and pe0's to e5's PE
			t.Fatalf("%d changes concern pe0", len(quick.C))
		}
		for range 400 {
			<-quick.C
		}
		if len(e.watchers) == 1 {
			break
		}
	}
	n := 0
	for range slow.C { // ends, since the channel is closed
		n++
	}
	if n != watchBuffer {
		t.Errorf("%d changes were kept for the slow one", n)
	}
	e.Unwatch(slow)
}

// TestAWatcherHoldsNoMoreAttributesThanABound checks that a reader that takes nothing is cut off before the attributes that
// wait for it exceed a bound.
func TestAWatcherHoldsNoMoreAttributesThanABound(t *testing.T) {
	f := newFat(t, 1)
	w := f.e.Watch(Filter{AnyFamily: true, AnyRT: true, Peer: f.from.Name})
	held := 0
	for n := range 1000 {
		f.announce(t, f.message(n, 50_000))
	}
	for c := range w.C { // ends, since the reader was cut off
		held += c.View.Attributes.Bytes()
	}
	if held > 3*watchBytes || held == 0 { // announced, and sent
		t.Errorf("%d bytes waited", held)
	}
}

// TestAFeedHoldsNoMoreAttributesThanABound checks the same for a feed, as a BMP station has it.
func TestAFeedHoldsNoMoreAttributesThanABound(t *testing.T) {
	f := newFat(t, 1)
	feed := f.e.Feed()
	held := 0
	for n := range 1500 {
		f.announce(t, f.message(n, 60_000))
		held = 0
		for _, entry := range feed.entries {
			if entry.Batch != nil && entry.Kind == RoutesIn {
				held += entry.Batch.Attributes.Bytes()
			}
		}
		if held > 72<<20 {
			t.Fatalf("%d bytes wait after %d routes", held, n+1)
		}
	}
	select {
	case <-feed.Cut():
	default:
		t.Error("it was not cut off")
	}
}
