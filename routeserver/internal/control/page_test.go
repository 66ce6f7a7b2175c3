package control_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/petest"
)

// TestAPageHasABound checks that a page is bounded however long a PE's routes are, and that the pages have all of them.
func TestAPageHasABound(t *testing.T) {
	h := build(t)
	h.must("PUT", "/v1/ruleset", rules, &struct{}{})
	a := petest.Dial(t, petest.Options{Local: "127.0.77.11", Remote: h.bgp})
	communities := make([]uint32, 900) // 3,600 bytes on the wire, 11 kB in text
	for i := range communities {
		communities[i] = 4_000_000_000 + uint32(i)
	}
	const routes = 1500
	for i := range routes {
		n := petest.VPLS(t, "65000:1", 1, uint16(i), 1, 4097)
		a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}, bgp.NewPathAttributeCommunities(communities)))
	}
	a.Until("all routes", func() bool { return h.engine.PeerViews()[0].In == routes })
	for _, limit := range []string{"10000000", "1000", "7"} {
		seen, pages, next := map[string]bool{}, 0, ""
		for ; pages == 0 || next != ""; pages++ {
			var page struct {
				Routes    []struct{ Key string }
				Truncated bool
				Next      *string
			}
			h.must("GET", "/v1/routes?limit="+limit+"&cursor="+next, "", &page)
			for _, r := range page.Routes {
				seen[r.Key] = true
			}
			if next = ""; page.Next != nil {
				next = *page.Next
			}
			if page.Truncated != (next != "") {
				t.Fatalf("truncated: %v, next: %q", page.Truncated, next)
			}
		}
		if len(seen) != routes || limit == "10000000" && pages < 2 {
			t.Errorf("by %s: %d routes in %d pages", limit, len(seen), pages)
		}
	}
	if status, text := h.do("GET", "/v1/routes?limit=10000", ""); status != http.StatusOK || len(text) > 9<<20 || len(text) < 1<<20 {
		t.Errorf("a page of %d bytes", len(text))
	}
	var explained struct {
		Routes    []any
		Truncated bool
	}
	h.must("GET", "/v1/explain?from=ea&to=eb", "", &explained)
	if len(explained.Routes) != 1000 || !explained.Truncated {
		t.Errorf("%d routes are explained, truncated: %v", len(explained.Routes), explained.Truncated)
	}
	for _, bad := range []string{"x", "!", "MAAA", strings.Repeat("A", 5000)} {
		if status, _ := h.do("GET", "/v1/routes?cursor="+bad, ""); status != http.StatusBadRequest {
			t.Errorf("cursor %.10q: %d", bad, status)
		}
	}
}
