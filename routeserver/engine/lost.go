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
	since  time.Time // when routes that are still stale began to be
	until  time.Time // the end of the restart time
	timer  *time.Timer
	kept   [wire.Families]*kept
}

// kept are a peer's routes of one family from before its session was lost, by key.
type kept struct {
	routes map[string]*rib.Route
	term   time.Duration // how long they may be long-lived after the restart time; 0: not at all
	until  time.Time     // the end of that, once it has begun; zero before
	timer  *time.Timer
}

func (k *kept) longLived() bool { return !k.until.IsZero() }

func (k *kept) stop() {
	if k.timer != nil {
		k.timer.Stop()
	}
}

// Lose says that a peer's session was lost in a way that graceful restart covers: the connection broke, or ended with a
// NOTIFICATION that both sides take for that (RFC 8538). If the peer restarts gracefully, its routes are kept as stale and
// still sent. complete says that the peer had been sent everything that was decided.
func (e *Engine) Lose(p *Peer, why string) (complete bool) { return e.down(p, why, true) }

// patience is how long routes are kept for a peer that announced this, before they are long-lived.
func (e *Engine) patience(r wire.Restart) time.Duration {
	if !r.Offered {
		return 0
	}
	return min(time.Duration(r.Seconds)*time.Second, e.StaleTime)
}

// keep marks the routes of a peer without a session stale, and withdraws those that are not to be kept. It says how many
// are.
func (e *Engine) keep(p *Peer, graceful bool) int {
	in := e.table.In(p.Name)
	l := &lost{config: p.config, id: p.ID, since: now()}
	for f := range wire.Families {
		if old := p.kept[f]; old != nil {
			old.stop()
			if e.outlasts(p, f) {
				l.since = p.since
			}
		}
		if graceful {
			l.kept[f] = e.retain(p, in, f)
		}
	}
	e.lost[p.Name] = l // before anything is encoded: it knows the originator
	m := mover{e: e}
	for f := range wire.Families {
		for key, r := range in.Routes(f) {
			if l.kept[f] == nil || l.kept[f].routes[key] != r {
				e.drop(&m, in, f, key, r)
			}
		}
	}
	m.flush()
	wait := min(e.patience(p.restart), l.since.Add(e.StaleTime).Sub(now()))
	for f := range wire.Families {
		switch k := l.kept[f]; {
		case k == nil:
		case k.longLived(), wait <= 0, !p.restart.Families[f]: // RFC 9494 section 4.2: for that family, the restart time is zero
			e.prolong(p.Name, l, f)
		case l.timer == nil:
			l.until = now().Add(wait)
			l.timer = time.AfterFunc(wait, func() { e.Expire(p.Name, l.until) })
		}
	}
	e.settleLost(p.Name, l)
	return l.count()
}

// retain finds what is to be kept of one family.
func (e *Engine) retain(p *Peer, in *rib.In, f wire.Family) *kept {
	k := &kept{routes: map[string]*rib.Route{}, term: e.term(p.restart, f)}
	if !p.Families[f] || k.term == 0 && !(p.restart.Families[f] && e.patience(p.restart) > 0) {
		return nil
	}
	old := p.kept[f]
	if old != nil && old.longLived() {
		if k.until = old.until; !now().Before(k.until) {
			return nil // the time was over before the peer was through: what it did announce again goes as well
		}
	}
	outlasts := e.outlasts(p, f)
	for key, r := range in.Routes(f) {
		if outlasts || old == nil || old.routes[key] != r {
			k.routes[key] = r
		}
	}
	if len(k.routes) == 0 {
		return nil
	}
	return k
}

// outlasts says whether routes that were stale when a peer came back stay if it is lost once more: until their own time is
// over, by RFC 8538 section 4.1 and RFC 9494 section 4.2. Else they go (RFC 4724 section 4.2).
func (e *Engine) outlasts(p *Peer, f wire.Family) bool {
	return p.restart.Notification || e.term(p.restart, f) > 0
}

