package rib

import (
	"maps"
	"slices"
)

// load is how many routes are a site's by their route target, accepted or not, and how many it may have.
type load struct {
	routes, limit int
	over          bool
}

// loads are those of the sites that have a limit.
type loads struct {
	of      map[string]*load
	crossed map[string]struct{} // sites that came to be over their limit or are not any more
}

// add counts routes of a site, or discounts them.
func (l *loads) add(site string, n int) {
	if len(l.of) == 0 { // usually, and asked for every route
		return
	}
	if s := l.of[site]; s != nil {
		s.routes += n
		l.look(site, s)
	}
}

func (l *loads) look(site string, s *load) {
	if over := s.limit > 0 && s.routes > s.limit; over != s.over {
		s.over = over
		l.crossed[site] = struct{}{}
	}
}

// Limit sets how many routes a site of a peer may have; 0: any number. The site is among those that Crossed gives.
func (t *Table) Limit(site, peer string, most int) {
	s := t.loads.of[site]
	switch {
	case s == nil && most == 0:
		return
	case s == nil:
		s = &load{}
		t.loads.of[site] = s
		if in := t.in[peer]; in != nil {
			for _, g := range in.groups {
				if g.Site == site {
					s.routes += g.Len()
				}
			}
		}
	}
	s.limit = most
	t.loads.look(site, s)
	t.loads.crossed[site] = struct{}{} // its routes were judged before they were counted
	if most == 0 {
		delete(t.loads.of, site)
	}
}

// Load is how many routes a site has, if it has a limit.
func (t *Table) Load(site string) int {
	if s := t.loads.of[site]; s != nil {
		return s.routes
	}
	return 0
}

// Over says whether a site has more routes than it may have.
func (t *Table) Over(site string) bool {
	s := t.loads.of[site]
	return s != nil && s.over
}

// Crossed gives the sites that came to be over their limit, or are not any more, since it was last asked.
func (t *Table) Crossed() []string {
	if len(t.loads.crossed) == 0 {
		return nil
	}
	sites := slices.Sorted(maps.Keys(t.loads.crossed))
	clear(t.loads.crossed)
	return sites
}
