package engine

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// The tables that can be looked at.
const (
	AdjIn      = "adj-in"
	Quarantine = "quarantine" // the part of adj-in that goes nowhere
	AdjOut     = "adj-out"
	Pools      = "pools" // what is accepted, once for each pool that it is shared in
)

// Filter selects routes; empty fields select all. Peer is the announcing peer, or the recipient for adj-out.
type Filter struct {
	Table, Peer, Endpoint string
	Family                wire.Family
	AnyFamily             bool
	RT                    wire.RT
	AnyRT                 bool
	Limit                 int
	Pool, MAC             string       // of the route's endpoint; in the NLRI
	Prefix                netip.Prefix // around the NLRI's address or prefix
	Reason                rib.Reason   // of those in quarantine
}

// View is one route as it is in a table.
type View struct {
	Table, NLRI    string
	Family         wire.Family
	Endpoint, Peer string
	To             string // recipient; adj-out only
	Pool           string // pools only
	Targets        string // route targets: as announced, or as sent
	Reason         rib.Reason
	Attributes     *wire.Attributes
	Received       time.Time
	Sent           time.Time // zero if it is not written yet, or withheld
	Withheld       string    // why a route that is to be sent is not: MessageSize; adj-out only
	StaleUntil     time.Time // when it goes, being from before its peer's session was lost; zero: it is not
	LongLived      bool      // it carries LLGR_STALE: such routes are the least preferred
	Held           *HeldBack // adj-out only: it would be sent, but the recipient does not bear it
}

// MessageSize is why a route is withheld that does not fit into a message that its recipient takes.
const MessageSize = "message-size"

// inTable adds a route as often as it is in the filter's table.
func (ss *sessions) inTable(f *Filter, g *rib.Group, r *rib.Route, views []View) []View {
	announced := f.AnyRT || slices.Contains(wire.RTs(g.Attributes.RTs), f.RT)
	switch f.Table {
	case AdjOut:
		for _, s := range g.Out {
			if (f.Peer == "" || s.Peer == f.Peer) && (f.AnyRT || slices.Contains(wire.RTs(s.Targets), f.RT)) {
				views = append(views, ss.sent(g, r, s))
			}
		}
	case Pools:
		for _, pool := range ss.set.PoolsOf(g.Endpoint) {
			if announced && (f.Pool == "" || pool == f.Pool) {
				v := ss.view(Pools, g, r)
				v.Pool = pool
				views = append(views, v)
			}
		}
	default:
		if announced {
			views = append(views, ss.view(f.Table, g, r))
		}
	}
	return views
}

// about says whether a route is that of the endpoint, or of a member of the pool, of a filter. One in quarantine is
// nobody's: there it is enough that it has the endpoint's route target, or its route distinguisher and PE.
func (fo *inForce) about(f *Filter, g *rib.Group, nlri string) bool {
	if f.Endpoint == "" && f.Pool == "" {
		return true
	}
	if g.Endpoint != "" {
		return (f.Endpoint == "" || g.Endpoint == f.Endpoint) && (f.Pool == "" || slices.Contains(fo.set.PoolsOf(g.Endpoint), f.Pool))
	}
	names := fo.set.Members(f.Pool)
	if f.Endpoint != "" {
		if f.Pool != "" && !slices.Contains(names, f.Endpoint) {
			return false
		}
		names = []string{f.Endpoint}
	}
	rts := wire.RTs(g.Attributes.RTs)
	return slices.ContainsFunc(names, func(name string) bool {
		site := fo.set.Site(name)
		return site != nil && (slices.Contains(rts, site.Target) || site.Peer == g.Peer && string(site.Dist[:]) == g.Family.RD(nlri))
	})
}

// groups are those that may have routes for a filter, in the order of their least NLRIs.
func (lr *locRIB) groups(f Filter) []*rib.Group {
	groups := lr.matching(f)
	slices.SortFunc(groups, func(a, b *rib.Group) int {
		return cmp.Or(cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(least(a), least(b)))
	})
	return groups
}

// matching are the groups that may have routes for a filter, in no order.
func (lr *locRIB) matching(f Filter) (groups []*rib.Group) {
	for name, in := range lr.table.Ins() {
		if f.Peer != "" && f.Table != AdjOut && name != f.Peer {
			continue
		}
		for _, g := range in.Groups() {
			hidden := f.Table == Quarantine && (g.Endpoint != "" || f.Reason != "" && g.Reason != f.Reason)
			owned := g.Endpoint != "" && (f.Endpoint == "" || g.Endpoint == f.Endpoint)
			suspect := g.Endpoint == "" && (f.Table == Quarantine || f.Endpoint == "" && f.Pool == "")
			if !hidden && (owned || suspect) && (f.AnyFamily || g.Family == f.Family) {
				groups = append(groups, g)
			}
		}
	}
	return groups
}

func least(g *rib.Group) string {
	return slices.MinFunc(g.Routes(), byNLRI).NLRI
}

func byNLRI(a, b *rib.Route) int { return cmp.Compare(a.NLRI, b.NLRI) }

func sorted(g *rib.Group) []*rib.Route { return slices.SortedFunc(slices.Values(g.Routes()), byNLRI) }

