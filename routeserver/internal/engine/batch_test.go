package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"weft/routeserver/internal/ruleset"
)

// batchSize is the number of operations in one change.
const batchSize = 5000

// there moves every site of a region to the next pool and back, until the change has batchSize operations. It is valid only
// in its order: nobody may join a pool twice, or leave a pool without being a member.
func there(base uint64) *ruleset.Change {
	c := &ruleset.Change{Base: base, Generation: base + 1}
	for i := 0; len(c.Ops) < batchSize; i = (i + 1) % regionPeers {
		e, home, away := fmt.Sprintf("e%d", i), fmt.Sprintf("v%d", i/poolSize), fmt.Sprintf("v%d", (i/poolSize+1)%(regionPeers/poolSize))
		c.Ops = append(c.Ops,
			ruleset.Operation{Op: ruleset.Join, Pool: away, Member: e}, ruleset.Operation{Op: ruleset.Leave, Pool: home, Member: e},
			ruleset.Operation{Op: ruleset.Leave, Pool: away, Member: e}, ruleset.Operation{Op: ruleset.Join, Pool: home, Member: e})
	}
	return c
}

// populated returns a region whose PEs have announced this many routes each, and have taken what they are sent.
func populated(tb testing.TB, routes int) *Engine {
	e := region(tb)
	announceRegion(tb, e, routes)
	return e
}

func TestABatchIsOneTransaction(t *testing.T) {
	e := populated(t, 2)
	before := e.Set()

	// The last operation is wrong: none of the others takes effect.
	c := there(1)
	c.Ops = append(c.Ops, ruleset.Operation{Op: ruleset.Leave, Pool: "v0", Member: "e999"})
	var bad *ruleset.Invalid
	if _, err := e.Change(c); !errors.As(err, &bad) || bad.Field != fmt.Sprintf("ops[%d].endpoint", len(c.Ops)-1) {
		t.Fatalf("a batch whose last operation is wrong: %v", err)
	}
	if e.Set() != before {
		t.Fatal("a part of it is in force")
	}

	// Another order would be wrong as well. This order leads back to the start, and nobody is sent anything.
	c.Ops = c.Ops[:len(c.Ops)-1]
	r, err := e.Change(c)
	if err != nil || len(r.Peers) != 0 || r.Generation != 2 {
		t.Fatalf("there and back again: %+v, %v", r, err)
	}
	slices.Reverse(c.Ops)
	c.Base, c.Generation = 2, 3
	if _, err := e.Change(c); !errors.As(err, &bad) {
		t.Fatalf("in reverse: %v", err)
	}

	// All members of a pool but one leave, each for another pool. A dry run predicts it, and one receipt reports all of it.
	c = &ruleset.Change{Base: 2, Generation: 3, DryRun: true}
	for i := range regionPeers {
		e, home, next := fmt.Sprintf("e%d", i), i/poolSize, (i/poolSize+i%poolSize)%(regionPeers/poolSize)
		if next == home {
			continue
		}
		c.Ops = append(c.Ops, ruleset.Operation{Op: ruleset.Leave, Pool: fmt.Sprintf("v%d", home), Member: e}, ruleset.Operation{Op: ruleset.Join, Pool: fmt.Sprintf("v%d", next), Member: e})
	}
	dry, err := e.Change(c)
	if err != nil {
		t.Fatal(err)
	}
	c.DryRun = false
	done, err := e.Change(c)
	if err != nil {
		t.Fatal(err)
	}
	// Each site is with nine others for the first time: two routes of each come, and two of each former neighbour go.
	if n := regionPeers * (poolSize - 1) * 2; done.Announced != n || done.Withdrawn != n || len(done.Peers) != regionPeers {
		t.Errorf("%d announced, %d withdrawn to %d peers, not %d, %d to %d", done.Announced, done.Withdrawn, len(done.Peers), n, n, regionPeers)
	}
	if dry.Announced != done.Announced || dry.Withdrawn != done.Withdrawn || len(dry.Peers) != len(done.Peers) {
		t.Errorf("foreseen %d, %d to %d", dry.Announced, dry.Withdrawn, len(dry.Peers))
	}
	again, err := e.store.Load() // one line of the journal
	if err != nil || !ruleset.Equal(again, e.Set()) || again.Generation != 3 {
		t.Errorf("the disk has another rule set: %v", err)
	}
}

// BenchmarkBatch moves a site of a full region to another pool 2,500 times in one change of 5,000 operations.
func BenchmarkBatch(b *testing.B) {
	e := populated(b, regionRoutes)
	var times []time.Duration
	at := map[int]int{}
	g := uint64(1)
	b.ResetTimer()
	for b.Loop() {
		c := &ruleset.Change{Base: g, Generation: g + 1}
		for k := 0; len(c.Ops) < batchSize; k++ {
			i := k % regionPeers
			from := (i/poolSize + at[i]) % (regionPeers / poolSize)
			at[i] += i%poolSize + 1
			to := (i/poolSize + at[i]) % (regionPeers / poolSize)
			c.Ops = append(c.Ops,
				ruleset.Operation{Op: ruleset.Leave, Pool: fmt.Sprintf("v%d", from), Member: fmt.Sprintf("e%d", i)},
				ruleset.Operation{Op: ruleset.Join, Pool: fmt.Sprintf("v%d", to), Member: fmt.Sprintf("e%d", i)})
		}
		r, err := e.Change(c)
		if err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Duration(r.Micros)*time.Microsecond)
		b.ReportMetric(float64(r.Announced+r.Withdrawn), "routes")
		g++
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/batchSize, "ns/operation")
}
