package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"weft/routeserver/internal/wire"
)

// convict holds found poisons back from a peer for some time.
func (e *Engine) convict(g *guard, found []digest) {
	for _, d := range found {
		v := g.verdicts[d]
		if v == nil {
			g.makeRoom()
			v = &verdict{suspect: g.suspects[d]}
			g.verdicts[d] = v
		}
		v.why, v.since, v.lapsed = g.why, now(), false
		v.until = v.since.Add(e.HoldBack << min(v.times, maxDoublings))
		v.times++
		e.tally(g.peer).Poisons++
		e.Events.Add("poison-route", g.peer, fmt.Sprintf( // one event for each route; a verdict costs a session, so there are few
			"%s %s of endpoint %s, announced by %s, is held back from %s until %s, which ended its session for it: %s",
			v.family, v.family.Text(v.nlri), v.endpoint, v.announcer, g.peer, v.until.UTC().Format(time.RFC3339), v.why))
		e.bar(g, v.announcer)
	}
	e.schedule(g)
}

// makeRoom forgets the oldest verdict if there are too many.
func (g *guard) makeRoom() {
	if len(g.verdicts) < maxVerdicts {
		return
	}
	delete(g.verdicts, slices.MinFunc(slices.Collect(maps.Keys(g.verdicts)), func(a, b digest) int {
		return g.verdicts[a].since.Compare(g.verdicts[b].since)
	}))
}

// bar holds all routes of an announcing peer back from a peer if that has too many poisons from it. So nobody can end
// another's sessions for ever by announcing a new poison each time.
func (lr *locRIB) bar(g *guard, source string) {
	n := 0
	for _, v := range g.verdicts {
		if v.announcer == source && !v.lapsed {
			n++
		}
	}
	if n < maxPerSource || g.bars(source) {
		return
	}
	until := now().Add(lr.HoldBack)
	g.sources[source] = until
	lr.Events.Add("poison-source", g.peer, fmt.Sprintf("all routes of %s are held back from %s until %s: %d of them have ended its sessions",
		source, g.peer, until.UTC().Format(time.RFC3339), n))
	if p := lr.peers[g.peer]; p != nil {
		lr.readdressAll(p)
	}
}

// schedule sets the timer to the end of the next hold time.
func (e *Engine) schedule(g *guard) {
	var first time.Time
	earlier := func(t time.Time) {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for _, v := range g.verdicts {
		earlier(v.next(e.HoldBack))
	}
	for _, until := range g.sources {
		earlier(until)
	}
	for _, until := range g.apart {
		earlier(until)
	}
	if g.timer != nil {
		g.timer.Stop()
	}
	if g.timer = nil; !first.IsZero() {
		g.timer = time.AfterFunc(max(0, first.Sub(now())), func() { e.lapseHeld(g) })
	}
}

// next returns when a verdict is due: first to send the route again, later to forget that it was found.
func (v *verdict) next(hold time.Duration) time.Time {
	if v.lapsed {
		return v.until.Add(hold << maxDoublings)
	}
	return v.until
}

// lapseHeld lifts what was held back for long enough.
func (e *Engine) lapseHeld(g *guard) {
	e.mu.Lock()
	defer e.unlock()
	if e.guards[g.peer] != g {
		return
	}
	at := now()
	var lifted []routeName
	for d, v := range g.verdicts {
		switch due := !v.next(e.HoldBack).After(at); {
		case due && v.lapsed:
			delete(g.verdicts, d)
		case due:
			v.lapsed = true
			lifted = append(lifted, v.routeName)
			e.Events.AddOften("poison-lifted", g.peer, "", fmt.Sprintf("%s %s is sent to %s again: its time is over", v.family, v.family.Text(v.nlri), g.peer))
		}
	}
	for source, until := range g.sources {
		if !until.After(at) {
			delete(g.sources, source)
			e.Events.Add("poison-lifted", g.peer, fmt.Sprintf("routes of %s are sent to %s again: their time is over", source, g.peer))
		}
	}
	for f, until := range g.apart {
		if !until.After(at) {
			g.apart[f] = time.Time{}
		}
	}
	e.resume(g, lifted)
}

// resume sends a peer the routes that are no longer held back.
func (e *Engine) resume(g *guard, lifted []routeName) {
	g.index()
	slices.SortFunc(lifted, func(a, b routeName) int { return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.nlri, b.nlri)) })
	if p := e.peers[g.peer]; p != nil && p.guard == g {
		for _, r := range lifted {
			e.offer(p, r)
		}
		e.readdressAll(p)
	}
	e.schedule(g)
	e.forgetGuard(g.peer)
}

// Release lifts what is held back from a peer: one route, by a name of its NLRI (wire.Family.Calls), or everything. It
// returns the number of routes, and of announcing peers whose routes were all held back.
func (e *Engine) Release(peer, nlri string) (routes, sources int) {
	e.mu.Lock()
	defer e.unlock()
	g := e.guards[peer]
	if g == nil {
		return 0, 0
	}
	var lifted []routeName
	for d, v := range g.verdicts {
		if nlri != "" && !v.family.Calls(nlri, v.nlri) {
			continue
		}
		if !v.lapsed {
			lifted = append(lifted, v.routeName)
		}
		delete(g.verdicts, d)
	}
	if routes = len(lifted); nlri == "" {
		if s := g.search; s != nil {
			for d, one := range g.suspects {
				if s.Holds(d) {
					routes++
					lifted = append(lifted, one.routeName)
				}
			}
		}
		sources = len(g.sources)
		clear(g.sources)
		g.search, g.suspects, g.dropped, g.apart = nil, map[digest]suspect{}, nil, [wire.Families]time.Time{}
	}
	if routes+sources > 0 {
		e.Events.Add("poison-lifted", peer, fmt.Sprintf("an operator lifts what is held back from %s: %d routes, %d peers", peer, routes, sources))
	}
	e.resume(g, lifted)
	return routes, sources
}
