package engine

import (
	"fmt"
	"slices"
	"time"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// Long-lived graceful restart (RFC 9494): after the restart time, routes are kept for longer, but as the least preferred,
// and only those peers get them that know what that means.

// LongStale is what our OPEN says about it: whether we know what it means, and for how long our routes of these families may
// be kept.
func (e *Engine) LongStale(families [wire.Families]bool) (offered bool, times [wire.Families]time.Duration) {
	for f := range wire.Families {
		if families[f] && f != wire.RTC {
			times[f] = e.LongLived[f]
		}
	}
	return e.prolongs(), times
}

// prolongs says whether it is switched on for any family. If it is not, LLGR_STALE is a community as any other.
func (fo *inForce) prolongs() bool { return fo.LongLived != [wire.Families]time.Duration{} }

// term is how long routes of a peer that announced this may be kept after the restart time.
func (fo *inForce) term(r wire.Restart, f wire.Family) time.Duration {
	if !r.LongLived || fo.StaleTime == 0 {
		return 0
	}
	return min(r.LongStale[f], fo.LongLived[f])
}

// prolong makes the stale routes of a family of a lost peer long-lived, or goes on with that: a time that has begun to run
// is not begun again before the peer is through with announcing.
func (e *Engine) prolong(peer string, l *lost, f wire.Family) {
	k := l.kept[f]
	if k.term == 0 {
		e.sweep(nil, peer, f, k.routes)
		return
	}
	if !k.longLived() {
		k.until = now().Add(k.term)
	}
	k.timer = time.AfterFunc(k.until.Sub(now()), func() { e.lapse(peer, f, k) })
	before := len(k.routes)
	e.markStale(peer, f, k)
	text := fmt.Sprintf("%s is not back in time; its %s routes (%d) are kept as long-lived stale until %s", peer, f, len(k.routes), k.until.UTC().Format(time.RFC3339))
	if gone := before - len(k.routes); gone > 0 {
		text += fmt.Sprintf(", others (%d) are withdrawn (NO_LLGR)", gone)
	}
	e.Events.AddOften("long-lived-stale", peer, "begins "+f.String(), text)
}

// markStale gives routes the community LLGR_STALE, which makes them another group's; those with NO_LLGR go.
func (lr *locRIB) markStale(peer string, f wire.Family, k *kept) {
	in := lr.table.In(peer)
	m := mover{out: &lr.adjRIBOut}
	for _, g := range in.Groups() {
		if g.Family != f || g.LongLived {
			continue
		}
		routes := slices.DeleteFunc(slices.Clone(g.Routes()), func(r *rib.Route) bool { return k.routes[f.Key(r.NLRI)] != r })
		if len(routes) == 0 {
			continue
		}
		if g.Attributes.HasCommunity(wire.NoLongLived) {
			for _, r := range routes {
				lr.drop(&m, in, f, f.Key(r.NLRI), r)
			}
			continue
		}
		marked := lr.aside(in, f, g.Attributes.WithCommunity(wire.LongLivedStale), g.PermitViolation)
		for _, r := range routes {
			key := f.Key(r.NLRI)
			if g.Duplicate {
				lr.table.Unwait(f, key, r)
			}
			lr.place(&m, in, key, r, g, marked)
		}
		m.flush()
		lr.table.Tidy(in, marked)
		for _, r := range routes {
			lr.challenge(nil, f, f.Key(r.NLRI))
		}
	}
	m.flush()
}

// lapse ends the time of long-lived routes. If their peer is back but not through, what it has announced again stays only
// as long as this session does.
func (e *Engine) lapse(peer string, f wire.Family, k *kept) {
	e.mu.Lock()
	defer e.unlock()
	if e.keptOf(peer, f) != k {
		return
	}
	e.Events.AddOften("long-lived-stale", peer, "ends "+f.String(), fmt.Sprintf("the time of %s is over; its %s routes (%d) that are still stale are withdrawn", peer, f, len(k.routes)))
	k.until = now()
	e.sweep(nil, peer, f, k.routes)
	if l := e.lost[peer]; l != nil {
		e.settleLost(peer, l)
	}
}

// last says whether a group's routes are the least preferred.
func (fo *inForce) last(g *rib.Group) bool { return g.LongLived && fo.prolongs() }

// outranks says whether a route of one group takes its key from a route of another: it does if its endpoint owns the
// route distinguisher and the other's does not, which decides who may have the key at all; else if the other one is the
// least preferred and it is not.
func (lr *locRIB) outranks(f wire.Family, r *rib.Route, g *rib.Group, endpoint string, other *rib.Route) bool {
	rival, _ := lr.candidate(other.Group)
	if ours, theirs := lr.ownsRD(f, r, endpoint), lr.ownsRD(f, other, rival); ours != theirs {
		return ours
	}
	return lr.last(other.Group) && !lr.last(g)
}

// candidate is the endpoint whose a group's routes would be if they had their keys.
func (lr *locRIB) candidate(g *rib.Group) (endpoint string, reason rib.Reason) {
	if g.Endpoint != "" {
		return g.Endpoint, ""
	}
	if endpoint, reason = lr.judge(lr.set, g); reason != "" {
		endpoint = ""
	}
	return endpoint, reason
}

// challenge lets a duplicate that waits take a key from a route that it outranks by now.
func (lr *locRIB) challenge(t *transaction, f wire.Family, key string) {
	owner := lr.table.Owner(f, key)
	if owner == nil {
		return
	}
	for _, r := range lr.table.Waiting(f, key) {
		if endpoint, _ := lr.candidate(r.Group); endpoint != "" && lr.outranks(f, r, r.Group, endpoint, owner) {
			lr.table.SetOwner(f, key, nil)
			lr.demote(t, key, owner)
			lr.promote(t, f, key)
			return
		}
	}
}
