package engine

import (
	"time"

	"weft/routeserver/internal/wire"
)

// takeUp decides about the stale routes of a peer that is back. They wait for its End-of-RIB marker if the peer kept its
// forwarding state. They go at once if it did not, or if it is another router now.
func (e *Engine) takeUp(p *Peer) {
	l := e.lost[p.Name]
	if l == nil {
		return
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	delete(e.lost, p.Name)
	waits := false
	for f, k := range l.kept {
		switch r := p.restart; {
		case k == nil:
		case !p.Families[f] || !r.Offered || p.ID != l.id,
			k.longLived() && !(r.LongLived && r.LongForwarding[f]),
			!k.longLived() && !(r.Families[f] && r.Forwarding[f]):
			k.stop()
			e.sweep(nil, p.Name, wire.Family(f), k.routes)
		default:
			p.kept[f], p.since = k, l.since
			waits = waits || !k.longLived()
		}
	}
	if waits {
		p.until = now().Add(e.StaleTime)
		p.patience = time.AfterFunc(e.StaleTime, func() { e.Hasten(p) })
	}
}

// Hasten withdraws the routes that are still stale of a peer that is back but has not sent its End-of-RIB markers in time.
// Long-lived stale routes have their own time.
func (e *Engine) Hasten(p *Peer) {
	e.mu.Lock()
	defer e.unlock()
	if e.peers[p.Name] != p {
		return
	}
	for f, k := range p.kept {
		if k != nil && !k.longLived() {
			e.complete(p, wire.Family(f))
		}
	}
}

// complete ends the wait for a peer's End-of-RIB marker.
func (lr *locRIB) complete(p *Peer, f wire.Family) {
	k := p.kept[f]
	if k == nil {
		return
	}
	k.stop()
	p.kept[f] = nil
	lr.sweep(nil, p.Name, f, k.routes)
}

// ended handles a peer's End-of-RIB marker.
func (lr *locRIB) ended(p *Peer, f wire.Family) {
	if f != wire.RTC {
		lr.feed(Entry{Kind: MarkerIn, Peer: p, Family: f})
	}
	lr.complete(p, f)
	lr.heard(p, f)
}
