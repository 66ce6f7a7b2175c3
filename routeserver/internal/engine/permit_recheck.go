package engine

import (
	"slices"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Routes with the same attributes are judged together; what each of them says is judged when it comes, and again here
// when a change of the rule set may have made a difference to that.

// sifted are the sites whose routes may be odd by one of two rule sets only: those with other permits, and those that have
// come to share a pool, or do not any more, with one that has MACs of its own.
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

// expel takes routes that are odd by the next rule set from where they are, before that is in force: so nobody is ever
// sent one. Those that were sent are withdrawn.
func (lr *locRIB) expel(t *transaction, next *ruleset.Set, delta *ruleset.Delta) {
	lr.recheck(t, next, sifted(lr.set, next, delta), func(odd rib.Reason) bool { return odd != "" })
}

// readmit accepts routes that are not odd any more by the rule set in force, when others have been addressed by it.
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
				lr.table.Tidy(in, to) // if it is a duplicate there
			}
		}
		m.flush()
	}
}

// bears says whether a group's routes have a route target.
func bears(g *rib.Group, rt wire.RT) bool { return slices.Contains(wire.RTs(g.Attributes.RTs), rt) }
