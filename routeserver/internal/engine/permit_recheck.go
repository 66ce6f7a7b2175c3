package engine

import (
	"slices"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Routes with the same attributes are judged together. The content of each route is judged when it comes, and again here
// when a change of the rule set may make a difference.

// sifted returns the sites whose routes may violate permits under only one of two rule sets. These are sites with other
// permits, and sites that begin or cease to share a pool with one that has MACs of its own.
func sifted(old, now *ruleset.Set, delta *ruleset.Delta) []string {
	sites := slices.Clone(delta.Sites)
	if old.Guards() || now.Guards() {
		for _, pair := range delta.Pairs {
			sites = append(sites, pair.Endpoint)
		}
		for _, name := range delta.Sites {
			sites = append(append(sites, old.Neighbours(name)...), now.Neighbours(name)...)
		}
	}
	slices.Sort(sites)
	return slices.Compact(sites)
}

// expel moves routes that violate the next rule set's permits to quarantine before that set is in force, so that nobody is
// ever sent one. It withdraws those that were sent.
func (lr *locRIB) expel(t *transaction, next *ruleset.Set, delta *ruleset.Delta) {
	lr.recheck(t, next, sifted(lr.set, next, delta), func(odd rib.Reason) bool { return odd != "" })
}

// readmit accepts routes that no longer violate permits under the rule set in force. It comes after the other routes were
// addressed by that.
func (lr *locRIB) readmit(t *transaction, was *ruleset.Set, delta *ruleset.Delta) {
	lr.recheck(t, lr.set, sifted(was, lr.set, delta), func(odd rib.Reason) bool { return odd == "" })
}

func (lr *locRIB) recheck(t *transaction, set *ruleset.Set, sites []string, now func(rib.Reason) bool) {
	for _, name := range sites {
		site := set.Site(name)
		if site == nil || lr.table.Ins()[site.Peer] == nil {
			continue
		}
		in := lr.table.In(site.Peer)
		m := mover{out: &lr.adjRIBOut, t: t}
		for _, g := range in.Groups() {
			if site.Grant == nil && g.PermitViolation == "" || !bears(g, site.Target) {
				continue
			}
			for _, r := range slices.Clone(g.Routes()) {
				odd := Permit(set, site, g.Family, r.NLRI)
				if odd == g.PermitViolation || !now(odd) {
					continue
				}
				key := g.Family.Key(r.NLRI)
				if g.Duplicate {
					lr.table.Unwait(g.Family, key, r)
				}
				to := lr.aside(in, g.Family, g.Attributes, odd)
				lr.place(&m, in, key, r, g, to)
				lr.table.Tidy(in, to) // if place put the route into the group of duplicates instead
			}
		}
		m.flush()
	}
}

// bears reports whether a group's routes have a route target.
func bears(g *rib.Group, rt wire.RT) bool { return slices.Contains(wire.RTs(g.Attributes.RTs), rt) }
