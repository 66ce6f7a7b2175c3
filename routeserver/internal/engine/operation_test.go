package engine

import (
	"cmp"
	"fmt"
	"slices"

	"weft/routeserver/internal/ruleset"
)

// Random valid operations on the second model's rule set, and a simple implementation of them.

func (w *world) anyJoinOrLeave(d *ruleset.Document) (op ruleset.Operation, ok bool) {
	if len(d.Vcps) == 0 || len(d.Endpoints) == 0 {
		return op, false
	}
	v, e := d.Vcps[w.r.IntN(len(d.Vcps))], d.Endpoints[w.r.IntN(len(d.Endpoints))]
	op = ruleset.Operation{Op: ruleset.Join, Pool: v.Name, Member: e.Name}
	if slices.Contains(v.Members, e.Name) {
		op.Op = ruleset.Leave
	}
	return op, true
}

// anyEndpoint removes an endpoint, makes one, or moves one to another PE or to another route target or RD.
func (w *world) anyEndpoint(d *ruleset.Document) ruleset.Operation {
	i := w.r.IntN(worldSites)
	if exists := slices.ContainsFunc(d.Endpoints, func(e ruleset.Endpoint) bool { return e.Name == siteName(i) }); exists && w.r.IntN(5) == 0 || len(d.Peers) == 0 {
		if exists {
			return ruleset.Operation{Op: ruleset.RemoveEndpoint, Name: siteName(i)}
		}
		p := peerAt(w.r.IntN(worldPeers), 0)
		return ruleset.Operation{Op: ruleset.SetPeer, Peer: &p}
	}
	e := w.site(d, i)
	return ruleset.Operation{Op: ruleset.SetEndpoint, Endpoint: &e}
}

// site returns endpoint i at any PE, with any route target and an RD that no other endpoint has, often one in use.
func (w *world) site(d *ruleset.Document, i int) ruleset.Endpoint {
	free := func(text string, of func(ruleset.Endpoint) string) bool {
		return !slices.ContainsFunc(d.Endpoints, func(e ruleset.Endpoint) bool { return e.Name != siteName(i) && of(e) == text })
	}
	e := ruleset.Endpoint{Name: siteName(i), Peer: d.Peers[w.r.IntN(len(d.Peers))].Name, Family: w.families[i].String()}
	if w.r.IntN(4) == 0 {
		e.MaxRoutes = 1 + w.r.IntN(4)
	}
	for e.RT = anyTarget(w); !free(e.RT, func(e ruleset.Endpoint) string { return e.RT }); {
		e.RT = anyTarget(w)
	}
	if old := slices.IndexFunc(d.Endpoints, func(e ruleset.Endpoint) bool { return e.Name == siteName(i) }); old >= 0 && w.r.IntN(2) == 0 {
		e.Peer, e.RT = d.Endpoints[old].Peer, d.Endpoints[old].RT
	}
	e.Permits = w.anyPermits(e.Peer)
	e.RD = fmt.Sprintf("65000:%d", i+1)
	if keys := sortedKeys(w.said[e.Peer]); len(keys) > 0 && w.r.IntN(3) > 0 { // one that is in use
		e.RD = cmp.Or(w.said[e.Peer][keys[w.r.IntN(len(keys))]].rd, e.RD)
	}
	for !free(e.RD, func(e ruleset.Endpoint) string { return e.RD }) {
		e.RD = fmt.Sprintf("65000:%d", 1+w.r.IntN(worldSites+2))
	}
	return e
}

func (w *world) anyPool(d *ruleset.Document) ruleset.Operation {
	name := poolName(w.r.IntN(worldPools))
	if slices.ContainsFunc(d.Vcps, func(v ruleset.Vcp) bool { return v.Name == name }) && w.r.IntN(3) == 0 {
		return ruleset.Operation{Op: ruleset.RemoveVcp, Name: name}
	}
	return ruleset.Operation{Op: ruleset.SetVcp, Vcp: &ruleset.Vcp{Name: name, Members: w.someEndpoints(d)}}
}

