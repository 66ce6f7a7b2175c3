package engine

import (
	"fmt"
	"time"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
)

// judge is Judge that also quarantines groups with a permit violation, and groups of a site that is over its limit.
func (lr *locRIB) judge(set *ruleset.Set, g *rib.Group) (site string, reason rib.Reason) {
	site, reason = Judge(set, g.Peer, g.Family, g.Attributes)
	switch {
	case reason != "":
	case g.PermitViolation != "":
		reason = g.PermitViolation
	case lr.table.Exceeds(site, most(set.Site(site))):
		reason = rib.Limit
	}
	return site, reason
}

// limits gives the table the limits of sites that have changed.
func (lr *locRIB) limits(sites []string) {
	for _, name := range sites {
		if s := lr.set.Site(name); s != nil {
			lr.table.Limit(name, s.Peer, most(s))
		} else {
			lr.table.Limit(name, "", rib.Load{})
		}
	}
}

// most returns the limit of a site.
func most(s *ruleset.Site) rib.Load {
	most := rib.Load{Routes: s.MaxRoutes}
	if s.Grant != nil {
		most.MACs = s.Grant.MaxMACs
	}
	return most
}

// unlock enforces limits and releases the lock, after anything that may have changed how many routes endpoints have.
func (e *Engine) unlock() {
	e.enforce(nil)
	e.mu.Unlock()
}

// hold keeps an endpoint that was over its limit in quarantine for a time, whatever it has.
type hold struct {
	timer *time.Timer
	over  func()
}

// settleHold begins the hold of an endpoint that came over its limit, and readmits the endpoint when it has eased and the
// hold is over. So routes that come and go around the limit move the routes of the whole endpoint only once in that time.
func (e *Engine) settleHold(name string) {
	h := e.holds[name]
	switch over := e.table.Over(name); {
	case !over && h != nil:
		h.timer.Stop()
		delete(e.holds, name)
	case over && h == nil && e.table.Eased(name):
		e.table.Readmit(name)
	case over && h == nil && e.LimitHold > 0:
		h = &hold{}
		h.over = func() {
			e.mu.Lock()
			defer e.unlock()
			if e.holds[name] == h {
				delete(e.holds, name)
				e.table.Readmit(name)
			}
		}
		h.timer = time.AfterFunc(e.LimitHold, h.over)
		e.holds[name] = h
	}
}

// enforce quarantines all routes of endpoints that came over their limits, and accepts them again when they are back
// within. Then all routes are where they stay, and are counted.
func (e *Engine) enforce(t *transaction) {
	for _, name := range e.table.Crossed() {
		site := e.set.Site(name)
		e.settleHold(name)
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
		has, most := e.table.Load(name), most(site)
		text := fmt.Sprintf("endpoint %s has %s, its limit is %s: they are accepted again", name, has, most)
		switch {
		case e.table.Over(name):
			text = fmt.Sprintf("endpoint %s has %s, more than its limit of %s: all of them are in quarantine", name, has, most)
		case most == rib.Load{}:
			text = fmt.Sprintf("endpoint %s has no limit any more: its routes are accepted again", name)
		}
		e.Events.AddOften("limit", site.Peer, fmt.Sprintf("%s over: %v", name, e.table.Over(name)), text)
	}
	e.table.Settle()
}
