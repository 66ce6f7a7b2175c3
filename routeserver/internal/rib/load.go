package rib

import (
	"fmt"
	"maps"
	"slices"

	"weft/routeserver/internal/wire"
)

// Load is how many routes a site has, or may have, and how many MACs are in them.
type Load struct{ Routes, MACs int }

// Over says whether it is more than what may be; 0 stands for any number.
func (l Load) Over(most Load) bool {
	return most.Routes > 0 && l.Routes > most.Routes || most.MACs > 0 && l.MACs > most.MACs
}

// String is for people.
func (l Load) String() string {
	if l.MACs == 0 {
		return fmt.Sprintf("%d routes", l.Routes)
	}
	return fmt.Sprintf("%d routes and %d MACs", l.Routes, l.MACs)
}

// load is what a site has by its route target, accepted or not, and what it may have.
type load struct {
	routes int
	macs   map[string]int // and in how many routes each is; nil: they are not counted
	most   Load
	over   bool // and it stays so until Readmit, or until it may have another number
	eased  bool // it is over its limit no more, by a margin
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

// loads are those of the sites that have a limit.
type loads struct {
	of      map[string]*load
	crossed map[string]struct{} // sites that came to be over their limit or are not any more
}

// add counts a route of a site, or discounts it.
func (l *loads) add(site string, f wire.Family, nlri string, n int) {
	if len(l.of) == 0 { // asked for every route
		return
	}
	if s := l.of[site]; s != nil {
		s.count(f, nlri, n)
		l.look(site, s)
	}
}

// addAll does so with all routes of a group.
func (l *loads) addAll(site string, g *Group, n int) {
	if s := l.of[site]; s != nil {
		for _, r := range g.routes {
			s.count(g.Family, r.NLRI, n)
		}
		l.look(site, s)
	}
}

// look takes note of a site that comes to be over its limit, or comes to have nine tenths of it or less again.
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

// margin is nine tenths of a limit, or all of one below ten.
func (l Load) margin() Load { return Load{l.Routes - l.Routes/10, l.MACs - l.MACs/10} }

// Limit sets what a site of a peer may have. The site is among those that Crossed gives.
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
	t.loads.crossed[site] = struct{}{} // its routes were judged before they were counted
	if most == (Load{}) {
		delete(t.loads.of, site)
	}
}

// Load is what a site has, if it has a limit.
func (t *Table) Load(site string) Load {
	if s := t.loads.of[site]; s != nil {
		return s.has()
	}
	return Load{}
}

// Over says whether a site has more than it may have.
func (t *Table) Over(site string) bool {
	s := t.loads.of[site]
	return s != nil && s.over
}

// Exceeds says whether a site has more than it would have to have with a limit: with its own one, whether it is over that.
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

// Eased says whether a site that is over its limit could be readmitted: it has nine tenths of it or less.
func (t *Table) Eased(site string) bool {
	s := t.loads.of[site]
	return s != nil && s.over && s.eased
}

// Readmit says that a site that has eased is over its limit no more. Crossed gives it.
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

// Crossed gives the sites that came to be over their limit, have eased, or were readmitted since it was last asked.
func (t *Table) Crossed() []string {
	if len(t.loads.crossed) == 0 {
		return nil
	}
	sites := slices.Sorted(maps.Keys(t.loads.crossed))
	clear(t.loads.crossed)
	return sites
}
