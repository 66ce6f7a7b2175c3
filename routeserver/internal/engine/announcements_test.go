package engine

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/wire"
)

// Announcements and withdrawals of PEs.

// announce makes a PE announce routes.
func (w *world) announce() string {
	s := w.anySpeaker()
	if s == nil {
		return "nothing"
	}
	return w.announces(s)
}

// announces makes a PE announce routes of a site. Mostly the site is the PE's own, and the routes have its route target.
func (w *world) announces(s *speaker) string {
	i := w.anySite(s.name)
	rts := []string{w.rt(i)}
	how := w.anyAlong(s)
	switch w.r.IntN(24) {
	case 0:
		rts = nil
	case 1:
		rts = append(rts, anyTarget(w))
	case 2:
		rts = []string{anyTarget(w)}
	case 3:
		rts = []string{"65000:9999"}
	case 4:
		how.stray = true
	}
	rts = slices.Compact(slices.Sorted(slices.Values(rts)))
	rd := i
	if w.r.IntN(3) == 0 { // perhaps another site's route distinguisher, or nobody's
		rd = w.r.IntN(worldSites + 2)
	}
	list := w.anyRoutes(i, rd)
	if w.r.IntN(20) == 0 {
		bad, why := w.ineligible(s, how)
		s.send(s.update(list, rts, bad))
		for _, o := range list {
			w.unsay(s.name, o.route)
			s.murky[o.route] = true
		}
		return fmt.Sprintf("%s announces %v %s", s.name, texts(list), why)
	}
	if w.r.IntN(30) == 0 && !s.external() { // it announces a route that was here before
		id := netip.MustParseAddr("10.0.0.254")
		loop, err := bgp.NewPathAttributeOriginatorId(id)
		if err != nil {
			w.t.Fatal(err)
		}
		s.send(s.update(list, rts, how, loop))
		for _, o := range list {
			w.unsay(s.name, o.route)
			s.murky[o.route] = true
		}
		return fmt.Sprintf("%s announces %v in a loop", s.name, texts(list))
	}
	s.send(s.update(list, rts, how))
	w.say(s, list, rts, how)
	return fmt.Sprintf("%s announces %v with %v, %+v", s.name, texts(list), rts, how)
}

// say records routes that were announced. Routes of families that were not agreed upon go nowhere.
func (w *world) say(s *speaker, list []offer, rts []string, how along) {
	for _, o := range list {
		if !s.families[o.family] {
			continue
		}
		if a, there := w.said[s.name][o.route]; there && o.family == wire.VPLS && a.text != o.text {
			s.replace(o.route, a.text, o.text)
		}
		delete(w.stale[s.name], o.route)
		delete(s.again[o.family], o.route)
		w.said[s.name][o.route] = announcement{o, rts, how, s.external(), described(o.family, s.hop(), o.nlri)}
	}
}

// anySite returns mostly one of the PE's own sites, if it has any.
func (w *world) anySite(peer string) int {
	i := w.r.IntN(worldSites)
	if w.r.IntN(12) > 0 {
		for tries := 0; tries < 20 && w.owner(i) != peer; tries++ {
			i = w.r.IntN(worldSites)
		}
	}
	return i
}

func (w *world) owner(i int) string {
	for _, e := range w.document.Endpoints {
		if e.Name == siteName(i) {
			return e.Peer
		}
	}
	return ""
}

func (w *world) rt(i int) string {
	for _, e := range w.document.Endpoints {
		if e.Name == siteName(i) {
			return e.RT
		}
	}
	return anyTarget(w)
}

func anyTarget(w *world) string { return fmt.Sprintf("65000:%d", 1+w.r.IntN(worldTargets)) }

