package engine

import (
	"maps"
	"slices"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// refreshing is the answer to a peer's ROUTE-REFRESH of one family. However many requests come while an answer waits in the
// peer's queue, only one more answer follows it. So the queue of a peer that asks and takes nothing holds one answer.
type refreshing struct {
	waits    bool // an answer is in the queue
	again    bool // the peer asked again meanwhile
	enhanced bool // with RFC 7313's markers
}

// Refresh answers a ROUTE-REFRESH (RFC 2918), or begins or ends the peer's own refresh (RFC 7313). enhanced says that
// enhanced route refresh was negotiated.
func (e *Engine) Refresh(p *Peer, f wire.Family, kind uint8, enhanced bool) {
	e.mu.Lock()
	defer e.unlock()
	if e.peers[p.Name] != p || !p.Families[f] {
		return
	}
	switch {
	case kind == wire.RefreshRequest:
		p.refreshing[f].enhanced = enhanced
		e.answer(p, f)
	case f == wire.RTC:
		e.refreshMembership(p, kind)
	case p.kept[f] != nil: // its routes are stale already, until its End-of-RIB
	case kind == wire.RefreshBegin:
		p.renewed[f] = map[string]struct{}{}
	case kind == wire.RefreshEnd:
		e.dropStale(p, f)
	}
}

// dropStale removes the routes of a family that a peer has not announced again since it began its refresh.
func (lr *locRIB) dropStale(p *Peer, f wire.Family) {
	renewed := p.renewed[f]
	if renewed == nil {
		return
	}
	p.renewed[f] = nil
	in := lr.table.In(p.Name)
	m := mover{out: &lr.adjRIBOut}
	for _, key := range slices.Collect(maps.Keys(in.Routes(f))) {
		if _, again := renewed[key]; !again {
			lr.drop(&m, in, f, key, in.Route(f, key))
		}
	}
	m.flush()
}

// answer sends a peer all routes of a family again: now, or after the answer that is in its queue.
func (e *Engine) answer(p *Peer, f wire.Family) {
	r := &p.refreshing[f]
	if r.waits {
		r.again = true
		return
	}
	r.again = false
	if r.enhanced {
		p.Queue.Message(wire.Refresh(f, wire.RefreshBegin))
	}
	if f == wire.RTC {
		p.Queue.Message(wire.AllTargets(e.RouterID, e.ASN, p.Queue.Kind))
	} else {
		e.resend(p, f)
	}
	if r.enhanced {
		p.Queue.Message(wire.Refresh(f, wire.RefreshEnd))
	}
	r.waits = p.Queue.AfterWritten(func(ok bool) {
		if ok { // otherwise the session is over
			e.refreshed(p, f)
		}
	})
}

// refreshed begins the next answer if the peer asked for it while this one waited.
func (e *Engine) refreshed(p *Peer, f wire.Family) {
	e.mu.Lock()
	defer e.unlock()
	r := &p.refreshing[f]
	r.waits = false
	if r.again && e.peers[p.Name] == p {
		e.answer(p, f)
	}
}

// resend sends a peer all routes of a family that it was sent before.
func (lr *locRIB) resend(p *Peer, f wire.Family) {
	for endpoint := range lr.sources(p.Name) {
		for g := range lr.table.Endpoint(endpoint) {
			if s, sent := g.SentTo(p.Name); sent && g.Family == f {
				b := g.Whole(lr.reflection(g.Peer))
				if fit, _ := rib.Part(b.NLRIs, s.Room); len(fit) > 0 {
					lr.announce(nil, p.Name, part(b, fit), s.Targets, true)
				}
			}
		}
	}
}
