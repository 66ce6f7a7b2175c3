package engine

import (
	"fmt"
	"slices"
	"time"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// Long-lived graceful restart (RFC 9494): after the restart time, routes are kept for longer, but as the least preferred
// ones. Only peers that know what this means get them.

// LongStale returns what our OPEN says about long-lived graceful restart: whether we support it, and how long our routes of
// these families may be kept.
func (e *Engine) LongStale(families [wire.Families]bool) (offered bool, times [wire.Families]time.Duration) {
	for f := range wire.Families {
		if families[f] && f != wire.RTC {
			times[f] = e.LongLived[f]
		}
	}
	return e.prolongs(), times
}

// prolongs reports whether this restart is switched on for any family. If not, LLGR_STALE is a community like any other.
func (fo *inForce) prolongs() bool { return fo.LongLived != [wire.Families]time.Duration{} }

// term returns how long routes of a peer with this restart capability may be kept after the restart time.
func (fo *inForce) term(r wire.Restart, f wire.Family) time.Duration {
	if !r.LongLived || fo.StaleTime == 0 {
		return 0
	}
	return min(r.LongStale[f], fo.LongLived[f])
}

// prolong makes the stale routes of a family of a lost peer long-lived stale, or keeps them so. A time that is running does
// not begin again before the peer's End-of-RIB.
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

// markStale adds the community LLGR_STALE to routes, which moves them to another group. It withdraws those with NO_LLGR.
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

// lapse ends the time of long-lived stale routes. If their peer is back but has not sent its End-of-RIB, the routes that it
// has announced again stay only as long as this session.
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

// last reports whether a group's routes are the least preferred.
func (fo *inForce) last(g *rib.Group) bool { return g.LongLived && fo.prolongs() }

// outranks reports whether a route of group g takes its key from another route. It does if its endpoint owns the route
// distinguisher and the other's endpoint does not: this decides first. Otherwise it does if only the other route is the
// least preferred.
func (lr *locRIB) outranks(f wire.Family, r *rib.Route, g *rib.Group, endpoint string, other *rib.Route) bool {
	rival, _ := lr.candidate(other.Group)
	if ours, theirs := lr.ownsRD(f, r, endpoint), lr.ownsRD(f, other, rival); ours != theirs {
		return ours
	}
	return lr.last(other.Group) && !lr.last(g)
}

// candidate returns the endpoint that a group's routes would belong to if they had their keys.
func (lr *locRIB) candidate(g *rib.Group) (endpoint string, reason rib.Reason) {
	if g.Endpoint != "" {
		return g.Endpoint, ""
	}
	if endpoint, reason = lr.judge(lr.set, g); reason != "" {
		endpoint = ""
	}
	return endpoint, reason
}

// challenge lets a waiting duplicate take a key from a route that it outranks now.
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