func (ss *sessions) view(table string, g *rib.Group, r *rib.Route) View {
	return View{
		Table: table, NLRI: r.NLRI, Family: g.Family, Endpoint: g.Endpoint, Peer: g.Peer, Targets: g.Attributes.RTs,
		Reason: g.Reason, Attributes: g.Attributes, Received: time.Unix(0, r.Received), StaleUntil: ss.staleUntil(g.Peer, g.Family, r), LongLived: ss.last(g),
	}
}

// sent is a route as a peer was sent it, with the attributes that reflection adds or the border of our AS changes.
func (ss *sessions) sent(g *rib.Group, r *rib.Route, s rib.Sent) View {
	v := ss.view(AdjOut, g, r)
	v.To, v.Targets = s.Peer, s.Targets
	decided := s.At
	if v.Received.After(decided) {
		decided = v.Received
	}
	if p := ss.peers[s.Peer]; p != nil {
		v.Attributes = g.Attributes.Towards(p.Queue.Kind, ss.reflection(g.Peer))
		if v.Held = p.heldBack(g, r.NLRI); v.Held != nil {
			return v
		}
		if at, ok := p.Queue.WrittenAt(decided); !s.Has(r.NLRI) {
			v.Withheld = MessageSize
		} else if ok {
			v.Sent = at
		}
	}
	return v
}

// PeerView is a peer's share of the tables.
type PeerView struct {
	Name, Address        string
	In, Quarantined, Out int
	Stale                Staleness
	Up                   bool
	Families             []string
	Account              *Account
}

// PeerViews lists all peers of the rule set, sorted by name.
func (e *Engine) PeerViews() []PeerView {
	accounts := e.Accounts()
	e.mu.Lock()
	defer e.mu.Unlock()
	views := []PeerView{}
	for _, a := range accounts {
		name := a.Peer
		peer, stays := e.set.Peer(name)
		if !stays {
			continue
		}
		v := PeerView{Name: name, Address: peer.Address, Families: []string{}, Account: a}
		for _, n := range a.Out {
			v.Out += n
		}
		if in := e.table.Ins()[name]; in != nil {
			v.In, v.Quarantined = in.Len(), in.Quarantined()
		}
		v.Stale = e.staleOf(name)
		if p := e.peers[name]; p != nil {
			v.Up = true
			for f := range wire.Families {
				if p.Families[f] {
					v.Families = append(v.Families, f.String())
				}
			}
		}
		views = append(views, v)
	}
	return views
}

// Path is what there is to say about the way of routes from one endpoint to another.
type Path struct {
	Routes                 []View // of the endpoint, accepted
	Out                    map[string]View
	Suspects               []View // of its peer, in quarantine
	Gone                   []Gone // of the endpoint, withdrawn
	Shared                 []string
	Targets                string
	FromPeer, ToPeer       string
	FromRT, ToRT, FromRD   string
	FromSession, ToSession time.Time // since when; zero if down
	Parted                 time.Time // when the recipient last lost the endpoint's routes by a change
	ToFamilies             [wire.Families]bool
	ToASN                  uint32    // of the recipient's PE
	ToExternal             bool      // which is not ours
	ToLongLived            bool      // it knows what LLGR_STALE means
	ToLongest              int       // the most bytes of a message that it takes
	Constrains             bool      // the recipient's PE asks for route targets
	Wanted                 string    // those of Targets that it asked for
	Barred                 time.Time // until then, the recipient's PE gets none of the announcing one's routes
	FromUnknown, ToUnknown bool
	Generation             uint64
}

// Path gathers what Explain needs, in one consistent look.
func (e *Engine) Path(from, to string) Path {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, b := e.set.Site(from), e.set.Site(to)
	p := Path{FromUnknown: a == nil, ToUnknown: b == nil, Generation: e.set.Generation, Out: map[string]View{}}
	if a == nil || b == nil {
		return p
	}
	p.FromPeer, p.ToPeer, p.FromRT, p.ToRT, p.FromRD = a.Peer, b.Peer, a.RT, b.RT, a.RD
	p.Shared, p.Targets = e.set.Shared(from, to), e.set.TargetsAt(from, b.Peer)
	p.Parted = e.history.pairs[[2]string{from, b.Peer}]
	if s := e.peers[a.Peer]; s != nil {
		p.FromSession = s.Since
	}
	if s := e.peers[b.Peer]; s != nil {
		p.ToSession, p.ToFamilies = s.Since, s.Families
		p.ToASN, p.ToExternal, p.ToLongLived = s.config.ASN, s.Queue.Kind.External, s.restart.LongLived
		if s.guard != nil {
			p.Barred = s.guard.sources[a.Peer]
		}
		p.ToLongest = s.longest()
		p.Constrains, p.Wanted = s.membership != nil, s.narrow(p.Targets)
	}
	present := map[string]bool{}
	for _, g := range e.groups(Filter{Table: AdjIn, Peer: a.Peer, AnyFamily: true}) {
		for _, r := range sorted(g) {
			v := e.view(AdjIn, g, r)
			present[g.Family.Key(r.NLRI)] = true
			switch g.Endpoint {
			case from:
				p.Routes = append(p.Routes, v)
				if s, ok := g.SentTo(b.Peer); ok {
					p.Out[r.NLRI] = e.sent(g, r, s)
				}
			case "":
				p.Suspects = append(p.Suspects, v)
			}
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(e.history.routes), func(x, y past) int { return cmp.Compare(x.key, y.key) }) {
		if gone := e.history.routes[k]; gone.Endpoint == from && !present[k.key] {
			p.Gone = append(p.Gone, gone)
		}
	}
	return p
}
