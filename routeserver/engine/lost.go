package engine

import (
	"fmt"
	"time"

	"weft/routeserver/rib"
	"weft/routeserver/ruleset"
	"weft/routeserver/wire"
)

// lost is a peer whose session was lost and whose routes are kept until it is back or the time is over (RFC 4724 section
// 4.2). They stay in the table, so that changes of the rule set withdraw them as any others.
type lost struct {
	config ruleset.Peer
	id     [4]byte
	until  time.Time
	stale  [wire.Families]map[string]*rib.Route
	timer  *time.Timer
}

// Lose says that a peer's session was lost without a NOTIFICATION. If the peer restarts gracefully, its routes are kept
// as stale and still sent; routes that were stale already are not kept a second time.
func (e *Engine) Lose(p *Peer, why string) {
	keep := [wire.Families]bool{}
	if e.patience(p.restart) > 0 {
		for f := range wire.Families {
			keep[f] = p.Families[f] && p.restart.Families[f]
		}
	}
	e.down(p, why, keep)
}

// patience is how long routes are kept for a peer that announced this.
func (e *Engine) patience(r wire.Restart) time.Duration {
	if !r.Offered {
		return 0
	}
	return min(time.Duration(r.Seconds)*time.Second, e.StaleTime)
}

// keep marks the routes of a peer without a session stale, and withdraws those that are not to be kept.
func (e *Engine) keep(p *Peer, keep [wire.Families]bool) (kept int) {
	in := e.table.In(p.Name)
	l := &lost{config: p.config, id: p.ID}
	m := mover{e: e}
	for f := range wire.Families {
		l.stale[f] = map[string]*rib.Route{}
		for key, r := range in.Routes(f) {
			if keep[f] && !(p.waiting[f] && p.stale[f][key] == r) {
				l.stale[f][key] = r
				kept++
			}
		}
	}
	if kept > 0 {
		e.lost[p.Name] = l // before anything is encoded: it knows the originator
	}
	for f := range wire.Families {
		for key, r := range in.Routes(f) {
			if l.stale[f][key] == nil {
				e.drop(&m, in, f, key, r)
			}
		}
	}
	m.flush()
	if kept == 0 {
		e.table.Forget(p.Name)
		return 0
	}
	wait := e.patience(p.restart)
	l.until = now().Add(wait)
	l.timer = time.AfterFunc(wait, func() { e.Expire(p.Name, l.until) })
	return kept
}

// Expire withdraws the stale routes of a peer that is not back by the time that it had.
func (e *Engine) Expire(peer string, until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l := e.lost[peer]; l != nil && l.until.Equal(until) {
		e.giveUp(nil, peer)
		e.Events.Add("stale", peer, fmt.Sprintf("%s is not back in time; its routes are withdrawn", peer))
	}
}

// giveUp withdraws all routes of a peer without a session.
func (e *Engine) giveUp(t *transaction, peer string) {
	l := e.lost[peer]
	l.timer.Stop()
	for f := range wire.Families {
		e.sweep(t, peer, f, l.stale[f])
	}
	delete(e.lost, peer)
	e.table.Forget(peer)
}

// forgetLost withdraws the stale routes of peers that are not in the rule set any more, or have moved.
func (e *Engine) forgetLost(t *transaction) {
	for name, l := range e.lost {
		if present, _ := e.set.Peer(name); present != l.config {
			e.giveUp(t, name)
		}
	}
}

// sweep withdraws those of a peer's stale routes that it did not announce again.
func (e *Engine) sweep(t *transaction, peer string, f wire.Family, stale map[string]*rib.Route) {
	in := e.table.In(peer)
	m := mover{e: e, t: t}
	for key, r := range stale {
		if in.Route(f, key) == r {
			e.drop(&m, in, f, key, r)
		}
	}
	m.flush()
}

// takeUp decides about the stale routes of a peer that is back: they wait for its End-of-RIB marker if it went on
// forwarding, and go at once if it did not, or is another router now.
func (e *Engine) takeUp(p *Peer) {
	l := e.lost[p.Name]
	if l == nil {
		return
	}
	l.timer.Stop()
	delete(e.lost, p.Name)
	waits := false
	for f := range wire.Families {
		if p.Families[f] && p.restart.Offered && p.restart.Families[f] && p.restart.Forwarding[f] && p.ID == l.id {
			p.stale[f], p.waiting[f] = l.stale[f], true
			waits = true
		} else {
			e.sweep(nil, p.Name, f, l.stale[f])
		}
	}
	if waits {
		p.patience = time.AfterFunc(e.StaleTime, func() { e.Hasten(p) })
	}
}

// Hasten withdraws what is still stale of a peer that is back but has not sent its End-of-RIB markers in time.
func (e *Engine) Hasten(p *Peer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.peers[p.Name] != p {
		return
	}
	for f := range wire.Families {
		e.complete(p, f)
	}
}

// complete ends the wait for a peer's End-of-RIB marker.
func (e *Engine) complete(p *Peer, f wire.Family) {
	if !p.waiting[f] {
		return
	}
	stale := p.stale[f]
	p.stale[f], p.waiting[f] = nil, false
	e.sweep(nil, p.Name, f, stale)
}

// ended takes a peer's End-of-RIB marker.
func (e *Engine) ended(p *Peer, f wire.Family) {
	if f != wire.RTC {
		e.feed(Entry{Kind: MarkerIn, Peer: p, Family: f})
	}
	e.complete(p, f)
	e.heard(p, f)
}

// isStale says whether a route is kept from before its peer's session was lost.
func (e *Engine) isStale(peer string, f wire.Family, r *rib.Route) bool {
	key := f.Key(r.NLRI)
	if l := e.lost[peer]; l != nil {
		return l.stale[f][key] == r
	}
	p := e.peers[peer]
	return p != nil && p.waiting[f] && p.stale[f][key] == r
}

// staleOf counts a peer's stale routes, and says when they go if it does not come back.
func (e *Engine) staleOf(peer string) (n int, until time.Time) {
	if l := e.lost[peer]; l != nil {
		for f := range wire.Families {
			for key, r := range l.stale[f] {
				if in := e.table.In(peer); in.Route(f, key) == r {
					n++
				}
			}
		}
		return n, l.until
	}
	if p := e.peers[peer]; p != nil {
		for f := range wire.Families {
			if p.waiting[f] {
				n += len(p.stale[f])
			}
		}
	}
	return n, time.Time{}
}
