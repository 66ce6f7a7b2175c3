package engine

import (
	"encoding/hex"
	"maps"
	"slices"
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
	Family                    wire.Family
	NLRI                      string
	Times                     int // how often it was found
	digest                    digest
}

// Text returns the name of the route for people.
func (r *HeldRoute) Text() string { return r.Family.Text(r.NLRI) }

// Place returns the position of the route in the order of the list.
func (r *HeldRoute) Place() Place {
	return Place{Peer: r.Peer, Family: r.Family, Key: short(r.NLRI), Other: r.Verdict + hex.EncodeToString(r.digest[:])}
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

// Held lists what is held back from a peer, or from all peers if none is named, in the order of places.
func (e *Engine) Held(peer string) Held {
	h, _ := e.HeldPage(peer, Place{}, 0)
	return h
}

// HeldPage is Held that begins after a place and has at most limit routes; 0: all. Only the first page has the sources and
// the families apart. more says that there are more routes.
func (e *Engine) HeldPage(peer string, after Place, limit int) (h Held, more bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(e.guards)) {
		if name >= after.Peer && (peer == "" || peer == name) {
			e.guards[name].list(&h, after)
		}
		if limit > 0 && len(h.Routes) > limit {
			h.Routes, more = h.Routes[:limit], true
			if after == (Place{}) {
				continue // the first page has the rest of the other lists
			}
			break
		}
	}
	return h, more
}

// list adds what the guard holds back after a place, and without one the sources and the families apart.
func (g *guard) list(h *Held, after Place) {
	first := len(h.Routes)
	add := func(d digest, s suspect, b HeldBack, times int) {
		if r := (HeldRoute{b, g.peer, s.announcer, s.endpoint, s.family, s.nlri, times, d}); r.Place().Compare(after) > 0 {
			h.Routes = append(h.Routes, r)
		}
	}
	for d, v := range g.verdicts {
		if !v.lapsed {
			add(d, v.suspect, HeldBack{Poison, v.why, v.since, v.until}, v.times)
		}
	}
	for d, s := range g.suspects {
		if g.search != nil && g.search.Holds(d) {
			add(d, s, HeldBack{Verdict: Suspected, Why: g.why}, 0)
		}
	}
	slices.SortFunc(h.Routes[first:], func(a, b HeldRoute) int { return a.Place().Compare(b.Place()) })
	if after != (Place{}) {
		return
	}
	for _, source := range slices.Sorted(maps.Keys(g.sources)) {
		h.Sources = append(h.Sources, HeldSource{g.peer, source, g.sources[source]})
	}
	for f, until := range g.apart {
		if !until.IsZero() {
			h.Apart = append(h.Apart, Apart{g.peer, wire.Family(f).String(), until})
		}
	}
}