// withdraw withdraws a route, mostly one that was announced.
func (w *world) withdraw() string {
	s := w.anySpeaker()
	if s == nil {
		return "nothing"
	}
	keys := sortedKeys(w.said[s.name])
	if len(keys) == 0 || w.r.IntN(4) == 0 {
		i := w.anySite(s.name)
		list := slices.DeleteFunc(w.anyRoutes(i, i), func(o offer) bool { // the model does not know what is in quarantine there
			return o.family == wire.VPLS && s.murky[o.route] && w.said[s.name][o.route].text != o.text
		})
		s.withdraw(list)
		for _, o := range list {
			if a := w.said[s.name][o.route]; a.text != o.text && s.replaced[o.route][o.text] {
				delete(s.replaced[o.route], o.text) // late: the label block that replaced it stays
			} else {
				w.unsay(s.name, o.route)
			}
		}
		return fmt.Sprintf("%s withdraws %v", s.name, texts(list))
	}
	a := w.said[s.name][keys[w.r.IntN(len(keys))]]
	w.unsay(s.name, a.route)
	s.withdraw([]offer{a.offer})
	return fmt.Sprintf("%s withdraws %s", s.name, a.text)
}

// malformed announces known routes again in an UPDATE that is treated as a withdrawal or ends the session.
func (w *world) malformed() string {
	s := w.anySpeaker()
	if s == nil {
		return "nothing"
	}
	if w.r.IntN(8) == 0 {
		if _, err := wire.ParseUpdate([]byte{0, 0, 0, 200}, 65000); err == nil {
			w.t.Fatal("lengths that do not add up are accepted")
		}
		w.down(s)
		return s.name + " sends an UPDATE that ends the session"
	}
	keys := sortedKeys(w.said[s.name])
	if len(keys) == 0 {
		return "nothing"
	}
	a := w.said[s.name][keys[w.r.IntN(len(keys))]]
	w.unsay(s.name, a.route)
	s.send(spoilt(s.update([]offer{a.offer}, a.rts, a.along)))
	return fmt.Sprintf("%s sends a malformed UPDATE for %s", s.name, a.text)
}

// askAgain makes a PE ask for all routes again, with a plain or an enhanced refresh.
func (w *world) askAgain() string {
	s := w.anySpeaker()
	if s == nil {
		return "nothing"
	}
	f, enhanced := wire.Family(w.r.IntN(int(wire.Families))), w.r.IntN(2) == 0
	w.engine.Refresh(s.peer, f, wire.RefreshRequest, enhanced)
	return fmt.Sprintf("%s asks for %s again, enhanced: %v", s.name, f, enhanced)
}

// sayAgain continues a PE's own enhanced refresh: it begins it, announces routes again, or ends it; routes that were not
// announced again are then gone.
func (w *world) sayAgain() string {
	s := w.anySpeaker()
	if s == nil {
		return "nothing"
	}
	f := w.families[w.r.IntN(worldSites)]
	if w.r.IntN(3) == 0 {
		f = wire.Family(w.r.IntN(int(wire.RTC)))
	}
	switch {
	case !s.families[f] || s.waiting[f]:
		w.engine.Refresh(s.peer, f, uint8(1+w.r.IntN(2)), true)
		return fmt.Sprintf("%s begins or ends a refresh of %s for nothing", s.name, f)
	case s.again[f] == nil:
		s.again[f] = map[string]bool{}
		for route, a := range w.said[s.name] {
			if a.family == f {
				s.again[f][route] = true
			}
		}
		w.engine.Refresh(s.peer, f, wire.RefreshBegin, true)
		return fmt.Sprintf("%s begins a refresh of %s", s.name, f)
	case w.r.IntN(2) == 0 && len(s.again[f]) > 0:
		a := w.said[s.name][sortedKeys(s.again[f])[0]]
		s.send(s.update([]offer{a.offer}, a.rts, a.along))
		w.say(s, []offer{a.offer}, a.rts, a.along)
		return fmt.Sprintf("%s says %s again", s.name, a.text)
	}
	w.engine.Refresh(s.peer, f, wire.RefreshEnd, true)
	gone := s.again[f]
	s.again[f] = nil
	for route := range gone {
		w.unsay(s.name, route)
	}
	return fmt.Sprintf("%s ends a refresh of %s; %d routes are gone", s.name, f, len(gone))
}
