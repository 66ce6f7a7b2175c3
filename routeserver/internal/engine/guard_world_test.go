package engine

import (
	"fmt"
	"slices"
	"time"

	"weft/routeserver/internal/wire"
)

// The poison-route guard in the second model: PEs end their sessions at random, because of routes or not. A route that is
// held back is always reported as such. It is sent again when the search ends, when its time is over, or by command.

// poison does a step that concerns the guard.
func (w *world) poison() string {
	s := w.anySpeaker()
	for _, name := range sortedKeys(w.speakers) {
		if one := w.speakers[name]; one.peer.guard != nil && w.r.IntN(3) > 0 {
			s = one
		}
	}
	if s == nil {
		return "nothing"
	}
	switch n := w.r.IntN(10); {
	case n < 5 && s.slow:
		return w.refuse(s)
	case n < 5:
		for range w.r.IntN(3) { // first some trials
			if s.peer.guard != nil && (!s.constrains || s.settled) {
				s.drain()
				w.engine.settled(s.peer)
			}
		}
		text := w.refuse(s)
		if w.speakers[s.name] == nil && w.r.IntN(4) > 0 {
			text += "; " + w.connect(s.name)
		}
		return text
	case n < 8 && !s.slow:
		return w.bear(s)
	case n == 8:
		w.engine.Release(s.name, "")
		delete(w.blamed, s.name)
		return "what is held back from " + s.name + " is released"
	}
	return w.passTime(s.name)
}

// refuse ends a session with a NOTIFICATION about an UPDATE.
func (w *world) refuse(s *speaker) string {
	s.peer.Ending.Notification = &wire.Notification{Code: wire.UpdateError, Received: true}
	if w.r.IntN(3) == 0 {
		return w.lose(s) + ", having refused a route"
	}
	w.down(s)
	return s.name + " refuses a route"
}

// bear lets a PE tolerate all trials, until nothing is suspected any more or for some trials only.
func (w *world) bear(s *speaker) string {
	g := s.peer.guard
	if g == nil || g.search == nil {
		return "nothing"
	}
	if s.constrains && !s.settled {
		return "nothing"
	}
	most := 2*len(g.suspects) + 2
	for n := range most {
		if w.r.IntN(8) == 0 {
			return fmt.Sprintf("%s bears %d trials", s.name, n)
		}
		s.drain()
		if w.engine.settled(s.peer); g.search == nil {
			return s.name + " bears everything"
		}
	}
	w.t.Fatalf("%s bears everything, and of %d routes some are suspected after %d trials", s.name, len(g.suspects), most)
	return ""
}

// passTime ends the hold times of the routes that are held back from a PE.
func (w *world) passTime(name string) string {
	g := w.engine.guards[name]
	if g == nil {
		return "nothing"
	}
	past := now().Add(-time.Second)
	for _, v := range g.verdicts {
		v.until = past
	}
	for source := range g.sources {
		g.sources[source] = past
	}
	w.engine.lapseHeld(g)
	return "the time is over of what is held back from " + name
}

// barred reports whether all of a PE's routes are held back from another.
func (w *world) barred(peer, announcer string) bool {
	g := w.engine.guards[peer]
	return g != nil && g.bars(announcer)
}

// checkHeld returns the routes that a PE is not sent according to the looking glass, and checks whether they may be held
// back.
func (w *world) checkHeld(after, name string) map[string]bool {
	views, _ := w.engine.Select(Filter{Table: AdjOut, Peer: name, AnyFamily: true, AnyRT: true})
	held := map[string]bool{}
	listed := w.engine.Held(name)
	for _, v := range views {
		if v.Held == nil {
			continue
		}
		held[v.Family.Full(v.NLRI)] = true
		if !w.blamed[name] {
			w.t.Fatalf("after %s: %s is held back from %s, which has ended no session", after, v.Family.Full(v.NLRI), name)
		}
		if !slices.ContainsFunc(listed.Routes, func(h HeldRoute) bool { return h.NLRI == v.NLRI && h.Verdict == v.Held.Verdict }) {
			w.t.Fatalf("after %s: %s is held back from %s (%s) and not listed in %+v", after, v.Family.Full(v.NLRI), name, v.Held.Verdict, listed)
		}
	}
	if len(listed.Sources) > 0 && !w.blamed[name] {
		w.t.Fatalf("after %s: %v are barred for %s, which has ended no session", after, listed.Sources, name)
	}
	return held
}

// sent returns the routes that are not held back.
func sent(want map[string]entry, held map[string]bool) map[string]entry {
	if len(held) == 0 {
		return want
	}
	left := map[string]entry{}
	for text, e := range want {
		if !held[text] {
			left[text] = e
		}
	}
	return left
}
