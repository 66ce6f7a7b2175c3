package engine

import (
	"fmt"
	"time"

	"weft/routeserver/internal/out"
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

var now = time.Now

// transaction counts the routes that each peer is sent, and those that do not fit into its messages. A nil transaction
// counts nothing.
type transaction struct {
	announced, withdrawn, withheld map[string]int
	held                           map[string]int // announcements that the poison-route guard holds back
}

func newTransaction() *transaction {
	return &transaction{announced: map[string]int{}, withdrawn: map[string]int{}, withheld: map[string]int{}, held: map[string]int{}}
}

// emit sends routes that move from one group to another; nil stands for no group. Peers that had the routes and are not to
// have them any more get withdrawals. All recipients of the new group get announcements. A recipient also gets a withdrawal
// if a route no longer fits into its messages.
func (ao *adjRIBOut) emit(t *transaction, nlris []string, from, to *rib.Group) {
	if len(nlris) == 0 {
		return
	}
	if from != nil {
		whole := (*out.Batch)(nil)
		for _, s := range from.Out {
			gone, _ := rib.Part(nlris, s.Room)
			if to != nil {
				if stays, has := to.SentTo(s.Peer); has {
					_, gone = rib.Part(gone, stays.Room)
				}
			}
			if len(gone) == 0 {
				continue
			}
			b := whole
			if b == nil || len(gone) < len(nlris) {
				b = out.Withdraw(from.Family, gone)
			}
			if len(gone) == len(nlris) {
				whole = b
			}
			ao.withdraw(t, s.Peer, b)
			ao.tell(Unsent, from, gone, s.Peer, s.Targets)
		}
	}
	if to == nil || len(to.Out) == 0 {
		return
	}
	whole := out.Announce(to.Family, to.Attributes, ao.reflection(to.Peer), nlris)
	for _, s := range to.Out {
		was := rib.Sent{}
		if from != nil {
			was, _ = from.SentTo(s.Peer)
		}
		ao.deliver(t, to, whole, s, was)
	}
}

// deliver sends a peer those routes of a group that fit into its messages. was is the record of what it was sent of these
// routes before; the zero value: nothing.
func (ao *adjRIBOut) deliver(t *transaction, g *rib.Group, whole *out.Batch, s, was rib.Sent) {
	fit, rest := rib.Part(whole.NLRIs, s.Room)
	old, fresh := rib.Part(fit, was.Room)
	for i, nlris := range [][]string{old, fresh} {
		if len(nlris) == 0 {
			continue
		}
		ao.announce(t, s.Peer, part(whole, nlris), s.Targets, i == 0)
		ao.tell(SentTo, g, nlris, s.Peer, s.Targets)
	}
	ao.tooLong(t, g, rest, s)
}

// retarget sends all routes of a group to a peer with other route targets than before, or withdraws them.
func (ao *adjRIBOut) retarget(t *transaction, g *rib.Group, peer, targets string) {
	s := ao.sending(peer, g, ao.wanted(peer, g, targets))
	was, _ := g.SentTo(peer)
	if was.Targets == s.Targets {
		return
	}
	g.SetSent(s)
	b := g.Whole(ao.reflection(g.Peer))
	if gone, _ := rib.Part(b.NLRIs, was.Room); len(gone) > 0 {
		if _, gone = rib.Part(gone, s.Room); len(gone) > 0 {
			w := g.Gone()
			if len(gone) < len(w.NLRIs) {
				w = out.Withdraw(g.Family, gone)
			}
			ao.withdraw(t, peer, w)
			ao.tell(Unsent, g, gone, peer, was.Targets)
		}
	}
	if s.Targets != "" {
		ao.deliver(t, g, b, s, was)
	}
}

// sending returns the record that a peer is sent a group's routes with these route targets from now on.
func (ss *sessions) sending(peer string, g *rib.Group, targets string) rib.Sent {
	s := rib.Sent{Peer: peer, Targets: targets, At: now()}
	if p := ss.peers[peer]; p != nil && targets != "" {
		s.Room = int32(max(0, g.Attributes.Room(g.Family, ss.reflection(g.Peer), p.Queue.Kind, len(targets)/8, p.longest())))
	}
	return s
}

// longest returns the length in bytes of the longest message that a peer accepts.
func (p *Peer) longest() int {
	if p.extended {
		return wire.MaxExtended
	}
	return wire.MaxLength
}

// tooLong reports routes that are not sent because they do not fit into a message that the peer accepts.
func (ao *adjRIBOut) tooLong(t *transaction, g *rib.Group, nlris []string, s rib.Sent) {
	p := ao.peers[s.Peer]
	if len(nlris) == 0 || p == nil {
		return
	}
	if t != nil {
		t.withheld[s.Peer] += len(nlris)
	}
	ao.tell(Withheld, g, nlris, s.Peer, s.Targets)
	text := fmt.Sprintf("%d %s route(s) of %s are not sent to %s: they do not fit into a message of %d bytes", len(nlris), g.Family, g.Peer, s.Peer, p.longest())
	if !p.extended {
		text += ", and it does not offer longer ones (RFC 8654)"
	}
	ao.Events.AddOften("withheld", s.Peer, g.Peer, text)
}

// readdress makes a group's recipients the desired ones.
func (ao *adjRIBOut) readdress(t *transaction, g *rib.Group, desired map[string]string) {
	for _, s := range append([]rib.Sent(nil), g.Out...) {
		if desired[s.Peer] == "" {
			ao.retarget(t, g, s.Peer, "")
		}
	}
	for peer, targets := range desired {
		ao.retarget(t, g, peer, targets)
	}
}

func (ao *adjRIBOut) announce(t *transaction, peer string, b *out.Batch, targets string, known bool) {
	switch p := ao.peers[peer]; {
	case p == nil:
	case p.guard != nil:
		ao.announceGuarded(t, p, b, targets, known)
	default:
		ao.sendAnnouncement(t, p, b, targets, known)
	}
}

func (ao *adjRIBOut) sendAnnouncement(t *transaction, p *Peer, b *out.Batch, targets string, known bool) {
	p.Queue.Announce(b, targets, known)
	ao.feed(Entry{Kind: RoutesOut, Peer: p, Batch: b, Targets: targets})
	ao.counters.SentAnnounced += uint64(len(b.NLRIs))
	p.tally.Families[b.Family].SentAnnounced += uint64(len(b.NLRIs))
	if t != nil {
		t.announced[p.Name] += len(b.NLRIs)
	}
}

func (ao *adjRIBOut) withdraw(t *transaction, peer string, b *out.Batch) {
	switch p := ao.peers[peer]; {
	case p == nil:
	case p.guard != nil:
		ao.withdrawGuarded(t, p, b)
	default:
		ao.sendWithdrawal(t, p, b)
	}
}

func (ao *adjRIBOut) sendWithdrawal(t *transaction, p *Peer, b *out.Batch) {
	p.Queue.Withdraw(b)
	ao.feed(Entry{Kind: RoutesOut, Peer: p, Batch: b})
	ao.counters.SentWithdrawn += uint64(len(b.NLRIs))
	p.tally.Families[b.Family].SentWithdrawn += uint64(len(b.NLRIs))
	if t != nil {
		t.withdrawn[p.Name] += len(b.NLRIs)
	}
}
