package engine

import (
	"fmt"
	"time"

	"weft/routeserver/internal/wire"
)

// guarded prepares a peer's guard for a new session.
func (ss *sessions) guarded(p *Peer) {
	g := ss.guards[p.Name]
	if g == nil {
		return
	}
	if now().Sub(g.broke) >= again {
		g.dropped = nil
	}
	if g.idle() {
		ss.forgetGuard(p.Name)
		return
	}
	p.guard, g.absent = g, map[routeName]absence{}
}

// observe waits until everything that a peer is to have now has been written to it, and then for the time that the peer may
// take to end its session. After that the search goes on.
func (e *Engine) observe(p *Peer) {
	settle := p.guard.settle
	p.Queue.OnWritten(func(ok bool) {
		if ok {
			time.AfterFunc(settle, func() { e.settled(p) })
		}
	})
}

// settled records that a peer tolerates everything that it was sent.
func (e *Engine) settled(p *Peer) {
	e.mu.Lock()
	defer e.unlock()
	g := p.guard
	if e.peers[p.Name] != p || g == nil || g.search == nil {
		return
	}
	if m := p.membership; m != nil && !m.settled || p.Opening.Unread != nil && p.Opening.Unread() > 0 {
		e.observe(p) // the peer has not taken everything yet
		return
	}
	g.search.Survived()
	trial, found := g.search.Next(func(d digest) bool {
		s := g.suspects[d]
		return g.absent[routeName{s.family, s.family.Identity(s.nlri)}].digest == d
	})
	e.convict(g, found)
	if len(trial) == 0 {
		e.acquit(p)
		return
	}
	for _, d := range trial {
		e.offer(p, g.suspects[d].routeName)
	}
	e.observe(p)
}

// acquit ends a search.
func (e *Engine) acquit(p *Peer) {
	g := p.guard
	found := 0
	for d := range g.suspects {
		if v := g.verdicts[d]; v != nil && !v.lapsed {
			found++
		}
	}
	text := fmt.Sprintf("%d of the routes that %s was suspected to end its session for are sent to it, and %d held back", len(g.suspects)-found, p.Name, found)
	if g.search.Together() {
		var families [wire.Families]bool
		for _, s := range g.suspects {
			families[s.family] = true
		}
		for f, concerned := range families {
			if concerned {
				g.apart[f] = now().Add(e.HoldBack << maxDoublings)
				text += fmt.Sprintf("; it bears each of them alone: %s routes are sent to it in a message each", wire.Family(f))
			}
		}
	}
	e.Events.AddOften("poison-cleared", p.Name, "", text)
	g.search, g.suspects = nil, map[digest]suspect{}
	g.index()
	e.schedule(g)
	e.forgetGuard(p.Name)
}
