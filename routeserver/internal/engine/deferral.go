package engine

import (
	"time"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// deferral is our own restart (RFC 4724 section 4.1). PEs keep the routes that they had from us until our End-of-RIB
// marker. The marker waits until all PEs have announced their routes again, or the time is over. Routes are sent in the
// meantime.
type deferral struct {
	awaited map[string]bool               // peers that have not announced everything yet
	missing map[*Peer][wire.Families]bool // markers that peers with a session have not sent yet
	owed    map[*Peer]bool                // peers that wait for our markers
	timer   *time.Timer
}

// Defer begins the deferral; it is called when sessions open. If the rule set is from before the start, we have restarted.
// End-of-RIB markers then wait for at most the given time; 0: they do not wait.
func (e *Engine) Defer(most time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if most <= 0 {
		e.resumed = false
	}
	if !e.resumed || e.deferral != nil {
		return
	}
	d := &deferral{awaited: map[string]bool{}, missing: map[*Peer][wire.Families]bool{}, owed: map[*Peer]bool{}}
	for _, name := range e.set.Peers() {
		d.awaited[name] = true
	}
	if len(d.awaited) == 0 {
		e.resumed, e.parted = false, nil
		return
	}
	d.timer = time.AfterFunc(most, e.Proceed)
	e.deferral = d
}

// Restarting reports whether we have restarted and have not heard from all PEs yet.
func (e *Engine) Restarting() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.resumed
}

// Proceed ends the deferral: it sends the End-of-RIB markers to all peers that wait for them.
func (e *Engine) Proceed() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.proceed()
}

func (ao *adjRIBOut) proceed() {
	d := ao.deferral
	if d == nil {
		return
	}
	d.timer.Stop()
	ao.deferral, ao.resumed, ao.parted = nil, false, nil
	for p := range d.owed {
		ao.endOfRIB(p)
	}
	ao.Events.Add("restart", "", "the restart is over: End-of-RIB was sent")
}

// endOfRIB sends a peer the markers, or postpones them until the peer has said which routes it wants.
func (ao *adjRIBOut) endOfRIB(p *Peer) {
	if m := p.membership; m != nil && !m.settled {
		m.owed = true
		return
	}
	for f := range wire.Families {
		if p.Families[f] && f != wire.RTC {
			p.Queue.Message(wire.EndOfRIB(f))
			ao.feed(Entry{Kind: MarkerOut, Peer: p, Family: f})
		}
	}
}

// await records a new session whose peer is to send its End-of-RIB markers.
func (ao *adjRIBOut) await(p *Peer) {
	switch d := ao.deferral; {
	case d == nil:
	case p.restart.Offered && !p.restart.Restarting:
		d.missing[p] = p.Families
	default: // the peer sends no markers, or waits for ours first
		ao.arrived(p.Name)
	}
}

// putOff reports whether the End-of-RIB markers that follow the initial routes must wait, and makes a note of the peer if
// so.
func (ss *sessions) putOff(p *Peer) bool {
	if ss.deferral == nil || !p.restart.Offered || ss.parted[p.Name] {
		return false
	}
	ss.deferral.owed[p] = true
	return true
}

// heard records a peer's End-of-RIB marker.
func (ao *adjRIBOut) heard(p *Peer, f wire.Family) {
	d := ao.deferral
	if d == nil {
		return
	}
	missing, there := d.missing[p]
	if !there {
		return
	}
	missing[f] = false
	if d.missing[p] = missing; missing != [wire.Families]bool{} {
		return
	}
	delete(d.missing, p)
	ao.arrived(p.Name)
}

func (ao *adjRIBOut) arrived(peer string) {
	delete(ao.deferral.awaited, peer)
	if len(ao.deferral.awaited) == 0 {
		ao.proceed()
	}
}

// part forgets a session that is over.
func (d *deferral) part(p *Peer) {
	if d != nil {
		delete(d.owed, p)
		delete(d.missing, p)
	}
}

// hurry handles a change of the rule set during our restart. Peers that lose access to an endpoint by it may still have its
// routes from before the restart. We cannot withdraw routes that were not announced to us again. So these peers get the
// End-of-RIB marker at once, which makes them drop all routes that were not sent again. Isolation comes before
// availability.
func (ao *adjRIBOut) hurry(was *ruleset.Set, delta *ruleset.Delta) {
	if !ao.resumed {
		return
	}
	if ao.parted == nil {
		ao.parted = map[string]bool{}
	}
	for _, pair := range delta.Pairs {
		if loses(was.TargetsAt(pair.Endpoint, pair.Peer), pair.Targets) {
			ao.parted[pair.Peer] = true
		}
	}
	for _, site := range delta.Sites {
		for peer := range was.Audience(site) {
			ao.parted[peer] = true
		}
	}
	d := ao.deferral
	if d == nil {
		return
	}
	for p := range d.owed {
		if ao.parted[p.Name] {
			delete(d.owed, p)
			ao.endOfRIB(p)
		}
	}
	for name := range d.awaited {
		if _, stays := ao.set.Peer(name); !stays {
			delete(d.awaited, name)
		}
	}
	if len(d.awaited) == 0 {
		ao.proceed()
	}
}

// loses reports whether a route target of before is missing in after.
func loses(before, after string) bool {
	left := map[wire.RT]bool{}
	for _, rt := range wire.RTs(after) {
		left[rt] = true
	}
	for _, rt := range wire.RTs(before) {
		if !left[rt] {
			return true
		}
	}
	return false
}
