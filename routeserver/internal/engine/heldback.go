package engine

import (
	"maps"
	"slices"
	"strings"
	"time"

	"weft/routeserver/internal/wire"
)

// Verdicts about a route that is held back from a peer.
const (
	Poison    = "poison"    // the peer ended its session for it
	Suspected = "suspected" // it may be the cause, and is being tried
)

// HeldBack is why a peer is not sent a route.
type HeldBack struct {
	Verdict string
	Why     string // how the session ended
	Since   time.Time
	Until   time.Time // zero: until it is tried
}

// HeldRoute is a route that is held back from a peer, whether the peer has a session or not.
type HeldRoute struct {
	HeldBack
	Peer, Announcer, Endpoint string
	Family, NLRI, Text        string
	Times                     int // how often it was found
}

// HeldSource is an announcing peer whose routes are all held back from another peer.
type HeldSource struct {
	Peer, Announcer string
	Until           time.Time
}

// Apart is a family whose routes are sent to a peer in one message each.
type Apart struct {
	Peer, Family string
	Until        time.Time
}

// Held is everything that the guard does for peers.
type Held struct {
	Routes  []HeldRoute
	Sources []HeldSource
	Apart   []Apart
}

// Held lists what is held back from a peer, or from all peers if none is named, sorted by peer.
func (e *Engine) Held(peer string) (h Held) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(e.guards)) {
		if peer == "" || peer == name {
			e.guards[name].list(&h)
		}
	}
	return h
}

func (g *guard) list(h *Held) {
	first := len(h.Routes)
	add := func(s suspect, b HeldBack, times int) {
		h.Routes = append(h.Routes, HeldRoute{b, g.peer, s.announcer, s.endpoint, s.family.String(), s.nlri, s.family.Text(s.nlri), times})
	}
	for _, v := range g.verdicts {
		if !v.lapsed {
			add(v.suspect, HeldBack{Poison, v.why, v.since, v.until}, v.times)
		}
	}
	for d, s := range g.suspects {
		if g.search != nil && g.search.Holds(d) {
			add(s, HeldBack{Verdict: Suspected, Why: g.why}, 0)
		}
	}
	slices.SortFunc(h.Routes[first:], func(a, b HeldRoute) int { return strings.Compare(a.Verdict+a.Text, b.Verdict+b.Text) })
	for _, source := range slices.Sorted(maps.Keys(g.sources)) {
		h.Sources = append(h.Sources, HeldSource{g.peer, source, g.sources[source]})
	}
	for f, until := range g.apart {
		if !until.IsZero() {
			h.Apart = append(h.Apart, Apart{g.peer, wire.Family(f).String(), until})
		}
	}
}
