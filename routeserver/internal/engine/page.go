package engine

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// Place is the position of a route in the order of all tables: by announcing peer, family and key, then by recipient or
// pool. It stays the same whatever happens to the route, and to others.
type Place struct {
	Peer   string
	Family wire.Family
	Key    string
	Other  string // recipient or pool; empty in the other tables
}

// Place returns the position of the route.
func (v *View) Place() Place {
	return Place{v.Peer, v.Family, short(v.Family.Key(v.NLRI)), cmp.Or(v.To, v.Pool)}
}

// short returns a key as a place has it. Long keys are shortened: a cursor is part of a URL, and a traffic filter may have
// 4 KB.
func short(key string) string {
	if len(key) <= 64 {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return key[:32] + string(sum[:])
}

// Compare orders places.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.Peer, q.Peer), cmp.Compare(p.Family, q.Family), cmp.Compare(p.Key, q.Key), cmp.Compare(p.Other, q.Other))
}

// placed is a route that may be in a page.
type placed struct {
	place Place
	group *rib.Group
	route *rib.Route
}

// Select lists routes in the order of their places. more says that there are more routes than the limit.
func (e *Engine) Select(f Filter) (views []View, more bool) { return e.Page(f, Place{}) }

// Page is Select that begins after a place. It blocks the engine for one walk through the routes of the peers that the page
// has routes of, and for sorting them.
func (e *Engine) Page(f Filter, after Place) (views []View, more bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for from := after; ; {
		found, rest := e.first(&f, from)
		for _, c := range found {
			start := len(views)
			views = e.inTable(&f, c.group, c.route, views)
			fresh := views[start:]
			slices.SortFunc(fresh, func(a, b View) int { return a.Place().Compare(b.Place()) })
			fresh = slices.DeleteFunc(fresh, func(v View) bool { return v.Place().Compare(after) <= 0 })
			if views = views[:start+len(fresh)]; f.Limit > 0 && len(views) > f.Limit {
				return views[:f.Limit], true
			}
		}
		if !rest { // otherwise goes on: perhaps none of those found is in the table
			return views, false
		}
		from = found[len(found)-1].place
		from.Other = "\xff" // after all entries of this route
	}
}

// first returns the first routes from a place on that may be in a page, in order, and more than the page has. rest says that
// there may be others.
func (lr *locRIB) first(f *Filter, from Place) (found []placed, rest bool) {
	const enough = 4096
	most := 0
	if f.Limit > 0 {
		most = f.Limit + 1
	}
	order := func(a, b placed) int { return a.place.Compare(b.place) }
	trim := func() {
		slices.SortFunc(found, order)
		if most > 0 && len(found) > most {
			found, rest = found[:most], true
		}
	}
	begin := from
	if begin.Other != "\xff" {
		begin.Other = "" // the route itself may have more recipients
	}
	for _, peer := range lr.announcers(f) {
		if peer < from.Peer {
			continue
		}
		if most > 0 && len(found) >= most { // all routes of this peer and of the next ones come after those found
			rest = true
			break
		}
		for _, g := range lr.matching(f, peer) {
			if g.Len() == 0 || len(lr.inTable(f, g, g.Routes()[0], nil)) == 0 { // all its routes, or none
				continue
			}
			for _, r := range g.Routes() {
				c := placed{Place{Peer: g.Peer, Family: g.Family, Key: short(g.Family.Key(r.NLRI))}, g, r}
				if c.place.Compare(begin) < 0 || rest && c.place.Compare(found[most-1].place) > 0 ||
					!f.carried(g.Family, r.NLRI) || !lr.about(f, g, r.NLRI) {
					continue
				}
				if found = append(found, c); most > 0 && len(found) >= 2*most+enough {
					trim()
				}
			}
		}
	}
	trim()
	return found, rest
}
