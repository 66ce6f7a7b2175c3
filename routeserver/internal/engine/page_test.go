package engine

import (
	"testing"

	"weft/routeserver/internal/wire"
)

// TestPagesHaveEveryRouteOnce checks that pages of any length have every route once and in order, even when routes come and
// go meanwhile.
func TestPagesHaveEveryRouteOnce(t *testing.T) {
	f := newFat(t, 3)
	const routes = 500
	f.announce(t, f.run(0, 0, routes/2))
	f.announce(t, f.run(1, routes/2, routes))
	for _, c := range []struct {
		table     string
		page, all int
	}{{AdjIn, 7, routes}, {AdjIn, 1, routes}, {AdjOut, 50, 3 * routes}, {AdjOut, 10_000, 3 * routes}, {Pools, 99, routes}, {Quarantine, 5, 0}} {
		seen, pages := map[Place]bool{}, 0
		var last Place
		for more := true; more; pages++ {
			var views []View
			views, more = f.e.Page(Filter{Table: c.table, AnyFamily: true, AnyRT: true, Limit: c.page}, last)
			for _, v := range views {
				if v.Place().Compare(last) <= 0 {
					t.Fatalf("%s by %d: %v comes after %v", c.table, c.page, v.Place(), last)
				}
				last = v.Place()
				seen[last] = true
			}
			// A route that was in a page goes, and others change their attributes, and so their groups.
			f.announce(t, f.gone(pages%20, pages%20+1))
			f.announce(t, f.run(uint32(pages), pages%20, pages%20+1))
		}
		if len(seen) != c.all || pages < c.all/c.page {
			t.Errorf("%s by %d: %d routes in %d pages, not %d", c.table, c.page, len(seen), pages, c.all)
		}
	}
	views, more := f.e.Page(Filter{Table: AdjOut, Peer: f.recipients[1].Name, Family: wire.VPLS, AnyRT: true, Limit: routes}, Place{})
	if len(views) != routes || more {
		t.Errorf("%d routes of one recipient", len(views))
	}
}

// TestAPageCostsNoMoreWithMorePeers checks that a page walks through no routes of peers that come after it: a reader of a
// whole table would otherwise walk through it once for each page, and hold the engine meanwhile.
func TestAPageCostsNoMoreWithMorePeers(t *testing.T) {
	cost := func(peers int) float64 {
		f := newFat(t, peers-1)
		for _, from := range append([]*Peer{f.from}, f.recipients...) {
			announcer := fat{f.e, from, f.recipients}
			announcer.announce(t, f.run(0, 0, 100))
		}
		views, more := f.e.Page(Filter{Table: AdjIn, AnyFamily: true, AnyRT: true}, Place{})
		if len(views) != 100*peers || more {
			t.Fatalf("%d routes of %d peers", len(views), peers)
		}
		return testing.AllocsPerRun(5, func() { f.e.Page(Filter{Table: AdjIn, AnyFamily: true, AnyRT: true, Limit: 10}, Place{}) })
	}
	if few, many := cost(5), cost(50); many > 2*few {
		t.Errorf("a page of 5 peers allocates %.0f times, one of 50 peers %.0f times", few, many)
	}
}
