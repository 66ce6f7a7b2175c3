package engine

import (
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Past returns the rule set of a generation that is, or recently was, in force, or nil. The known generations lie between
// low and high.
func (e *Engine) Past(generation uint64) (set *ruleset.Set, low, high uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	low, high = e.past.Range()
	return e.past.At(generation), low, high
}

// Announcement is a set of routes that a PE announces with the same attributes.
type Announcement struct {
	Peer       string
	Family     wire.Family
	Attributes *wire.Attributes
	NLRIs      []string
}

// Concerned lists present announcements that may go to other PEs, or with other route targets, under one rule set than
// under the other. It leaves duplicates out: which route has a key depends on who announced it first. The cost is in
// proportion to the routes of the endpoints that differ between the two, and to those in quarantine.
func (e *Engine) Concerned(a, b *ruleset.Set) []Announcement {
	sites := map[string]bool{}
	delta := ruleset.Compare(a, b)
	for _, site := range delta.Sites {
		sites[site] = true
	}
	for _, pair := range delta.Pairs {
		sites[pair.Endpoint] = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	owners := map[string]bool{} // endpoints with these route targets in the rule set in force; routes are found by them
	for name := range sites {
		for _, set := range []*ruleset.Set{a, b} {
			if site := set.Site(name); site != nil {
				if owner := e.set.Owner(site.Target); owner != nil {
					owners[owner.Name] = true
				}
			}
		}
	}
	var found []Announcement
	add := func(g *rib.Group) {
		if !g.Duplicate {
			found = append(found, Announcement{g.Peer, g.Family, g.Attributes, g.NLRIs()})
		}
	}
	for name := range owners {
		for g := range e.table.Endpoint(name) {
			add(g)
		}
	}
	if len(sites) > 0 {
		for g := range e.table.Suspects() {
			add(g)
		}
	}
	return found
}
