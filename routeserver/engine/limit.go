package engine

import (
	"fmt"

	"weft/routeserver/rib"
	"weft/routeserver/ruleset"
)

// judge is Judge, and quarantines the routes of a site that has more of them than it may have.
func (e *Engine) judge(set *ruleset.Set, g *rib.Group) (site string, reason rib.Reason) {
	site, reason = Judge(set, g.Peer, g.Family, g.Attributes)
	if reason == "" {
		if s := set.Site(site); s.MaxRoutes > 0 && e.table.Load(site) > s.MaxRoutes {
			reason = rib.Limit
		}
	}
	return site, reason
}

// limits brings the table's limits in line with those of sites that have changed.
func (e *Engine) limits(sites []string) {
	for _, name := range sites {
		if s := e.set.Site(name); s != nil {
			e.table.Limit(name, s.Peer, s.MaxRoutes)
		} else {
			e.table.Limit(name, "", 0)
		}
	}
}

// unlock ends what may have changed how many routes endpoints have.
func (e *Engine) unlock() {
	e.enforce(nil)
	e.mu.Unlock()
}

// enforce quarantines all routes of endpoints that have come to have too many, and accepts them again when they have not.
func (e *Engine) enforce(t *transaction) {
	for _, name := range e.table.Crossed() {
		site := e.set.Site(name)
		if site == nil {
			continue
		}
		var steps []step
		for _, g := range e.table.In(site.Peer).Groups() {
			if g.Site != name {
				continue
			}
			if s, different := e.consider(e.set, g); different {
				steps = append(steps, s)
			}
		}
		if len(steps) == 0 {
			continue
		}
		e.execute(t, steps)
		text := fmt.Sprintf("endpoint %s has %d routes, its limit is %d: they are accepted again", name, e.table.Load(name), site.MaxRoutes)
		switch {
		case e.table.Over(name):
			text = fmt.Sprintf("endpoint %s has %d routes, more than its limit of %d: all of them are in quarantine", name, e.table.Load(name), site.MaxRoutes)
		case site.MaxRoutes == 0:
			text = fmt.Sprintf("endpoint %s has no limit any more: its routes are accepted again", name)
		}
		e.Events.Add("limit", site.Peer, text)
	}
}
