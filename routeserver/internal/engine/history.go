package engine

import (
	"time"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// historySize is how many past withdrawals are remembered at least, for explanations. Each peer has a share of them;
// withdrawals of others do not push it out.
const historySize = 4096

type past struct {
	peer   string
	family wire.Family
	key    string
}

// Gone is a route that was withdrawn.
type Gone struct {
	NLRI, Endpoint string
	Family         wire.Family
	At             time.Time
}

// history remembers routes that peers withdrew, and pairs of an endpoint and a peer that no longer gets the endpoint's
// routes.
type history struct {
	routes     map[past]Gone
	routeOrder []past
	pairs      map[[2]string]time.Time
	pairOrder  [][2]string
}

func newHistory() *history {
	return &history{routes: map[past]Gone{}, pairs: map[[2]string]time.Time{}}
}

func (h *history) withdrawn(peer string, f wire.Family, key string, r *rib.Route) {
	k := past{peer, f, key}
	if _, again := h.routes[k]; !again {
		if len(h.routeOrder) >= 2*historySize {
			h.shorten()
		}
		h.routeOrder = append(h.routeOrder, k)
	}
	h.routes[k] = Gone{NLRI: r.NLRI, Endpoint: r.Group.Endpoint, Family: f, At: now()}
}

// shorten forgets half of the withdrawals to make room. So each withdrawal costs little, however many peers there are.
func (h *history) shorten() {
	h.routeOrder = fair(h.routeOrder, func(k past) string { return k.peer }, historySize)
	routes := make(map[past]Gone, 2*historySize)
	for _, k := range h.routeOrder {
		routes[k] = h.routes[k]
	}
	h.routes = routes
}

func (h *history) parted(endpoint, peer string) {
	k := [2]string{endpoint, peer}
	if _, again := h.pairs[k]; !again {
		if len(h.pairOrder) >= historySize {
			delete(h.pairs, h.pairOrder[0])
			h.pairOrder = h.pairOrder[1:]
		}
		h.pairOrder = append(h.pairOrder, k)
	}
	h.pairs[k] = now()
}
