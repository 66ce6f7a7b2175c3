// Package rib holds the routes that peers announced, in groups of routes with the same attributes.
//
// A group belongs to one peer. It belongs to one endpoint, or it is in quarantine. All its routes go to the same recipients
// with the same route targets. So the Adj-RIB-Out of every peer is kept per group, not per route.
package rib

import (
	"slices"
	"time"

	"weft/routeserver/internal/out"
	"weft/routeserver/internal/wire"
)

// Reason is why a route is in quarantine; empty if it is not.
type Reason string

// Reasons that concern route targets, keys, families, loops and limits.
const (
	UnknownRT Reason = "unknown-rt" // no endpoint has this route target
	ForeignRT Reason = "foreign-rt" // it belongs to an endpoint of another peer
	NoRT      Reason = "no-rt"      // it has no route target
	Ambiguous Reason = "ambiguous"  // it has several route targets, one of them of the peer's own endpoint
	Duplicate Reason = "duplicate"  // another peer's accepted route has the same key
	Family    Reason = "family"     // the endpoint's routes are of another family
	Redirect  Reason = "redirect"   // it would redirect traffic into the VRF of a route target
	Loop      Reason = "loop"       // it was here before: its attributes show a loop
	Limit     Reason = "limit"      // its endpoint has more routes or MACs than its limit

	// Reasons that concern the endpoint's announce permits.
	ForeignRD      Reason = "foreign-rd"      // its RD is not the endpoint's
	ForeignVE      Reason = "foreign-ve"      // its VE ID is not the endpoint's
	Labels         Reason = "labels"          // its label block is not within the labels that the PE receives on
	NextHop        Reason = "next-hop"        // its next hop is not an address of the PE
	Originator     Reason = "originator"      // its originator is not an address of the PE
	ForeignMAC     Reason = "foreign-mac"     // its MAC is another endpoint's, a multicast MAC, or none
	ForeignAddress Reason = "foreign-address" // its address is not in the LAN
	ForeignPrefix  Reason = "foreign-prefix"  // its prefix is not in the LAN
	Segment        Reason = "segment"         // it names an Ethernet segment; endpoints have none
	RouteType      Reason = "route-type"      // endpoints have no routes of its EVPN type
	Flowspec       Reason = "flowspec"        // it is a traffic filter, and the permits allow none
)

// Reasons are all reasons.
var Reasons = []Reason{
	UnknownRT, ForeignRT, NoRT, Ambiguous, Duplicate, Family, Redirect, Loop, Limit, ForeignRD, ForeignVE, Labels, NextHop,
	Originator, ForeignMAC, ForeignAddress, ForeignPrefix, Segment, RouteType, Flowspec,
}

// Known reports whether there is such a reason.
func (r Reason) Known() bool { return slices.Contains(Reasons, r) }

// Route is one NLRI that a peer announced. Received is in Unix nanoseconds.
type Route struct {
	NLRI     string
	Group    *Group
	slot     int // in Group.routes
	Received int64
	cost     int32 // bytes, as counted
}

// Sent is a record that a peer was sent a group's routes: with which route targets, and when that was decided. Room is the
// length of the longest NLRI that fits into the peer's messages; routes with longer ones are not sent (RFC 8654 section 4).
type Sent struct {
	Peer    string
	Targets string
	Room    int32
	number  int32 // of the recipient, in a group's list
	At      time.Time
}

// Has reports whether a route is among those that were sent.
func (s Sent) Has(nlri string) bool { return len(nlri) <= int(s.Room) }

// Part splits NLRIs into those that fit into room and the rest.
func Part(nlris []string, room int32) (fit, rest []string) {
	if room <= 0 {
		return nil, nlris
	}
	for i, nlri := range nlris {
		if len(nlri) <= int(room) {
			continue
		}
		fit = slices.Clone(nlris[:i]) // rare
		for _, nlri := range nlris[i:] {
			if len(nlri) <= int(room) {
				fit = append(fit, nlri)
			} else {
				rest = append(rest, nlri)
			}
		}
		return fit, rest
	}
	return nlris, nil
}

// Group is routes of one peer with the same attributes and the same permit violation, if any.
type Group struct {
	Peer            string
	Family          wire.Family
	Attributes      *wire.Attributes
	Scope           wire.Scope // how far its communities allow it to go
	LongLived       bool       // its routes carry LLGR_STALE
	Site            string     // the endpoint that its route target belongs to, unless another reason excludes it
	Endpoint        string     // the same if the group is accepted; empty in quarantine
	Reason          Reason     // empty unless in quarantine
	Duplicate       bool       // the group holds the duplicates among the routes with its attributes
	PermitViolation Reason     // the permit that each of its routes violates by its own content; empty: none
	Out             []Sent
	in              *In // nil: the group has no routes any more
	routes          []*Route
	counted         int   // the number of routes that is counted for the recipients
	tightest        int32 // no recipient has less room
	whole           *out.Batch
	gone            *out.Batch
}

// Len is the number of routes.
func (g *Group) Len() int { return len(g.routes) }

// Routes returns the group's own list of its routes.
func (g *Group) Routes() []*Route { return g.routes }

// NLRIs returns a new list of the routes' NLRIs.
func (g *Group) NLRIs() []string {
	list := make([]string, len(g.routes))
	for i, r := range g.routes {
		list[i] = r.NLRI
	}
	return list
}

// Whole returns a batch that announces all the routes. The group makes it once for all recipients, and again after its
// routes change.
func (g *Group) Whole(r wire.Reflection) *out.Batch {
	if g.whole == nil {
		g.whole = out.Announce(g.Family, g.Attributes, r, g.NLRIs())
	}
	return g.whole
}

// Gone returns a batch that withdraws all the routes. The group makes it once, like Whole.
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

// SentTo returns the record of what a peer was sent.
func (g *Group) SentTo(peer string) (Sent, bool) {
	for _, s := range g.Out {
		if s.Peer == peer {
			return s, true
		}
	}
	return Sent{}, false
}

// SetSent records what a peer was sent; a record without targets stands for a withdrawal.
func (g *Group) SetSent(sent Sent) {
	i := len(g.Out) - 1
	for i >= 0 && g.Out[i].Peer != sent.Peer {
		i--
	}
	if i >= 0 {
		g.countRecord(&g.Out[i], -1)
	}
	switch {
	case sent.Targets == "" && i >= 0:
		g.Out = append(g.Out[:i:i], g.Out[i+1:]...)
		g.grow(-sentBytes)
	case sent.Targets == "":
	default:
		g.tighten(&sent)
		g.countRecord(&sent, 1)
		if i >= 0 {
			g.Out[i] = sent
			return
		}
		g.Out = append(g.Out, sent)
		g.grow(sentBytes)
	}
}

// Count returns how many of the routes a peer was sent; the others do not fit into its messages.
func (g *Group) Count(sent Sent) int {
	if g.Family.Holds(int(sent.Room)) {
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
	g.countRoute(r, 1)
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
	g.countRoute(r, -1)
	g.changed()
}

// changed discards the batches, which hold the routes before the change.
func (g *Group) changed() { g.whole, g.gone = nil, nil }
