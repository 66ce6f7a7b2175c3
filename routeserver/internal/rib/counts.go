package rib

import (
	"maps"
	"math"

	"weft/routeserver/internal/wire"
)

// Counts are the numbers of routes in a peer's tables. The table keeps them up to date where routes come and go, so they
// cost no walk.
type Counts struct {
	In, Accepted  [wire.Families]int
	Quarantined   map[Reason]int
	Out, Withheld [wire.Families]int // routes that the peer is sent, and those that do not fit into its messages
}

// recipient counts the routes that one peer is sent. Its number is in each Sent record of the peer.
type recipient struct {
	records             int                // Sent records of the peer; without any, the number is free for another
	addressed, withheld [wire.Families]int // all routes of groups that are sent to it, and those among them that do not fit
}

// recipients counts what all peers are sent.
//
// A group has many routes and many recipients, and both change. A change of its routes is counted for the recipients once
// for all changes until settle; only a route that does not fit into a recipient's messages is counted at once.
type recipients struct {
	numbers map[string]int32
	of      []recipient
	free    []int32
	changed []*Group // groups whose number of routes differs from the one that is counted
}

// Counts returns the numbers of a peer's routes.
func (t *Table) Counts(peer string) (c Counts) {
	t.Settle()
	if in := t.in[peer]; in != nil {
		c.Accepted, c.Quarantined = in.accepted, maps.Clone(in.quarantined)
		for f := range wire.Families {
			c.In[f] = len(in.routes[f])
		}
	}
	if n, there := t.recipients.numbers[peer]; there {
		r := &t.recipients.of[n]
		c.Withheld = r.withheld
		for f := range wire.Families {
			c.Out[f] = r.addressed[f] - r.withheld[f]
		}
	}
	return c
}

// Settle counts for the recipients of groups whose routes have changed. It is to follow every change of the table, so that
// the work is done with that change.
func (t *Table) Settle() {
	for _, g := range t.recipients.changed {
		g.settle()
	}
	clear(t.recipients.changed)
	t.recipients.changed = t.recipients.changed[:0]
}

func (g *Group) settle() {
	n := g.Len() - g.counted
	g.counted = g.Len()
	if n == 0 || g.in == nil {
		return
	}
	for i := range g.Out {
		g.in.table.recipients.of[g.Out[i].number].addressed[g.Family] += n
	}
}

// count adds routes to the numbers of the group's peer.
func (g *Group) count(n int) {
	switch {
	case g.in == nil || n == 0:
	case g.Endpoint != "":
		g.in.accepted[g.Family] += n
	default:
		if g.in.quarantined[g.Reason] += n; g.in.quarantined[g.Reason] == 0 {
			delete(g.in.quarantined, g.Reason)
		}
	}
}

// countRoute counts a route that comes (n is 1) or goes (n is -1).
func (g *Group) countRoute(r *Route, n int) {
	g.count(n)
	if len(g.Out) == 0 || g.in == nil {
		g.counted = g.Len()
		return
	}
	all := &g.in.table.recipients
	if g.counted == g.Len()-n { // otherwise it is in the list already
		all.changed = append(all.changed, g)
	}
	if len(r.NLRI) <= int(g.tightest) {
		return
	}
	for i := range g.Out {
		if s := &g.Out[i]; !s.Has(r.NLRI) {
			all.of[s.number].withheld[g.Family] += n
		}
	}
}

// countRecord counts all routes of the group for a recipient (n is 1) or no more (n is -1).
func (g *Group) countRecord(s *Sent, n int) {
	if g.in == nil {
		return
	}
	g.settle()
	all := &g.in.table.recipients
	if n > 0 {
		s.number = all.number(s.Peer)
	}
	r := &all.of[s.number]
	r.addressed[g.Family] += n * g.Len()
	r.withheld[g.Family] += n * (g.Len() - g.Count(*s))
	if r.records += n; r.records == 0 {
		delete(all.numbers, s.Peer)
		all.free = append(all.free, s.number)
	}
}

// tighten notes the smallest room of the recipients, or less.
func (g *Group) tighten(s *Sent) {
	if len(g.Out) == 0 {
		g.tightest = math.MaxInt32
	}
	g.tightest = min(g.tightest, s.Room)
}

// number returns the number of a recipient.
func (all *recipients) number(peer string) int32 {
	n, there := all.numbers[peer]
	if there {
		return n
	}
	if last := len(all.free) - 1; last >= 0 {
		n, all.free = all.free[last], all.free[:last]
		all.of[n] = recipient{}
	} else {
		n = int32(len(all.of))
		all.of = append(all.of, recipient{})
	}
	all.numbers[peer] = n
	return n
}
