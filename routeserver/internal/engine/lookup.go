package engine

import (
	"cmp"
	"net/netip"
	"slices"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// Lookup is a question for the routes that lead to an address: to a MAC address (six bytes), or to all addresses in a
// prefix; a single address is a prefix as well.
type Lookup struct {
	MAC    string
	Prefix netip.Prefix
	Limit  int
}

// Match is a route that leads to an address.
type Match struct {
	View
	Pools      []string // of its endpoint
	Longest    []string // pools in which no route to the address is longer
	Length     int      // of its prefix in bits; -1 in a lookup of a MAC address
	Recipients int      // PEs that are sent it
}

// found is a route that may be a match.
type found struct {
	group  *rib.Group
	route  *rib.Route
	pools  []string
	length int
}

// Lookup returns the longest matches in each pool, accepted routes of endpoints without a pool, and routes in quarantine,
// the longest first. A lookup of a MAC address returns all routes of types 2 with it. more says that there are more than the
// limit. bare is the number of VPLS routes, which have no addresses. It blocks the engine for one walk through the table.
func (e *Engine) Lookup(q Lookup) (matches []Match, bare int, more bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []found
	longest := map[string]int{}
	for _, in := range e.table.Ins() {
		bare += len(in.Routes(wire.VPLS))
		for _, g := range in.Groups() {
			if g.Family == wire.VPLS || g.Family.Flow() {
				continue
			}
			pools := e.set.PoolsOf(g.Endpoint)
			for _, r := range g.Routes() {
				length, leads := q.leads(g.Family, r.NLRI)
				if !leads {
					continue
				}
				all = append(all, found{g, r, pools, length})
				for _, pool := range pools {
					if best, any := longest[pool]; !any || length > best {
						longest[pool] = length
					}
				}
			}
		}
	}
	for _, c := range all {
		in := slices.DeleteFunc(slices.Clone(c.pools), func(pool string) bool { return longest[pool] != c.length })
		if len(in) > 0 || len(c.pools) == 0 {
			m := Match{View: e.view(AdjIn, c.group, c.route), Pools: c.pools, Longest: in, Length: c.length}
			m.Recipients = e.recipientsOf(c.group, c.route)
			matches = append(matches, m)
		}
	}
	slices.SortFunc(matches, func(a, b Match) int { return cmp.Or(cmp.Compare(b.Length, a.Length), a.Place().Compare(b.Place())) })
	if q.Limit > 0 && len(matches) > q.Limit {
		return matches[:q.Limit], bare, true
	}
	return matches, bare, false
}

// leads reports whether a route leads to the address, and the length of its prefix.
func (q *Lookup) leads(f wire.Family, nlri string) (length int, ok bool) {
	c := f.Content(nlri)
	if q.MAC != "" {
		return -1, c.Type == wire.TypeMACIP && c.MAC == q.MAC
	}
	to := c.Prefix
	if c.Type == wire.TypeMACIP && c.Address.IsValid() {
		to = netip.PrefixFrom(c.Address, c.Address.BitLen())
	}
	return to.Bits(), to.IsValid() && to.Bits() <= q.Prefix.Bits() && to.Contains(q.Prefix.Addr())
}

// recipientsOf counts the PEs that are sent a route.
func (ss *sessions) recipientsOf(g *rib.Group, r *rib.Route) (n int) {
	for _, s := range g.Out {
		if p := ss.peers[s.Peer]; p != nil && s.Has(r.NLRI) && p.heldBack(g, r.NLRI) == nil {
			n++
		}
	}
	return n
}
