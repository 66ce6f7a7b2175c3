package engine

import (
	"slices"
	"sort"
	"strings"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// The second model computes who may see what from the pools and announcements alone. It does not consider speed, and uses
// no code of the engine.

// announcement is what a PE last announced about a route.
type announcement struct {
	offer
	rts []string
	along
	external bool   // its PE is an external one
	as       string // the rest of what recipients see of it
}

// candidate is an announcement that may go to a pool, and the endpoint that it belongs to.
type candidate struct {
	announcement
	announcer string
	endpoint  ruleset.Endpoint
}

// candidates returns, by route, the announcements that include the winner. The winner is the one whose endpoint owns the
// route distinguisher, otherwise any (the first that came; this model does not know which). Long-lived stale ones remain
// only if all are. An endpoint that is over its limit has none.
func (w *world) candidates() map[string][]candidate {
	all := map[string][]candidate{}
	for announcer, routes := range w.said {
		for route, a := range routes {
			for _, e := range w.document.Endpoints {
				if w.bears(a, announcer, e) && w.permitted(e, a.offer) {
					all[route] = append(all[route], candidate{a, announcer, e})
				}
			}
		}
	}
	for route, rivals := range all {
		rivals = slices.DeleteFunc(rivals, func(c candidate) bool {
			return w.overloaded(c.endpoint)
		})
		if all[route] = rivals; len(rivals) == 0 {
			delete(all, route)
			continue
		}
		if slices.ContainsFunc(rivals, func(c candidate) bool { return !c.longLived() }) {
			all[route] = slices.DeleteFunc(slices.Clone(rivals), candidate.longLived)
		}
		for _, c := range rivals {
			if c.rd == c.endpoint.RD {
				all[route] = []candidate{c}
			}
		}
	}
	return all
}

// delivery returns the route targets with which a PE gets a candidate's route; empty: it does not get it.
func (w *world) delivery(peer string, c candidate) string {
	s := w.speakers[peer]
	if w.barred(peer, c.announcer) || c.home && s.external() || c.longLived() && !s.peer.restart.LongLived {
		return ""
	}
	var rts []string
	for _, f := range w.document.Endpoints {
		if f.Peer == peer && f.Name != c.endpoint.Name && w.together(f.Name, c.endpoint.Name) && s.families[c.family] && s.wants(f.RT) {
			rts = append(rts, f.RT)
		}
	}
	sort.Strings(rts)
	return strings.Join(rts, " ")
}

func (w *world) together(e, f string) bool {
	for _, v := range w.document.Vcps {
		if slices.Contains(v.Members, e) && slices.Contains(v.Members, f) {
			return true
		}
	}
	return false
}

// entry is a route that a PE has.
type entry struct {
	announcer, rts, as string
	family             wire.Family
}

// expected returns the routes that every PE must have, by NLRI. seen is what the engine says that it sent. It decides
// between candidates, but only if one candidate fits for all PEs at once.
func (w *world) expected(seen map[string]map[string]entry) map[string]map[string]entry {
	want := map[string]map[string]entry{}
	for peer := range w.speakers {
		want[peer] = map[string]entry{}
	}
	for _, rivals := range w.candidates() {
		winner := rivals[0]
		for _, c := range rivals {
			if w.agrees(c, rivals, seen) {
				winner = c
			}
		}
		for peer := range w.speakers {
			if rts := w.delivery(peer, winner); rts != "" {
				as := winner.as + crossed(winner.announcement, w.speakers[peer]) + marked(winner.all())
				want[peer][winner.text] = entry{winner.announcer, rts, as, winner.family}
			}
		}
	}
	return want
}

func (w *world) agrees(c candidate, rivals []candidate, seen map[string]map[string]entry) bool {
	for peer := range w.speakers {
		for _, other := range rivals {
			if _, has := seen[peer][other.text]; has && other.text != c.text { // another label block
				return false
			}
		}
		rts := w.delivery(peer, c)
		if have := seen[peer][c.text]; have.rts != rts || rts != "" && have.announcer != c.announcer {
			return false
		}
	}
	return true
}
