package rib

import "weft/routeserver/internal/wire"

// groupKey determines to which group of a peer a route belongs.
type groupKey struct {
	family     wire.Family
	attributes wire.Attributes
	duplicate  bool
	odd        Reason
}

// In is the Adj-RIB-In of one peer.
type In struct {
	Peer   string
	table  *Table
	routes [wire.Families]map[string]*Route
	groups map[groupKey]*Group
	bytes  int

	accepted    [wire.Families]int
	quarantined map[Reason]int

	replaced map[string][]string // label blocks by key: replaced versions of present routes that the peer has not withdrawn yet
}

// Table holds all routes that all peers announced.
type Table struct {
	in        map[string]*In
	endpoints map[string]map[*Group]struct{} // accepted groups
	suspects  map[*Group]struct{}            // groups in quarantine
	owners    [wire.Families]map[string]*Route
	waiting   [wire.Families]map[string][]*Route // duplicates, in the order in which they came
	loads     loads

	recipients recipients
}

// NewTable makes an empty table.
func NewTable() *Table {
	t := &Table{in: map[string]*In{}, endpoints: map[string]map[*Group]struct{}{}, suspects: map[*Group]struct{}{},
		loads: loads{of: map[string]*load{}, crossed: map[string]struct{}{}}, recipients: recipients{numbers: map[string]int32{}}}
	for f := range wire.Families {
		t.owners[f] = map[string]*Route{}
		t.waiting[f] = map[string][]*Route{}
	}
	return t
}

// In returns the Adj-RIB-In of a peer, and makes it if there is none.
func (t *Table) In(peer string) *In {
	in := t.in[peer]
	if in == nil {
		in = &In{Peer: peer, table: t, groups: map[groupKey]*Group{}, quarantined: map[Reason]int{}}
		for f := range wire.Families {
			in.routes[f] = map[string]*Route{}
		}
		t.in[peer] = in
	}
	return in
}

// Forget drops a peer's empty Adj-RIB-In.
func (t *Table) Forget(peer string) { delete(t.in, peer) }

// Len returns the number of routes that a peer announced.
func (in *In) Len() int {
	n := 0
	for f := range wire.Families {
		n += len(in.routes[f])
	}
	return n
}

// Quarantined returns the number of a peer's routes that are in quarantine.
func (in *In) Quarantined() int {
	n := 0
	for _, routes := range in.quarantined {
		n += routes
	}
	return n
}

// Route returns the route with a key, or nil.
func (in *In) Route(f wire.Family, key string) *Route { return in.routes[f][key] }

// Routes returns a peer's routes of a family by key.
func (in *In) Routes(f wire.Family) map[string]*Route { return in.routes[f] }

// Groups returns a new list of a peer's groups.
func (in *In) Groups() []*Group {
	list := make([]*Group, 0, len(in.groups))
	for _, g := range in.groups {
		list = append(list, g)
	}
	return list
}

// Group returns the group with these attributes, and makes it if there is none. fresh says that it is new and must be
// judged.
func (in *In) Group(f wire.Family, a *wire.Attributes, duplicate bool, odd Reason) (g *Group, fresh bool) {
	key := groupKey{f, *a, duplicate, odd}
	if g = in.groups[key]; g == nil {
		g = &Group{Peer: in.Peer, Family: f, Attributes: a, Scope: a.Scope(), LongLived: a.HasCommunity(wire.LongLivedStale), Duplicate: duplicate, PermitViolation: odd, in: in}
		in.groups[key] = g
		in.bytes += cost(a)
		return g, true
	}
	return g, false
}

// Judge files a group under its site as an accepted one or, with a reason, in quarantine.
func (t *Table) Judge(g *Group, site string, reason Reason) {
	t.unfile(g)
	g.count(-g.Len())
	if g.Site != site {
		t.loads.addAll(g.Site, g, -1)
		t.loads.addAll(site, g, 1)
	}
	endpoint := site
	if reason != "" {
		endpoint = ""
	}
	g.Site, g.Endpoint, g.Reason = site, endpoint, reason
	g.count(g.Len())
	if endpoint == "" {
		t.suspects[g] = struct{}{}
		return
	}
	groups := t.endpoints[endpoint]
	if groups == nil {
		groups = map[*Group]struct{}{}
		t.endpoints[endpoint] = groups
	}
	groups[g] = struct{}{}
}

func (t *Table) unfile(g *Group) {
	delete(t.suspects, g)
	if groups := t.endpoints[g.Endpoint]; groups != nil {
		delete(groups, g)
		if len(groups) == 0 {
			delete(t.endpoints, g.Endpoint)
		}
	}
}

// Endpoint returns the accepted groups of an endpoint.
func (t *Table) Endpoint(name string) map[*Group]struct{} { return t.endpoints[name] }

// Suspects returns the groups in quarantine.
func (t *Table) Suspects() map[*Group]struct{} { return t.suspects }

// Ins returns the Adj-RIB-In of every peer.
func (t *Table) Ins() map[string]*In { return t.in }

// Put moves a peer's route into one of the peer's groups. The route may have another NLRI with the same key than before.
func (t *Table) Put(in *In, key string, r *Route, g *Group) {
	in.weigh(r)
	switch old := r.Group; old {
	case g:
		g.changed()
	case nil:
		in.routes[g.Family][key] = r
		g.add(r)
		t.loads.add(g.Site, g.Family, r.NLRI, 1)
	default:
		old.remove(r)
		t.loads.add(old.Site, g.Family, r.NLRI, -1)
		g.add(r)
		t.loads.add(g.Site, g.Family, r.NLRI, 1)
		t.Tidy(in, old)
	}
}

// Remove removes a route from the table.
func (t *Table) Remove(in *In, key string, r *Route) {
	g := r.Group
	delete(in.routes[g.Family], key)
	in.forget(r)
	if g.Family.Exact() {
		in.remember(key, nil)
	}
	g.remove(r)
	t.loads.add(g.Site, g.Family, r.NLRI, -1)
	t.Tidy(in, g)
}

// Tidy removes a group that has no routes.
func (t *Table) Tidy(in *In, g *Group) {
	if g.Len() == 0 && g.in != nil {
		t.unfile(g)
		g.grow(-cost(g.Attributes) - sentBytes*len(g.Out))
		for i := range g.Out {
			g.countRecord(&g.Out[i], -1)
		}
		g.in = nil
		delete(in.groups, groupKey{g.Family, *g.Attributes, g.Duplicate, g.PermitViolation})
	}
}

// Owner returns the accepted route with this key, or nil.
func (t *Table) Owner(f wire.Family, key string) *Route { return t.owners[f][key] }

// SetOwner makes a route the accepted one with this key; nil frees the key.
func (t *Table) SetOwner(f wire.Family, key string, r *Route) {
	if r == nil {
		delete(t.owners[f], key)
	} else {
		t.owners[f][key] = r
	}
}

// Wait adds a duplicate to the queue for its key.
func (t *Table) Wait(f wire.Family, key string, r *Route) {
	t.waiting[f][key] = append(t.waiting[f][key], r)
}

// Unwait removes a duplicate from the queue for its key.
func (t *Table) Unwait(f wire.Family, key string, r *Route) {
	line := t.waiting[f][key]
	for i := range line {
		if line[i] == r {
			line = append(line[:i:i], line[i+1:]...)
			break
		}
	}
	if len(line) == 0 {
		delete(t.waiting[f], key)
	} else {
		t.waiting[f][key] = line
	}
}

// Waiting returns the duplicates of a key in the order in which they came.
func (t *Table) Waiting(f wire.Family, key string) []*Route { return t.waiting[f][key] }
