package engine

import (
	"maps"
	"slices"
	"time"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Snapshot is everything that decides what one peer is sent, and what it was sent, at one moment.
type Snapshot struct {
	At         time.Time
	Set        *ruleset.Set
	In         []View // of all peers
	Out        []View // to the peer
	Up         bool
	Families   [wire.Families]bool
	Kind       wire.Kind
	Longest    int                        // length in bytes of the longest message that the peer accepts
	Added      map[string]wire.Reflection // what reflection adds to routes, by announcing PE
	LongLived  bool                       // the peer knows what LLGR_STALE means (RFC 9494)
	Constrains bool                       // the peer uses RT-Constrain (RFC 4684)
	Settled    bool                       // the peer has said which route targets it wants
	Asked      []string                   // NLRIs that it asked for
	Held       []string                   // endpoints that stay in quarantine for a while after they were over their limit
	Barred     map[string]time.Time       // announcing peers whose routes the poison-route guard all holds back, and until when
}

// Snapshot returns everything at one moment; its lists are in no order.
func (e *Engine) Snapshot(peer string) Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Snapshot{At: now().UTC(), Set: e.set, Added: map[string]wire.Reflection{}}
	if e.LimitHold > 0 {
		s.Held = e.table.Overloaded()
	}
	p := e.peers[peer]
	if p != nil {
		s.Up, s.Families, s.Kind, s.Longest, s.LongLived = true, p.Families, p.Queue.Kind, p.longest(), p.restart.LongLived
		if m := p.membership; m != nil {
			s.Constrains, s.Settled, s.Asked = true, m.settled, slices.Collect(maps.Values(m.asked))
		}
		if p.guard != nil {
			s.Barred = maps.Clone(p.guard.sources)
		}
	}
	for name, in := range e.table.Ins() {
		s.Added[name] = e.reflection(name)
		for _, g := range in.Groups() {
			sent, to := g.SentTo(peer)
			for _, r := range g.Routes() {
				s.In = append(s.In, e.plainView(AdjIn, g, r))
				if to && sent.Has(r.NLRI) {
					v := e.plainView(AdjOut, g, r)
					v.To, v.Targets = peer, sent.Targets
					if p != nil {
						v.Held = p.heldBack(g, r.NLRI)
					}
					s.Out = append(s.Out, v)
				}
			}
		}
	}
	return s
}

func (fo *inForce) plainView(table string, g *rib.Group, r *rib.Route) View {
	return View{
		Table: table, NLRI: r.NLRI, Family: g.Family, Endpoint: g.Endpoint, Peer: g.Peer, Targets: g.Attributes.RTs,
		Attributes: g.Attributes, Received: time.Unix(0, r.Received), LongLived: fo.last(g),
	}
}
