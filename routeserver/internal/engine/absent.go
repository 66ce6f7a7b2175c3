package engine

import (
	"weft/routeserver/internal/out"
	"weft/routeserver/internal/rib"
)

// announceGuarded is announce for a peer that has a guard: it holds back poisons and suspects. If the peer has an older
// version of such a route, it withdraws that.
func (ao *adjRIBOut) announceGuarded(t *transaction, p *Peer, b *out.Batch, targets string, known bool) {
	g := p.guard
	var has, lacks, loses []string // NLRIs that the peer has in another form, does not have, and must lose
	for _, nlri := range b.NLRIs {
		id := routeName{b.Family, b.Family.Identity(nlri)}
		_, absent := g.absent[id]
		if d, blocked := p.blocked(b, nlri); blocked {
			g.absent[id] = absence{d, now()}
			if t != nil {
				t.held[p.Name]++
			}
			if known && !absent {
				loses = append(loses, nlri)
			}
			continue
		}
		delete(g.absent, id)
		if known && !absent {
			has = append(has, nlri)
		} else {
			lacks = append(lacks, nlri)
		}
	}
	if len(loses) > 0 {
		ao.sendWithdrawal(t, p, out.Withdraw(b.Family, loses))
	}
	ao.sendApart(t, p, part(b, has), targets, true)
	ao.sendApart(t, p, part(b, lacks), targets, false)
}

func (p *Peer) blocked(b *out.Batch, nlri string) (d digest, blocked bool) {
	g := p.guard
	if _, named := g.names[routeName{b.Family, nlri}]; !named {
		return d, false
	}
	d, ok := digestOf(p, b, nlri)
	return d, ok && g.blocks(d)
}

// part returns a batch of some of a batch's routes; if they are all, it returns that batch.
func part(b *out.Batch, nlris []string) *out.Batch {
	if len(nlris) == len(b.NLRIs) {
		return b
	}
	return out.Announce(b.Family, b.Attributes, b.Reflection, nlris)
}

// sendApart announces routes in one message each if the peer does not tolerate several in one.
func (ao *adjRIBOut) sendApart(t *transaction, p *Peer, b *out.Batch, targets string, known bool) {
	switch {
	case len(b.NLRIs) == 0:
	case len(b.NLRIs) > 1 && !p.guard.apart[b.Family].IsZero():
		for _, nlri := range b.NLRIs {
			ao.sendAnnouncement(t, p, part(b, []string{nlri}), targets, known)
		}
	default:
		ao.sendAnnouncement(t, p, b, targets, known)
	}
}

// withdrawGuarded is withdraw for a peer that has a guard. It does not withdraw routes that were held back, since the peer
// may not tolerate that either.
func (ao *adjRIBOut) withdrawGuarded(t *transaction, p *Peer, b *out.Batch) {
	var has []string
	for _, nlri := range b.NLRIs {
		id := routeName{b.Family, b.Family.Identity(nlri)}
		if _, absent := p.guard.absent[id]; absent {
			delete(p.guard.absent, id)
		} else {
			has = append(has, nlri)
		}
	}
	switch len(has) {
	case 0:
	case len(b.NLRIs):
		ao.sendWithdrawal(t, p, b)
	default:
		ao.sendWithdrawal(t, p, out.Withdraw(b.Family, has))
	}
}

// offer sends a peer a route by itself that was held back, if the peer is still to have it.
func (lr *locRIB) offer(p *Peer, s routeName) {
	r := lr.table.Owner(s.family, s.family.Key(s.nlri))
	if r == nil || r.NLRI != s.nlri || r.Group.Endpoint == "" {
		return
	}
	if sent, ok := r.Group.SentTo(p.Name); ok && sent.Has(s.nlri) {
		p.guard.offered(s)
		lr.announce(nil, p.Name, out.Announce(s.family, r.Group.Attributes, lr.reflection(r.Group.Peer), []string{s.nlri}), sent.Targets, false)
		lr.tell(SentTo, r.Group, []string{s.nlri}, p.Name, sent.Targets)
	}
}

// heldBack returns why a peer was not sent a route that it is to have; nil: it was sent.
func (p *Peer) heldBack(g *rib.Group, nlri string) *HeldBack {
	if p.guard == nil || len(p.guard.absent) == 0 {
		return nil
	}
	w, held := p.guard.absent[routeName{g.Family, g.Family.Identity(nlri)}]
	if !held {
		return nil
	}
	if v := p.guard.verdicts[w.digest]; p.guard.verdictOn(w.digest) == Poison {
		return &HeldBack{Verdict: Poison, Why: v.why, Since: v.since, Until: v.until}
	}
	return &HeldBack{Verdict: Suspected, Why: p.guard.why, Since: w.since}
}

// split divides a group's NLRIs into those that a peer was sent and those that are held back from it.
func (p *Peer) split(g *rib.Group, nlris []string) (sent, held []string) {
	if p == nil || p.guard == nil || len(p.guard.absent) == 0 {
		return nlris, nil
	}
	for _, nlri := range nlris {
		if p.heldBack(g, nlri) == nil {
			sent = append(sent, nlri)
		} else {
			held = append(held, nlri)
		}
	}
	return sent, held
}

// foresee counts how many of a group's routes a peer would be sent.
func (ss *sessions) foresee(t *transaction, peer string, g *rib.Group, nlris []string) {
	p := ss.peers[peer]
	if p == nil || p.guard == nil {
		count(t.announced, peer, len(nlris))
		return
	}
	b := g.Whole(ss.reflection(g.Peer))
	for _, nlri := range nlris {
		if _, blocked := p.blocked(b, nlri); blocked {
			t.held[peer]++
		} else {
			t.announced[peer]++
		}
	}
}

// foreseeWithdrawal counts how many of a group's routes would be withdrawn from a peer.
func (ss *sessions) foreseeWithdrawal(t *transaction, peer string, g *rib.Group, nlris []string) {
	sent, _ := ss.peers[peer].split(g, nlris)
	count(t.withdrawn, peer, len(sent))
}
