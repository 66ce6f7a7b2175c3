// Package rib holds the routes that peers announced, in groups of routes with the same attributes.
//
// A group belongs to one peer and to one endpoint, or is in quarantine; all its routes go to the same recipients with the
// same route targets. So what was sent to whom (the Adj-RIB-Out of every peer) is kept per group, not per route.
package rib

import (
	"slices"
	"time"

	"weft/routeserver/internal/out"
	"weft/routeserver/internal/wire"
)

// Reason is why a route is in quarantine; empty if it is not.
type Reason string

// The reasons.
const (
	UnknownRT Reason = "unknown-rt" // no endpoint has this route target
	ForeignRT Reason = "foreign-rt" // it belongs to an endpoint of another peer
	NoRT      Reason = "no-rt"      // there is none
	Ambiguous Reason = "ambiguous"  // there are several, one of them the peer's own
	Duplicate Reason = "duplicate"  // another peer's accepted route has the same key
	Family    Reason = "family"     // the endpoint's routes are of another family
	Redirect  Reason = "redirect"   // it would redirect traffic into the VRF of a route target
	Loop      Reason = "loop"       // it was here before
	Limit     Reason = "limit"      // its endpoint has more routes, or MACs, than it may have

	// What the endpoint's permits are about.
	ForeignRD      Reason = "foreign-rd"      // its RD is not the endpoint's
	ForeignVE      Reason = "foreign-ve"      // nor its VE ID
	Labels         Reason = "labels"          // its label block is not of those that the PE receives on
	NextHop        Reason = "next-hop"        // it sends traffic to where the PE is not
	Originator     Reason = "originator"      // as does its originator
	ForeignMAC     Reason = "foreign-mac"     // its MAC is another endpoint's, or no machine's
	ForeignAddress Reason = "foreign-address" // its address is not of the LAN
	ForeignPrefix  Reason = "foreign-prefix"  // nor its prefix
	Segment        Reason = "segment"         // it names an Ethernet segment, and there is none
	RouteType      Reason = "route-type"      // endpoints have no routes of its EVPN type
	Flowspec       Reason = "flowspec"        // it is a traffic filter
)

// Known says whether there is such a reason.
func (r Reason) Known() bool {
	return slices.Contains([]Reason{
		UnknownRT, ForeignRT, NoRT, Ambiguous, Duplicate, Family, Redirect, Loop, Limit, ForeignRD, ForeignVE, Labels, NextHop,
		Originator, ForeignMAC, ForeignAddress, ForeignPrefix, Segment, RouteType, Flowspec,
	}, r)
}

// Route is one NLRI that a peer announced. Received is in Unix nanoseconds.
type Route struct {
	NLRI     string
	Group    *Group
	slot     int // in Group.routes
	Received int64
	cost     int32 // bytes, as counted
}

// Sent says that a peer was sent a group's routes: with which route targets, and when that was decided. Room is how long an
// NLRI may be to fit into the peer's messages; routes with longer ones are not sent (RFC 8654 section 4).
type Sent struct {
	Peer    string
	Targets string
	Room    int
	At      time.Time
}

// Has says whether a route is among those that were sent.
func (s Sent) Has(nlri string) bool { return len(nlri) <= s.Room }

// Part gives those of some NLRIs for which there is room, and the others.
func Part(nlris []string, room int) (fit, rest []string) {
	if room <= 0 {
		return nil, nlris
	}
	for i, nlri := range nlris {
		if len(nlri) <= room {
			continue
		}
		fit = slices.Clone(nlris[:i]) // nearly never
		for _, nlri := range nlris[i:] {
			if len(nlri) <= room {
				fit = append(fit, nlri)
			} else {
				rest = append(rest, nlri)
			}
		}
		return fit, rest
	}
	return nlris, nil
}

// Group is routes of one peer with the same attributes, and with the same thing wrong with each of them.
type Group struct {
	Peer            string
	Family          wire.Family
	Attributes      *wire.Attributes
	Scope           wire.Scope // how far its communities let it go
	LongLived       bool       // its routes carry LLGR_STALE
	Site            string     // whose its route target is, if nothing else is wrong with it
	Endpoint        string     // the same if it is accepted; empty in quarantine
	Reason          Reason     // empty unless in quarantine
	Duplicate       bool       // holds the routes of its attributes that are duplicates
	PermitViolation Reason     // what is wrong with each of its routes by what it says itself; empty: nothing
	Out             []Sent
	in              *In // nil: it has no routes any more
	routes          []*Route
	whole           *out.Batch
	gone            *out.Batch
}

// Len is the number of routes.
func (g *Group) Len() int { return len(g.routes) }

// Routes lists the routes. The list is the group's own.
func (g *Group) Routes() []*Route { return g.routes }

// NLRIs lists the routes' NLRIs.
func (g *Group) NLRIs() []string {
	list := make([]string, len(g.routes))
	for i, r := range g.routes {
		list[i] = r.NLRI
	}
	return list
}

// Whole is a batch that announces all the routes. It is made once for all recipients, until the routes change.
func (g *Group) Whole(r wire.Reflection) *out.Batch {
	if g.whole == nil {
		g.whole = out.Announce(g.Family, g.Attributes, r, g.NLRIs())
	}
	return g.whole
}

// Gone is a batch that withdraws all the routes, made once like Whole.
func (g *Group) Gone() *out.Batch {
	if g.gone == nil {
		var nlris []string
		if g.whole != nil {
			nlris = g.whole.NLRIs
		} else {
			nlris = g.NLRIs()
		}
		g.gone = out.Withdraw(g.Family, nlris)
	}
	return g.gone
}

// SentTo finds what a peer was sent.
func (g *Group) SentTo(peer string) (Sent, bool) {
	for _, s := range g.Out {
		if s.Peer == peer {
			return s, true
		}
	}
	return Sent{}, false
}

// SetSent records what a peer was sent; without targets, that it was sent a withdrawal.
func (g *Group) SetSent(sent Sent) {
	for i := range g.Out {
		if g.Out[i].Peer != sent.Peer {
			continue
		}
		if sent.Targets == "" {
			g.Out = append(g.Out[:i:i], g.Out[i+1:]...)
			g.grow(-sentBytes)
		} else {
			g.Out[i] = sent
		}
		return
	}
	if sent.Targets != "" {
		g.Out = append(g.Out, sent)
		g.grow(sentBytes)
	}
}

// Count is how many of the routes a peer was sent; the others do not fit into its messages.
func (g *Group) Count(sent Sent) int {
	if g.Family.Holds(sent.Room) {
		return g.Len()
	}
	n := 0
	for _, r := range g.routes {
		if sent.Has(r.NLRI) {
			n++
		}
	}
	return n
}

func (g *Group) add(r *Route) {
	r.Group, r.slot = g, len(g.routes)
	g.routes = append(g.routes, r)
	g.changed()
}

func (g *Group) remove(r *Route) {
	last := len(g.routes) - 1
	g.routes[r.slot] = g.routes[last]
	g.routes[r.slot].slot = r.slot
	g.routes[last] = nil
	g.routes = g.routes[:last]
	if cap(g.routes) > 64 && last < cap(g.routes)/4 {
		g.routes = append(make([]*Route, 0, 2*last), g.routes...)
	}
	r.Group = nil
	g.changed()
}

// changed forgets the batches of the routes as they were.
func (g *Group) changed() { g.whole, g.gone = nil, nil }
