package engine

import (
	"fmt"
	"slices"

	"weft/routeserver/ruleset"
	"weft/routeserver/wire"
)

// Graceful restarts in the second model: what a lost PE said stays said, until it is back and has had the time to say it
// again, or has not come back.

// anyRestart is what a PE says about graceful restart: mostly that it does.
func (w *world) anyRestart() wire.Restart {
	if w.r.IntN(3) == 0 {
		return wire.Restart{}
	}
	families := allFamilies(true)
	r := wire.Restart{Offered: true, Restarting: w.r.IntN(2) == 0, Seconds: 600, Families: families}
	if w.r.IntN(4) > 0 {
		r.Forwarding = families
	}
	return r
}

func (w *world) unsay(name, key string) {
	delete(w.said[name], key)
	delete(w.stale[name], key)
}

// lose breaks a session without a NOTIFICATION. Routes that were stale already are not kept once more.
func (w *world) lose(s *speaker) string {
	w.engine.Lose(s.peer, "test")
	delete(w.speakers, s.name)
	for key := range w.said[s.name] {
		if !s.peer.restart.Offered || w.stale[s.name][key] {
			w.unsay(s.name, key)
		} else {
			w.stale[s.name][key] = true
		}
	}
	return s.name + " is lost"
}

func (w *world) comeBack(name string) string {
	restart := w.anyRestart()
	w.speakers[name] = newSpeaker(w.t, w.engine, name, restart, w.r.IntN(2) == 0)
	if !restart.Offered || !restart.Forwarding[wire.VPLS] {
		w.dropStale(name)
	}
	return fmt.Sprintf("%s comes up with %+v", name, restart)
}

func (w *world) dropStale(name string) {
	for key := range w.stale[name] {
		w.unsay(name, key)
	}
}

// anyStale is a PE with stale routes, if there is one.
func (w *world) anyStale() string {
	name := peerName(w.r.IntN(worldPeers))
	for i := range worldPeers {
		if len(w.stale[peerName(i)]) > 0 {
			name = peerName(i)
		}
	}
	return name
}

// restarts goes on with a restart that is under way.
func (w *world) restarts() string {
	name := w.anyStale()
	if w.speakers[name] == nil && w.r.IntN(3) > 0 {
		return w.comeBack(name)
	}
	return w.time()
}

// time brings the end of a restart: the End-of-RIB marker, or one of the times is over, or the PE has moved.
func (w *world) time() string {
	name := w.anyStale()
	if s := w.speakers[name]; s != nil {
		w.dropStale(name)
		if w.r.IntN(3) == 0 {
			w.engine.Hasten(s.peer)
			return name + " has had its time"
		}
		for f := range wire.RTC {
			s.send(wire.EndOfRIB(f))
		}
		return name + " sends End-of-RIB"
	}
	lost := w.engine.lost[name]
	if lost == nil {
		return "nothing"
	}
	w.dropStale(name)
	if w.r.IntN(3) > 0 {
		w.engine.Expire(name, lost.until)
		return name + " is not back in time"
	}
	at := slices.IndexFunc(w.document.Peers, func(p ruleset.Peer) bool { return p.Name == name })
	moved := w.document.Peers[at]
	moved.Address = fmt.Sprintf("10.0.%d.%d", w.r.IntN(200)+1, at+1)
	w.document.Peers[at] = moved
	w.change(false, ruleset.Operation{Op: ruleset.SetPeer, Peer: &moved})
	return name + " moves"
}
