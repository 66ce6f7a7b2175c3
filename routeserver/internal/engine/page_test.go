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
