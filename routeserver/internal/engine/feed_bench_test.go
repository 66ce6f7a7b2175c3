package engine

import (
	"fmt"
	"testing"
	"time"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// follow reads a feed and encodes its entries, as a BMP station does, until the feed is cut off or the test is over. It
// returns a channel that reports, once the tables are copied, how long that took and for how long at most the engine was
// blocked.
func follow(tb testing.TB, e *Engine) (f *Feed, copied <-chan [2]time.Duration) {
	f = e.Feed()
	done, over := make(chan [2]time.Duration, 1), make(chan struct{})
	tb.Cleanup(func() { close(over); e.Unfeed(f) })
	go func() {
		begin, worst := time.Now(), time.Duration(0)
		for {
			entries := f.Take()
			for _, entry := range entries {
				if entry.Batch != nil {
					entry.Batch.Encoded(wire.Kind{}, len(entry.Targets))
				}
			}
			switch {
			case len(entries) > 0:
			case f.Behind():
				step := time.Now()
				e.Copy(f)
				worst = max(worst, time.Since(step))
			default:
				select {
				case done <- [2]time.Duration{time.Since(begin), worst}:
				default:
				}
				select {
				case <-f.Wake():
				case <-f.Cut():
					return
				case <-over:
					return
				}
			}
		}
	}()
	return f, done
}

// BenchmarkFeeds moves a site between two pools of a full region, with different numbers of stations that follow it.
func BenchmarkFeeds(b *testing.B) {
	for _, stations := range []int{0, 1, 4} {
		b.Run(fmt.Sprint(stations), func(b *testing.B) {
			e := populated(b, regionRoutes)
			for range stations {
				_, copied := follow(b, e)
				took := <-copied
				b.Logf("copied in %s; the engine was held up for %s at most", took[0], took[1])
			}
			moves(b, e)
		})
	}
}

// TestABatchForAStation moves every site of a region at once. That must not cut off a station that keeps up.
func TestABatchForAStation(t *testing.T) {
	e := populated(t, 100)
	f, copied := follow(t, e)
	<-copied
	c := &ruleset.Change{Base: 1, Generation: 2}
	for i := range regionPeers {
		c.Ops = append(c.Ops, ruleset.Operation{Op: ruleset.Leave, Pool: fmt.Sprintf("v%d", i/poolSize), Member: fmt.Sprintf("e%d", i)})
	}
	for i := range regionPeers {
		c.Ops = append(c.Ops, ruleset.Operation{Op: ruleset.Join, Pool: fmt.Sprintf("v%d", i%(regionPeers/poolSize)), Member: fmt.Sprintf("e%d", i)})
	}
	r, err := e.Change(c)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-f.Cut():
		t.Fatalf("cut off after %d announcements and %d withdrawals", r.Announced, r.Withdrawn)
	default:
	}
}
