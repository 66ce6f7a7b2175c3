package engine

import (
	"fmt"
	"maps"
	"slices"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// Update puts a peer's UPDATE into the table and sends on what follows. The error, a *wire.Notification, ends the session.
func (e *Engine) Update(p *Peer, u *wire.Update) error {
	e.mu.Lock()
	defer e.unlock()
	if e.peers[p.Name] != p {
		return nil // the session is over; its last messages change nothing
	}
	e.counters.Updates++
	p.tally.Updates++
	e.counters.Ignored += uint64(u.Ignored)
	in := e.table.In(p.Name)
	u.Attributes.Loop = u.Attributes.Loop || u.Attributes.Loops(string(e.RouterID[:]), string(e.ClusterID[:]))
	e.counters.Withdrawn += uint64(len(u.Unreach))
	p.tally.Families[u.UnreachFamily].Withdrawn += uint64(len(u.Unreach))
	if u.UnreachFamily != wire.RTC {
		e.withdrawals(p, in, u)
	}
	if u.EndOfRIB {
		e.ended(p, u.UnreachFamily)
	}
	if u.ReachFamily == wire.RTC || u.UnreachFamily == wire.RTC {
		if err := e.asked(p, u); err != nil {
			return err
		}
	}
	switch {
	case u.Malformed != "":
		e.counters.Malformed++
		p.tally.malformed(u)
		e.Events.AddOften("treat-as-withdraw", p.Name, "", fmt.Sprintf("malformed UPDATE from %s: %s; its routes (%d) are treated as withdrawn", p.Name, u.Malformed, len(u.Reach)))
		e.remove(in, u.ReachFamily, u.Reach)
	case len(u.Reach) == 0 || u.ReachFamily == wire.RTC:
	case !p.Families[u.ReachFamily]:
		e.counters.Ignored += uint64(len(u.Reach))
	default:
		e.counters.Announced += uint64(len(u.Reach))
		p.tally.Families[u.ReachFamily].Announced += uint64(len(u.Reach))
		if u.Attributes.Loop {
			e.counters.Loops++
			p.tally.loop(u.Attributes, string(e.RouterID[:]), string(e.ClusterID[:]))
		}
		e.accept(p, in, u)
	}
	for _, name := range u.Discarded {
		e.Events.AddOften("attribute-discard", p.Name, name, fmt.Sprintf("UPDATE from %s: %s left out, since it is not well formed, there twice, or not this peer's to send", p.Name, name))
	}
	return e.bound(p, in)
}

// withdrawals removes the routes that a peer withdraws. A route's key identifies it, whatever else its withdrawal carries
// (RFC 8277 section 2.4). There is one exception: a peer that tells versions of a route apart by the whole NLRI withdraws a
// version that it has replaced, and the one in force stays. Every withdrawal without an effect causes an event.
func (lr *locRIB) withdrawals(p *Peer, in *rib.In, u *wire.Update) {
	f := u.UnreachFamily
	m := mover{out: &lr.adjRIBOut}
	unknown, late := 0, 0
	for _, nlri := range u.Unreach {
		key := f.Key(nlri)
		switch r := in.Route(f, key); {
		case r == nil:
			unknown++
		case f.Exact() && !wire.SameBlock(nlri, r.NLRI) && in.Late(key, nlri):
			late++
		default:
			lr.drop(&m, in, f, key, r)
		}
	}
	m.flush()
	p.tally.Vain += uint64(unknown + late)
	if unknown > 0 {
		lr.Events.AddOften("withdrawal-ignored", p.Name, "unknown", fmt.Sprintf("%s withdrew %s route(s) that it has not announced: %d", p.Name, f, unknown))
	}
	if late > 0 {
		lr.Events.AddOften("withdrawal-ignored", p.Name, "late", fmt.Sprintf("%s withdrew label block(s) that it had replaced before: %d; those in force stay", p.Name, late))
	}
}

// remove removes the routes that a malformed UPDATE names.
func (lr *locRIB) remove(in *rib.In, f wire.Family, nlris []string) {
	m := mover{out: &lr.adjRIBOut}
	for _, nlri := range nlris {
		key := f.Key(nlri)
		if r := in.Route(f, key); r != nil {
			lr.drop(&m, in, f, key, r)
		}
	}
	m.flush()
}

// drop removes one route, and lets a waiting duplicate take its key.
func (lr *locRIB) drop(m *mover, in *rib.In, f wire.Family, key string, r *rib.Route) {
	m.move(r.NLRI, r.Group, nil)
	free := lr.release(f, key, r)
	if p := lr.peers[in.Peer]; p != nil {
		delete(p.renewed[f], key)
	}
	if k := lr.keptOf(in.Peer, f); k != nil {
		delete(k.routes, key)
	}
	lr.history.withdrawn(in.Peer, f, key, r)
	lr.tell(Withdrawn, r.Group, []string{r.NLRI}, "", "")
	m.note(in.Peer, f, nil, r.NLRI)
	lr.table.Remove(in, key, r)
	if free && len(lr.table.Waiting(f, key)) > 0 {
		m.flush() // the withdrawal goes first
		lr.promote(m.t, f, key)
	}
}

// accept puts announced routes into the table.
func (lr *locRIB) accept(p *Peer, in *rib.In, u *wire.Update) {
	f := u.ReachFamily
	g := lr.group(in, f, u.Attributes)
	site, odd := lr.set.Site(g.Site), g
	received := now().UnixNano()
	m := mover{out: &lr.adjRIBOut}
	var suspects map[rib.Reason]int
	for _, nlri := range u.Reach {
		key := f.Key(nlri)
		r := in.Route(f, key)
		if p.renewed[f] != nil {
			p.renewed[f][key] = struct{}{}
		}
		if p.kept[f] != nil {
			delete(p.kept[f].routes, key)
		}
		meant := g
		if site != nil && site.Grant != nil {
			if wrong := Permit(lr.set, site, f, nlri); wrong != "" {
				if odd.PermitViolation != wrong || odd.Len() == 0 {
					odd = lr.aside(in, f, u.Attributes, wrong)
				}
				meant = odd
			}
		}
		if r != nil && r.NLRI == nlri && (r.Group == meant || meant == g && r.Group.Duplicate && r.Group.Attributes.Equal(g.Attributes)) {
			p.tally.Repeated++
			continue // nothing new
		}
		var old *rib.Group
		if r == nil {
			r = &rib.Route{}
		} else {
			old = r.Group
			if old.Duplicate {
				lr.table.Unwait(f, key, r)
			}
			switch {
			case r.NLRI == nlri:
			case f.Exact():
				in.Replaced(key, r.NLRI, nlri)
				fallthrough
			case len(r.NLRI) != len(nlri): // one may fit into messages into which the other does not
				m.move(r.NLRI, old, nil)
				m.note(in.Peer, f, nil, r.NLRI)
				old = nil
			}
		}
		r.NLRI, r.Received = nlri, received
		m.note(in.Peer, f, u.Attributes, nlri)
		if to := lr.place(&m, in, key, r, old, meant); to.Endpoint == "" {
			p.tally.Refused[to.Reason]++
			if suspects == nil {
				suspects = map[rib.Reason]int{}
			}
			suspects[to.Reason]++
		}
	}
	m.flush()
	lr.table.Tidy(in, g)
	if lr.last(g) {
		for _, nlri := range u.Reach {
			lr.challenge(nil, f, f.Key(nlri))
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(suspects)) {
		if reason != rib.Loop { // no event: external peers send back what they get
			lr.quarantined(g, u, reason, suspects[reason])
		}
	}
}

// place puts a route into the group for its attributes, or into the group of duplicates with them, and sends it on from
// there. old is the group whose recipients have the route.
func (lr *locRIB) place(m *mover, in *rib.In, key string, r *rib.Route, old, g *rib.Group) (to *rib.Group) {
	to, freed := lr.seat(m, in, g.Family, key, r, g)
	lr.table.Put(in, key, r, to)
	kind := Announced
	if to.Endpoint == "" {
		kind = Quarantined
	}
	lr.tell(kind, to, []string{r.NLRI}, "", "")
	m.move(r.NLRI, old, to)
	if freed {
		m.flush()
		lr.promote(m.t, g.Family, key)
	}
	return to
}

// seat returns the group for a route with the attributes of g: g, or its group of duplicates if another route has the key.
// freed says that the route gave its key up.
func (lr *locRIB) seat(m *mover, in *rib.In, f wire.Family, key string, r *rib.Route, g *rib.Group) (to *rib.Group, freed bool) {
	if g.Endpoint == "" {
		freed = lr.table.Owner(f, key) == r
		if freed {
			lr.table.SetOwner(f, key, nil)
		}
		return g, freed
	}
	if lr.claim(m.t, f, key, r, g, g.Endpoint) {
		return g, false
	}
	lr.table.Wait(f, key, r)
	return lr.duplicates(in, g), false
}

func (fo *inForce) quarantined(g *rib.Group, u *wire.Update, reason rib.Reason, n int) {
	rts := ""
	for _, rt := range wire.RTs(u.Attributes.RTs) {
		rts += " " + rt.String()
	}
	if rts == "" {
		rts = " none"
	}
	fo.Events.AddOften("quarantined", g.Peer, string(reason), fmt.Sprintf("%d %s route(s) from %s in quarantine: %s; route target(s):%s", n, g.Family, g.Peer, reason, rts))
}

// mover gathers routes that make the same move, so that they share messages.
type mover struct {
	out      *adjRIBOut
	t        *transaction
	nlris    []string
	from, to *rib.Group
	noted    note
}

func (m *mover) move(nlri string, from, to *rib.Group) {
	if from != m.from || to != m.to {
		m.flush()
		m.from, m.to = from, to
	}
	m.nlris = append(m.nlris, nlri)
}

func (m *mover) flush() {
	m.out.emit(m.t, m.nlris, m.from, m.to)
	m.nlris = nil
	m.report()
}

// note is a change of a peer's Adj-RIB-In for the feeds; without attributes, the routes are withdrawn.
type note struct {
	peer       string
	family     wire.Family
	attributes *wire.Attributes
	nlris      []string
}

func (m *mover) note(peer string, f wire.Family, a *wire.Attributes, nlri string) {
	if len(m.out.feeds) == 0 {
		return
	}
	if n := &m.noted; n.peer != peer || n.family != f || n.attributes != a {
		m.report()
		n.peer, n.family, n.attributes = peer, f, a
	}
	m.noted.nlris = append(m.noted.nlris, nlri)
}

func (m *mover) report() {
	if n := &m.noted; len(n.nlris) > 0 {
		m.out.feedIn(n.peer, n.family, n.attributes, n.nlris)
		n.nlris = nil
	}
}
