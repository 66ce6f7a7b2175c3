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

// Tables that can be looked at.
const (
	AdjIn      = "adj-in"
	Quarantine = "quarantine" // the part of adj-in that is not sent to anybody
	AdjOut     = "adj-out"
	Pools      = "pools" // accepted routes, once for each pool of their endpoint
)

// Filter selects routes; empty fields select all. Peer is the announcing peer, or the recipient for adj-out.
type Filter struct {
	Table, Peer, Endpoint string
	Family                wire.Family
	AnyFamily             bool
	RT                    wire.RT
	AnyRT                 bool
	Limit                 int
	Pool, MAC             string       // pool of the route's endpoint; MAC in the NLRI
	Prefix                netip.Prefix // contains the NLRI's address or prefix
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
	Sent           time.Time // zero if it is not written yet, or not sent
	Withheld       string    // why it is not sent although it should be: MessageSize; adj-out only
	StaleUntil     time.Time // when it goes, if it is from before its peer's session was lost; otherwise zero
	LongLived      bool      // it carries LLGR_STALE: such routes are the least preferred
	Held           *HeldBack // why the poison-route guard does not send it; adj-out only
}

// MessageSize means that a route is withheld because it does not fit into a message that its recipient accepts.
const MessageSize = "message-size"

// inTable adds a view of a route for each time that it is in the filter's table.
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

// about reports whether a route belongs to a filter's endpoint, and to a member of its pool. A route in quarantine belongs
// to nobody: it passes if it has the endpoint's route target, or the endpoint's route distinguisher and PE.
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

// groups returns the groups that may have routes for a filter, by peer, endpoint and least NLRI.
func (lr *locRIB) groups(f Filter) (groups []*rib.Group) {
	for _, peer := range lr.announcers(&f) {
		groups = append(groups, lr.matching(&f, peer)...)
	}
	slices.SortFunc(groups, func(a, b *rib.Group) int {
		return cmp.Or(cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(least(a), least(b)))
	})
	return groups
}

// announcers returns the names of the peers that may have announced routes for a filter, in order.
func (lr *locRIB) announcers(f *Filter) []string {
	if f.Peer == "" || f.Table == AdjOut {
		return slices.Sorted(maps.Keys(lr.table.Ins()))
	}
	if _, known := lr.table.Ins()[f.Peer]; known {
		return []string{f.Peer}
	}
	return nil
}

// matching returns the groups of a peer that may have routes for a filter, in no order.
func (lr *locRIB) matching(f *Filter, peer string) (groups []*rib.Group) {
	for _, g := range lr.table.Ins()[peer].Groups() {
		hidden := f.Table == Quarantine && (g.Endpoint != "" || f.Reason != "" && g.Reason != f.Reason)
		owned := g.Endpoint != "" && (f.Endpoint == "" || g.Endpoint == f.Endpoint)
		suspect := g.Endpoint == "" && (f.Table == Quarantine || f.Endpoint == "" && f.Pool == "")
		if !hidden && (owned || suspect) && (f.AnyFamily || g.Family == f.Family) {
			groups = append(groups, g)
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

// sent returns a route as a peer was sent it, with the attributes that reflection adds or the border of our AS changes.
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

// PeerView is a peer's share of the rule set and the tables. Mains are the families of its endpoints.
type PeerView struct {
	Name, Address        string
	Endpoints            int
	Mains                [wire.Families]bool
	In, Quarantined, Out int
	Stale                Staleness
	Up                   bool
	Families             []string
	Account              *Account
}

// PeerViews lists all peers of the rule set, sorted by name.
func (e *Engine) PeerViews() []PeerView {
	accounts := e.Accounts()
	set := e.Set()
	views := []PeerView{}
	for _, a := range accounts {
		peer, stays := set.Peer(a.Peer)
		if !stays {
			continue
		}
		v, sites := a.view(peer.Address), set.SitesOf(a.Peer)
		v.Endpoints = len(sites)
		for _, site := range sites {
			v.Mains[site.Main] = true
		}
		views = append(views, v)
	}
	return views
}

// view sums up an account.
func (a *Account) view(address string) PeerView {
	v := PeerView{Name: a.Peer, Address: address, Stale: a.Stale, Up: a.Session != nil, Families: []string{}, Account: a}
	for f := range wire.Families {
		v.In += a.In[f]
		v.Out += a.Out[f]
		if v.Up && a.Session.Families[f] {
			v.Families = append(v.Families, f.String())
		}
	}
	for _, n := range a.Quarantined {
		v.Quarantined += n
	}
	return v
}

// Path is what is known about the way of routes from one endpoint to another.
type Path struct {
	Routes                 []View // of the endpoint, accepted
	Out                    map[string]View
	Suspects               []View // of its peer, in quarantine
	Gone                   []Gone // of the endpoint, withdrawn
	Shared                 []string
	Targets                string
	FromPeer, ToPeer       string
	FromRT, ToRT, FromRD   string
	FromSession, ToSession time.Time // when the sessions were established; zero if down
	Parted                 time.Time // when the recipient last lost the endpoint's routes by a change
	ToFamilies             [wire.Families]bool
	ToASN                  uint32    // of the recipient's PE
	ToExternal             bool      // that PE is not in our AS
	ToLongLived            bool      // that PE knows what LLGR_STALE means
	ToLongest              int       // length in bytes of the longest message that it accepts
	Constrains             bool      // the recipient's PE uses RT-Constrain
	Wanted                 string    // those of Targets that the recipient's PE asked for
	Barred                 time.Time // end of the time in which the recipient's PE gets no routes of the announcing PE
	FromUnknown, ToUnknown bool
	Generation             uint64
}

// Path gathers what Explain needs, at one moment.
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
