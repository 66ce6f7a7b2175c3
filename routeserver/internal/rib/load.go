package rib

import (
	"fmt"
	"maps"
	"slices"

	"weft/routeserver/internal/wire"
)

// Load is a number of routes of a site and of the MACs in them: the present one, or a limit.
type Load struct{ Routes, MACs int }

// Over reports whether the load exceeds a limit; 0 in the limit stands for any number.
func (l Load) Over(most Load) bool {
	return most.Routes > 0 && l.Routes > most.Routes || most.MACs > 0 && l.MACs > most.MACs
}

// String returns the load as a text for people.
func (l Load) String() string {
	if l.MACs == 0 {
		return fmt.Sprintf("%d routes", l.Routes)
	}
	return fmt.Sprintf("%d routes and %d MACs", l.Routes, l.MACs)
}

// load is the load of a site by its route target, accepted or not, and its limit.
type load struct {
	routes int
	macs   map[string]int // MACs, and how many routes have each; nil: MACs are not counted
	most   Load
	over   bool // the site is over its limit; stays set until Readmit or until the limit changes
	eased  bool // the load is below the limit again, by a margin
}

func (s *load) has() Load { return Load{s.routes, len(s.macs)} }

func (s *load) count(f wire.Family, nlri string, n int) {
	s.routes += n
	if s.macs == nil || f != wire.EVPN {
		return
	}
	if mac := f.Content(nlri).MAC; mac != "" {
		if s.macs[mac] += n; s.macs[mac] == 0 {
			delete(s.macs, mac)
		}
	}
}

// loads are the loads of the sites that have a limit.
type loads struct {
	of      map[string]*load
	crossed map[string]struct{} // sites that came over their limit, or below it again
}

// add counts a route of a site (n is 1), or removes it from the count (n is -1).
func (l *loads) add(site string, f wire.Family, nlri string, n int) {
	if len(l.of) == 0 { // short cut: every route calls this
		return
	}
	if s := l.of[site]; s != nil {
		s.count(f, nlri, n)
		l.look(site, s)
	}
}

// addAll does the same for all routes of a group.
func (l *loads) addAll(site string, g *Group, n int) {
	if s := l.of[site]; s != nil {
		for _, r := range g.routes {
			s.count(g.Family, r.NLRI, n)
		}
		l.look(site, s)
	}
}

// look records a site that comes over its limit, or that returns to nine tenths of it or less.
func (l *loads) look(site string, s *load) {
	switch has := s.has(); {
	case s.over:
		if eased := !has.Over(s.most.margin()); eased != s.eased {
			s.eased = eased
			l.crossed[site] = struct{}{}
		}
	case has.Over(s.most):
		s.over = true
		l.crossed[site] = struct{}{}
	}
}

// margin returns nine tenths of a limit, or the whole limit if it is below ten.
func (l Load) margin() Load { return Load{l.Routes - l.Routes/10, l.MACs - l.MACs/10} }

// Limit sets the limit of a site of a peer. Crossed then returns the site.
func (t *Table) Limit(site, peer string, most Load) {
	s := t.loads.of[site]
	if s == nil && most == (Load{}) {
		return
	}
	if s == nil || (s.macs == nil) != (most.MACs == 0) {
		s = &load{}
		if most.MACs > 0 {
			s.macs = map[string]int{}
		}
		t.loads.of[site] = s
		if in := t.in[peer]; in != nil {
			for _, g := range in.groups {
				if g.Site == site {
					t.loads.addAll(site, g, 1)
				}
			}
		}
	}
	if s.most != most {
		s.most, s.over, s.eased = most, s.has().Over(most), false
	}
	t.loads.crossed[site] = struct{}{} // the site's routes were judged before they were counted
	if most == (Load{}) {
		delete(t.loads.of, site)
	}
}

// Load returns the load of a site that has a limit.
func (t *Table) Load(site string) Load {
	if s := t.loads.of[site]; s != nil {
		return s.has()
	}
	return Load{}
}

// Over reports whether a site is over its limit.
func (t *Table) Over(site string) bool {
	s := t.loads.of[site]
	return s != nil && s.over
}

// Exceeds reports whether a site exceeds a limit. For the site's own limit, it reports whether the site counts as over it.
func (t *Table) Exceeds(site string, most Load) bool {
	s := t.loads.of[site]
	switch {
	case s == nil:
		return false
	case s.most == most:
		return s.over
	}
	return s.has().Over(most)
}

// Eased reports whether a site that is over its limit can be readmitted: its load is nine tenths of the limit or less.
func (t *Table) Eased(site string) bool {
	s := t.loads.of[site]
	return s != nil && s.over && s.eased
}

// Readmit ends the state of being over the limit for a site that has eased. Crossed then returns the site.
func (t *Table) Readmit(site string) {
	if t.Eased(site) {
		s := t.loads.of[site]
		s.over, s.eased = false, false
		t.loads.crossed[site] = struct{}{}
	}
}

// Overloaded lists the sites that are over their limit.
func (t *Table) Overloaded() (sites []string) {
	for site, s := range t.loads.of {
		if s.over {
			sites = append(sites, site)
		}
	}
	return sites
}

// Crossed returns the sites that came over their limit, eased or were readmitted since the last call.
func (t *Table) Crossed() []string {
	if len(t.loads.crossed) == 0 {
		return nil
	}
	sites := slices.Sorted(maps.Keys(t.loads.crossed))
	clear(t.loads.crossed)
	return sites
}
