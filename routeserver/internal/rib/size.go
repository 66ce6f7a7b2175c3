package rib

import "weft/routeserver/internal/wire"

// What routes take beside what they say, in bytes; measured with one route and with a hundred thousand (engine's
// TestTheBudgetIsTrue), and rounded up.
const (
	routeBytes   = 512  // a route, its places in the tables, and the run of NLRIs that its own may be a part of
	groupBytes   = 1024 // a group
	sentBytes    = 64   // what a recipient was sent of a group
	versionBytes = 320  // a label block that another has taken the place of, and the run of NLRIs
	slimBytes    = 1024 // attributes up to this length stay encoded, once more
	shareOfSlim  = 2
)

// cost is what a group takes without its routes and recipients.
func cost(a *wire.Attributes) int {
	n := a.Bytes()
	if n <= slimBytes {
		n *= shareOfSlim
	}
	return groupBytes + n
}

// Bytes is the memory that a peer's routes take: attributes once for all routes that share them, each NLRI, and what is
// written down of each PE that was sent them.
func (in *In) Bytes() int { return in.bytes }

// grow counts for the peer that the group belongs to, as long as it does.
func (g *Group) grow(bytes int) {
	if g.in != nil {
		g.in.bytes += bytes
	}
}

// weigh counts a route with the NLRI that it has now.
func (in *In) weigh(r *Route) {
	cost := int32(routeBytes + len(r.NLRI))
	in.bytes += int(cost - r.cost)
	r.cost = cost
}

// forget counts a route no more.
func (in *In) forget(r *Route) {
	in.bytes -= int(r.cost)
	r.cost = 0
}
