package engine

import (
	"time"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// deferral is our own restart (RFC 4724 section 4.1): PEs keep the routes that they had from us until our End-of-RIB
// marker, which has to wait until all PEs have announced theirs again, or the time is over. Routes are sent meanwhile.
type deferral struct {
	awaited map[string]bool               // peers that have not announced everything yet
	missing map[*Peer][wire.Families]bool // markers that have not come from those with a session
	owed    map[*Peer]bool                // peers that are to get our markers
	timer   *time.Timer
}

// Defer is called when sessions open. If the rule set is from before the start, we have restarted: End-of-RIB markers
// wait, for the given time at most. Zero: they do not.
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

// Restarting says whether we have restarted and not yet heard from all PEs.
func (e *Engine) Restarting() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.resumed
}

// Proceed ends the deferral: everybody gets the End-of-RIB markers.
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

// endOfRIB sends the markers, or leaves that to when the peer has said which routes it wants.
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

// await takes note of a new session, whose peer is to send its End-of-RIB markers.
func (ao *adjRIBOut) await(p *Peer) {
	switch d := ao.deferral; {
	case d == nil:
	case p.restart.Offered && !p.restart.Restarting:
		d.missing[p] = p.Families
	default: // it will not say when it is through, or waits for us to say so first
		ao.arrived(p.Name)
	}
}

// putOff says whether the End-of-RIB markers that would follow the initial routes have to wait.
func (ss *sessions) putOff(p *Peer) bool {
	if ss.deferral == nil || !p.restart.Offered || ss.parted[p.Name] {
		return false
	}
	ss.deferral.owed[p] = true
	return true
}

// heard takes note of a peer's End-of-RIB marker.
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

// hurry is told of a change. Peers that lose access to an endpoint by it may have its routes from before our restart, and
// we cannot withdraw what has not been announced to us again: they get the End-of-RIB marker at once, which makes them
// drop whatever was not sent again. Isolation goes before availability.
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

// loses says whether a route target is not among others any more.
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
