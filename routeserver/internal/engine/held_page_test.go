package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"weft/routeserver/internal/wire"
)

// TestPagesHaveEveryHeldRouteOnce checks that pages of any length have every route once and in order, also two versions of
// one NLRI, and that the first one alone has the rest.
func TestPagesHaveEveryHeldRouteOnce(t *testing.T) {
	e := newFat(t, 1).e
	const peers, routes = 3, 40
	for p := range peers {
		g := newGuard(fmt.Sprint("p", p), time.Second)
		for n := range routes {
			s := suspect{routeName{wire.VPLS, fmt.Sprint("nlri", n/2)}, "a", "ea"}
			g.verdicts[digest{byte(p), byte(n)}] = &verdict{suspect: s, why: "why", times: 1}
		}
		g.verdicts[digest{255}] = &verdict{lapsed: true}
		g.sources["a"], g.apart[wire.VPLS] = time.Now(), time.Now()
		e.guards[g.peer] = g
	}
	all := e.Held("")
	if len(all.Routes) != peers*routes || len(all.Sources) != peers || len(all.Apart) != peers {
		t.Fatalf("%d routes, %d sources, %d apart", len(all.Routes), len(all.Sources), len(all.Apart))
	}
	if one := e.Held("p1"); len(one.Routes) != routes || len(one.Sources) != 1 {
		t.Errorf("%d routes and %d sources of one peer", len(one.Routes), len(one.Sources))
	}
	for _, limit := range []int{1, 7, routes, routes + 1, peers * routes, 1000} {
		var seen []Place
		last, pages := Place{}, 0
		for more := true; more; pages++ {
			var h Held
			h, more = e.HeldPage("", last, limit)
			if len(h.Routes) > limit || len(h.Sources) != len(h.Apart) || (len(h.Sources) == peers) != (pages == 0) {
				t.Fatalf("page %d by %d: %d routes, %d sources", pages, limit, len(h.Routes), len(h.Sources))
			}
			for _, r := range h.Routes {
				last = r.Place()
				seen = append(seen, last)
			}
		}
		if !slices.IsSortedFunc(seen, Place.Compare) || len(slices.Compact(seen)) != peers*routes || pages != (peers*routes+limit-1)/limit {
			t.Errorf("by %d: %d routes in %d pages", limit, len(seen), pages)
		}
	}
}
