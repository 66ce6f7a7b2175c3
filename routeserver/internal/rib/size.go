package rib

import "weft/routeserver/internal/wire"

// The memory in bytes that routes take beside their content. The values are measured with one route and with a hundred
// thousand (TestTheBudgetIsTrue in package engine), and rounded up.
const (
	routeBytes   = 512  // a route, its places in the tables, and the run of NLRIs that its own may be part of
	groupBytes   = 1024 // a group
	sentBytes    = 64   // the record of what a recipient was sent of a group
	versionBytes = 320  // a label block that was replaced by another, and its run of NLRIs
	slimBytes    = 1024 // attributes up to this length stay encoded as well
	shareOfSlim  = 2
)

// cost returns the memory of a group without its routes and recipients.
func cost(a *wire.Attributes) int {
	n := a.Bytes()
	if n <= slimBytes {
		n *= shareOfSlim
	}
	return groupBytes + n
}

// Bytes returns the memory that a peer's routes take: attributes once for all routes that share them, each NLRI, and the
// records of the PEs that were sent them.
func (in *In) Bytes() int { return in.bytes }

// grow adds bytes to the count of the group's peer, as long as the group belongs to the peer.
func (g *Group) grow(bytes int) {
	if g.in != nil {
		g.in.bytes += bytes
	}
}

// weigh counts the memory of a route with its present NLRI.
func (in *In) weigh(r *Route) {
	cost := int32(routeBytes + len(r.NLRI))
	in.bytes += int(cost - r.cost)
	r.cost = cost
}

// forget removes a route from the count.
func (in *In) forget(r *Route) {
	in.bytes -= int(r.cost)
	r.cost = 0
}