func (l *lost) count() (n int) {
	for _, k := range l.kept {
		if k != nil {
			n += len(k.routes)
		}
	}
	return n
}

// settleLost forgets a lost peer of which nothing is kept any more.
func (e *Engine) settleLost(peer string, l *lost) {
	for f, k := range l.kept {
		if k != nil && len(k.routes) == 0 {
			k.stop()
			l.kept[f] = nil
		}
	}
	if l.kept == [wire.Families]*kept{} {
		if l.timer != nil {
			l.timer.Stop()
		}
		delete(e.lost, peer)
		e.table.Forget(peer)
	}
}

// Expire ends the restart time of a peer that is not back by the time that it had: its stale routes are withdrawn, but for
// those that may be long-lived.
func (e *Engine) Expire(peer string, until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.lost[peer]
	if l == nil || !l.until.Equal(until) {
		return
	}
	gone := 0
	for f := range wire.Families {
		switch k := l.kept[f]; {
		case k == nil || k.longLived():
		case k.term > 0:
			e.prolong(peer, l, f)
		default:
			gone += len(k.routes)
			e.sweep(nil, peer, f, k.routes)
		}
	}
	e.settleLost(peer, l)
	if gone > 0 {
		e.Events.Add("stale", peer, fmt.Sprintf("%s is not back in time; its routes (%d) are withdrawn", peer, gone))
	}
}

// giveUp withdraws all routes of a peer without a session.
func (e *Engine) giveUp(t *transaction, peer string) {
	l := e.lost[peer]
	for f, k := range l.kept {
		if k != nil {
			e.sweep(t, peer, wire.Family(f), k.routes)
		}
	}
	e.settleLost(peer, l)
}

// forgetLost withdraws the stale routes of peers that are not in the rule set any more, or have moved.
func (e *Engine) forgetLost(t *transaction) {
	for name, l := range e.lost {
		if present, _ := e.set.Peer(name); present != l.config {
			e.giveUp(t, name)
		}
	}
}

// sweep withdraws a peer's stale routes, those that it did not announce again.
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

// Hasten withdraws what is still stale of a peer that is back but has not sent its End-of-RIB markers in time. What is
// long-lived has its own time.
func (e *Engine) Hasten(p *Peer) {
	e.mu.Lock()
	defer e.mu.Unlock()
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
func (e *Engine) complete(p *Peer, f wire.Family) {
	k := p.kept[f]
	if k == nil {
		return
	}
	k.stop()
	p.kept[f] = nil
	e.sweep(nil, p.Name, f, k.routes)
}

// ended takes a peer's End-of-RIB marker.
func (e *Engine) ended(p *Peer, f wire.Family) {
	if f != wire.RTC {
		e.feed(Entry{Kind: MarkerIn, Peer: p, Family: f})
	}
	e.complete(p, f)
	e.heard(p, f)
}

// keptOf are the stale routes of a peer, if there are any.
func (e *Engine) keptOf(peer string, f wire.Family) *kept {
	if p := e.peers[peer]; p != nil {
		return p.kept[f]
	}
	if l := e.lost[peer]; l != nil {
		return l.kept[f]
	}
	return nil
}

// staleUntil says until when a route is kept from before its peer's session was lost; zero: it is not.
func (e *Engine) staleUntil(peer string, f wire.Family, r *rib.Route) time.Time {
	if k := e.keptOf(peer, f); k != nil && k.routes[f.Key(r.NLRI)] == r {
		return e.end(peer, k)
	}
	return time.Time{}
}

// end is when the stale routes of a family go at the latest, unless their peer announces them again.
func (e *Engine) end(peer string, k *kept) time.Time {
	switch p := e.peers[peer]; {
	case k.longLived():
		return k.until
	case p != nil:
		return p.until
	}
	return e.lost[peer].until.Add(k.term)
}