func peerAt(i, net int) ruleset.Peer {
	return ruleset.Peer{Name: peerName(i), Address: fmt.Sprintf("10.0.%d.%d", net, i+1), ASN: asOf(i, net)}
}

// random returns a rule set with other endpoints and pools.
func (w *world) random() *ruleset.Document {
	next := &ruleset.Document{Generation: w.document.Generation + 1, Peers: slices.Clone(w.document.Peers)}
	for i := range worldSites {
		if w.r.IntN(5) > 0 && len(next.Peers) > 0 {
			next.Endpoints = append(next.Endpoints, w.site(next, i))
		}
	}
	for i := range worldPools {
		next.Vcps = append(next.Vcps, ruleset.Vcp{Name: poolName(i), Members: w.someEndpoints(next)})
	}
	return next
}

func (w *world) someEndpoints(d *ruleset.Document) []string {
	members := []string{}
	for _, e := range d.Endpoints {
		if w.r.IntN(5) < 2 {
			members = append(members, e.Name)
		}
	}
	slices.Sort(members)
	return members
}

// applied returns a document after an operation.
func applied(d *ruleset.Document, op ruleset.Operation) *ruleset.Document {
	next := clone(d)
	switch op.Op {
	case ruleset.SetPeer:
		next.Peers = set(next.Peers, *op.Peer, func(p ruleset.Peer) string { return p.Name })
	case ruleset.SetEndpoint:
		next.Endpoints = set(next.Endpoints, *op.Endpoint, func(e ruleset.Endpoint) string { return e.Name })
	case ruleset.SetVcp:
		next.Vcps = set(next.Vcps, *op.Vcp, func(v ruleset.Vcp) string { return v.Name })
	case ruleset.RemovePeer:
		next.Peers = slices.DeleteFunc(next.Peers, func(p ruleset.Peer) bool { return p.Name == op.Name })
	case ruleset.RemoveEndpoint:
		next.Endpoints = slices.DeleteFunc(next.Endpoints, func(e ruleset.Endpoint) bool { return e.Name == op.Name })
		for i := range next.Vcps {
			next.Vcps[i].Members = slices.DeleteFunc(next.Vcps[i].Members, func(m string) bool { return m == op.Name })
		}
	case ruleset.RemoveVcp:
		next.Vcps = slices.DeleteFunc(next.Vcps, func(v ruleset.Vcp) bool { return v.Name == op.Name })
	case ruleset.Join, ruleset.Leave:
		for i := range next.Vcps {
			v := &next.Vcps[i]
			switch {
			case v.Name != op.Pool:
			case op.Op == ruleset.Join:
				v.Members = append(v.Members, op.Member)
			default:
				v.Members = slices.DeleteFunc(v.Members, func(m string) bool { return m == op.Member })
			}
		}
	}
	return next
}

func clone(d *ruleset.Document) *ruleset.Document {
	next := &ruleset.Document{Generation: d.Generation, Peers: slices.Clone(d.Peers), Endpoints: slices.Clone(d.Endpoints)}
	for _, v := range d.Vcps {
		next.Vcps = append(next.Vcps, ruleset.Vcp{Name: v.Name, Members: slices.Clone(v.Members)})
	}
	return next
}

func set[T any](list []T, item T, name func(T) string) []T {
	if at := slices.IndexFunc(list, func(x T) bool { return name(x) == name(item) }); at >= 0 {
		list[at] = item
		return list
	}
	return append(list, item)
}

func describe(op ruleset.Operation) string {
	switch {
	case op.Endpoint != nil:
		return fmt.Sprintf(" %s %+v", op.Op, *op.Endpoint)
	case op.Vcp != nil:
		return fmt.Sprintf(" %s %+v", op.Op, *op.Vcp)
	}
	return fmt.Sprintf(" %s %s%s %s", op.Op, op.Name, op.Member, op.Pool)
}
