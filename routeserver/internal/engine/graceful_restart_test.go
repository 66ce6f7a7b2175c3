package engine

import (
	"fmt"
	"slices"
	"time"

	"weft/routeserver/internal/wire"
)

// Sessions in the second model. The routes of a PE that restarts gracefully stay until it is back and has had the time to
// announce them again, or until the time for its return is over.

func (w *world) session() string {
	var names []string
	for _, p := range w.document.Peers {
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return "nothing"
	}
	name := names[w.r.IntN(len(names))]
	for tries := 0; w.speakers[name] != nil && tries < 4; tries++ {
		name = names[w.r.IntN(len(names))]
	}
	s := w.speakers[name]
	switch {
	case s == nil:
		return w.connect(name)
	case w.r.IntN(2) == 0:
		return "nothing"
	case w.r.IntN(4) > 0:
		return w.lose(s)
	}
	w.down(s)
	return name + " goes down"
}

// down ends a session with a NOTIFICATION.
func (w *world) down(s *speaker) {
	w.blamed[s.name] = true
	w.engine.Down(s.peer, "test")
	delete(w.speakers, s.name)
	delete(w.kept, s.name)
	w.forget(s.name)
}

// anyFamilies returns the families that a PE and the route server agree on: mostly all.
func (w *world) anyFamilies() (families [wire.Families]bool) {
	for f := range wire.Families {
		families[f] = w.r.IntN(12) > 0
	}
	families[wire.RTC] = w.r.IntN(4) == 0
	return families
}

// anyRestart returns a PE's graceful restart capability. Mostly the PE has it.
func (w *world) anyRestart() wire.Restart {
	if w.r.IntN(3) == 0 {
		return wire.Restart{}
	}
	r := wire.Restart{Offered: true, Restarting: w.r.IntN(2) == 0, Notification: w.r.IntN(2) == 0, Seconds: 600 * uint16(min(1, w.r.IntN(5)))}
	r.LongLived = w.r.IntN(3) > 0
	forwarding := w.r.IntN(5) > 0
	for f := range wire.Families {
		r.Families[f] = w.r.IntN(8) > 0
		r.Forwarding[f] = r.Families[f] && forwarding && w.r.IntN(8) > 0
		if r.LongLived && w.r.IntN(4) > 0 {
			r.LongStale[f], r.LongForwarding[f] = time.Hour, forwarding && w.r.IntN(8) > 0
		}
	}
	return r
}

// lose breaks a session without a NOTIFICATION, or with one that counts as that.
func (w *world) lose(s *speaker) string {
	w.blamed[s.name] = true
	w.engine.Lose(s.peer, "test")
	w.keep(s)
	w.lost[s.name] = w.stay(s)
	return s.name + " is lost"
}

// connect brings up a PE, which may have been lost.
func (w *world) connect(name string) string {
	restart, families := w.anyRestart(), w.anyFamilies()
	s := newSpeaker(w.t, w.engine, name, families, restart)
	w.speakers[name] = s
	if restart.Offered {
		for text, e := range w.kept[name] {
			if families[e.family] {
				s.rib[text], s.remnants[text] = e, true
			}
		}
	}
	delete(w.kept, name)
	for f := range wire.Families {
		forwards := restart.Families[f] && restart.Forwarding[f]
		if w.long[name][f] {
			forwards = restart.LongForwarding[f]
		}
		if s.waiting[f] = w.anyStale(name, f) && families[f] && restart.Offered && forwards; !s.waiting[f] {
			w.dropStale(name, f)
		}
		s.long[f] = s.waiting[f] && w.long[name][f]
	}
	delete(w.lost, name)
	delete(w.long, name)
	text := fmt.Sprintf("%s comes up with %v and %+v", name, families, restart)
	for range w.r.IntN(4) {
		text += "; " + w.announces(s)
	}
	return text
}

func (w *world) anyStale(name string, f wire.Family) bool {
	for key := range w.stale[name] {
		if w.said[name][key].family == f {
			return true
		}
	}
	return false
}

func (w *world) dropStale(name string, f wire.Family) {
	for key := range w.stale[name] {
		if w.said[name][key].family == f {
			w.unsay(name, key)
		}
	}
}

// time lets a time pass, or makes a PE send End-of-RIB markers. The time of a PE for its markers is over, or that of a lost
// PE for its return, or that of the route server's own restart.
func (w *world) time() string {
	n, gone := w.r.IntN(12), slices.DeleteFunc(sortedKeys(w.lost), func(name string) bool { return !w.lost[name] })
	switch {
	case n == 0:
		w.engine.Proceed()
		return "the route server's restart is over"
	case n < 5 && len(gone) > 0:
		name := gone[w.r.IntN(len(gone))]
		lost := w.engine.lost[name]
		switch {
		case lost == nil:
			w.t.Fatalf("the routes of %s are not kept", name)
		case w.r.IntN(3) == 0:
			return w.lapse(name)
		}
		w.engine.Expire(name, lost.until)
		w.expire(name)
		return name + " is not back in time"
	}
	s := w.anySpeaker()
	if s == nil {
		return "nothing"
	}
	switch w.r.IntN(8) {
	case 0:
		w.engine.Hasten(s.peer)
		for f := range wire.Families {
			if !s.long[f] {
				w.complete(s, f)
			}
		}
		return s.name + " has had its time"
	case 1:
		return w.lapse(s.name)
	}
	for f := range wire.RTC {
		if w.r.IntN(4) > 0 {
			s.send(wire.EndOfRIB(f))
			w.complete(s, f)
		}
	}
	return s.name + " sends End-of-RIB"
}

func (w *world) complete(s *speaker, f wire.Family) {
	if s.waiting[f] {
		s.waiting[f], s.long[f], s.spent[f] = false, false, false
		w.dropStale(s.name, f)
	}
}
