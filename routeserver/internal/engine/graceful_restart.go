package engine

import (
	"fmt"
	"time"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// lost is a peer whose session was lost and whose routes are kept until it is back or the time is over (RFC 4724 section
// 4.2). The routes stay in the table, so changes of the rule set withdraw them like all others.
type lost struct {
	config ruleset.Peer
	id     [4]byte
	since  time.Time // when the routes that are still stale became stale
	until  time.Time // the end of the restart time
	timer  *time.Timer
	kept   [wire.Families]*kept
}

// Lose ends a session that was lost in a way that graceful restart covers: the connection broke, or ended with a
// NOTIFICATION that both sides treat like that (RFC 8538). If the peer restarts gracefully, its routes are kept as stale
// and still sent. complete says that the peer had been sent everything that was decided.
func (e *Engine) Lose(p *Peer, why string) (complete bool) { return e.down(p, why, true) }

// patience returns how long the routes of a peer with this restart capability are kept before they are long-lived stale.
func (fo *inForce) patience(r wire.Restart) time.Duration {
	if !r.Offered {
		return 0
	}
	return min(time.Duration(r.Seconds)*time.Second, fo.StaleTime)
}

// keep marks the routes of a peer without a session stale, withdraws those that are not to be kept, and returns the number
// of kept ones.
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
	e.lost[p.Name] = l // before anything is encoded: reflection finds the originator here
	m := mover{out: &e.adjRIBOut}
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

// retain returns the routes of one family that are to be kept, or nil.
func (fo *inForce) retain(p *Peer, in *rib.In, f wire.Family) *kept {
	k := &kept{routes: map[string]*rib.Route{}, term: fo.term(p.restart, f)}
	if !p.Families[f] || k.term == 0 && !(p.restart.Families[f] && fo.patience(p.restart) > 0) {
		return nil
	}
	old := p.kept[f]
	if old != nil && old.longLived() {
		if k.until = old.until; !now().Before(k.until) {
			return nil // the time was over before the peer's End-of-RIB: routes that it announced again go as well
		}
	}
	outlasts := fo.outlasts(p, f)
	for key, r := range in.Routes(f) {
		if r.Group.Attributes.Loop {
			continue // it is never sent to anybody
		}
		if outlasts || old == nil || old.routes[key] != r {
			k.routes[key] = r
		}
	}
	if len(k.routes) == 0 {
		return nil
	}
	return k
}

// outlasts reports whether routes that were stale when a peer came back stay if its session is lost once more. They stay
// until their own time is over by RFC 8538 section 4.1 and RFC 9494 section 4.2. Otherwise they go (RFC 4724 section 4.2).
func (fo *inForce) outlasts(p *Peer, f wire.Family) bool {
	return p.restart.Notification || fo.term(p.restart, f) > 0
}

func (l *lost) count() (n int) {
	for _, k := range l.kept {
		if k != nil {
			n += len(k.routes)
		}
	}
	return n
}

// settleLost forgets a lost peer once none of its routes are kept any more.
func (lr *locRIB) settleLost(peer string, l *lost) {
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
		delete(lr.lost, peer)
		lr.table.Forget(peer)
	}
}

// Expire ends the restart time of a peer that is not back. It withdraws the peer's stale routes, except those that may
// become long-lived stale.
func (e *Engine) Expire(peer string, until time.Time) {
	e.mu.Lock()
	defer e.unlock()
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
		e.Events.AddOften("stale", peer, "", fmt.Sprintf("%s is not back in time; its routes (%d) are withdrawn", peer, gone))
	}
}

// giveUp withdraws all kept routes of a peer without a session.
func (lr *locRIB) giveUp(t *transaction, peer string) {
	l := lr.lost[peer]
	for f, k := range l.kept {
		if k != nil {
			lr.sweep(t, peer, wire.Family(f), k.routes)
		}
	}
	lr.settleLost(peer, l)
}

// forgetLost withdraws the stale routes of lost peers that are not in the rule set any more, or have changed there.
func (lr *locRIB) forgetLost(t *transaction) {
	for name, l := range lr.lost {
		if present, _ := lr.set.Peer(name); present != l.config {
			lr.giveUp(t, name)
		}
	}
}

// sweep withdraws those of a peer's stale routes that it did not announce again.
func (lr *locRIB) sweep(t *transaction, peer string, f wire.Family, stale map[string]*rib.Route) {
	in := lr.table.In(peer)
	m := mover{out: &lr.adjRIBOut, t: t}
	for key, r := range stale {
		if in.Route(f, key) == r {
			lr.drop(&m, in, f, key, r)
		}
	}
	m.flush()
}
