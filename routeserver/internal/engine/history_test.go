package engine

import (
	"fmt"
	"testing"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

func TestNoPeerPushesOutWhatIsRememberedOfAnother(t *testing.T) {
	h := newHistory()
	withdraw := func(peer string, n int) {
		for i := range n {
			key := fmt.Sprint(i)
			h.withdrawn(peer, wire.VPLS, key, &rib.Route{NLRI: key, Group: &rib.Group{Endpoint: peer}})
		}
	}
	withdraw("quiet", 100)
	withdraw("hostile", 100*historySize)
	for i := range 100 {
		if _, known := h.routes[past{"quiet", wire.VPLS, fmt.Sprint(i)}]; !known {
			t.Fatalf("the withdrawal %d of the quiet peer is forgotten", i)
		}
	}
	if n := len(h.routes); n < historySize || n > 2*historySize || n != len(h.routeOrder) {
		t.Errorf("%d withdrawals are remembered, %d in order; want %d to %d", n, len(h.routeOrder), historySize, 2*historySize)
	}
}
