package engine

import (
	"time"

	"weft/routeserver/out"
	"weft/routeserver/rib"
)

var now = time.Now

// transaction counts what is sent to whom. Nil: nobody wants to know.
type transaction struct {
	announced, withdrawn map[string]int
	held                 map[string]int // of what was to be announced, by the poison-route guard
}

func newTransaction() *transaction {
	return &transaction{announced: map[string]int{}, withdrawn: map[string]int{}, held: map[string]int{}}
}

// emit sends routes that move from one group to another to everybody concerned: withdrawals to those who had them and are
// not to any more, announcements to all recipients of the new group. Nil stands for no group.
func (e *Engine) emit(t *transaction, nlris []string, from, to *rib.Group) {
	if len(nlris) == 0 {
		return
	}
	if from != nil {
		var b *out.Batch
		for _, s := range from.Out {
			if to != nil {
				if _, stays := to.SentTo(s.Peer); stays {
					continue
				}
			}
			if b == nil {
				b = out.Withdraw(from.Family, nlris)
			}
			e.withdraw(t, s.Peer, b)
			e.tell(Unsent, from, nlris, s.Peer, s.Targets)
		}
	}
	if to == nil || len(to.Out) == 0 {
		return
	}
	b := out.Announce(to.Family, to.Attributes, e.reflection(to.Peer), nlris)
	for _, s := range to.Out {
		known := false
		if from != nil {
			_, known = from.SentTo(s.Peer)
		}
		e.announce(t, s.Peer, b, s.Targets, known)
		e.tell(SentTo, to, nlris, s.Peer, s.Targets)
	}
}

// retarget sends a whole group's routes to a peer with other route targets than before, or withdraws them.
func (e *Engine) retarget(t *transaction, g *rib.Group, peer, targets string) {
	targets = e.wanted(peer, g, targets)
	was, known := g.SentTo(peer)
	if was.Targets == targets {
		return
	}
	g.SetSent(peer, targets, now())
	if targets == "" {
		b := g.Gone()
		e.withdraw(t, peer, b)
		e.tell(Unsent, g, b.NLRIs, peer, was.Targets)
	} else {
		b := g.Whole(e.reflection(g.Peer))
		e.announce(t, peer, b, targets, known)
		e.tell(SentTo, g, b.NLRIs, peer, targets)
	}
}

// readdress brings a group's recipients in line with what is desired.
func (e *Engine) readdress(t *transaction, g *rib.Group, desired map[string]string) {
	for _, s := range append([]rib.Sent(nil), g.Out...) {
		if desired[s.Peer] == "" {
			e.retarget(t, g, s.Peer, "")
		}
	}
	for peer, targets := range desired {
		e.retarget(t, g, peer, targets)
	}
}

func (e *Engine) announce(t *transaction, peer string, b *out.Batch, targets string, known bool) {
	switch p := e.peers[peer]; {
	case p == nil:
	case p.guard != nil:
		e.announceGuarded(t, p, b, targets, known)
	default:
		e.sendAnnouncement(t, p, b, targets, known)
	}
}

func (e *Engine) sendAnnouncement(t *transaction, p *Peer, b *out.Batch, targets string, known bool) {
	p.Queue.Announce(b, targets, known)
	e.feed(Entry{Kind: RoutesOut, Peer: p, Batch: b, Targets: targets})
	e.counters.SentAnnounced += uint64(len(b.NLRIs))
	p.tally.Families[b.Family].SentAnnounced += uint64(len(b.NLRIs))
	if t != nil {
		t.announced[p.Name] += len(b.NLRIs)
	}
}

func (e *Engine) withdraw(t *transaction, peer string, b *out.Batch) {
	switch p := e.peers[peer]; {
	case p == nil:
	case p.guard != nil:
		e.withdrawGuarded(t, p, b)
	default:
		e.sendWithdrawal(t, p, b)
	}
}

func (e *Engine) sendWithdrawal(t *transaction, p *Peer, b *out.Batch) {
	p.Queue.Withdraw(b)
	e.feed(Entry{Kind: RoutesOut, Peer: p, Batch: b})
	e.counters.SentWithdrawn += uint64(len(b.NLRIs))
	p.tally.Families[b.Family].SentWithdrawn += uint64(len(b.NLRIs))
	if t != nil {
		t.withdrawn[p.Name] += len(b.NLRIs)
	}
}
