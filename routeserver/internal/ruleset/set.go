package ruleset

import (
	"net/netip"
	"slices"
	"sort"
	"strings"

	"weft/routeserver/internal/wire"
)

// Site is an endpoint with its identifiers in wire form.
type Site struct {
	Endpoint
	Main   wire.Family
	Target wire.RT
	Dist   wire.RD
	Grant  *Grant // nil: its routes are not restricted beyond the route target
}

func (s *Site) macs() []string {
	if s.Grant == nil {
		return nil
	}
	return s.Grant.Owned
}

// Set is a rule set with its indexes. Only the functions that make it change it.
type Set struct {
	Generation uint64
	peers      index[string, Peer]
	endpoints  index[string, *Site]
	vcps       index[string, []string] // members, sorted
	byAddress  index[netip.Addr, string]
	byRT       index[wire.RT, *Site]
	byRD       index[wire.RD, *Site]
	byMAC      index[string, []string] // the endpoints that own the MAC
	sites      index[string, []*Site]  // of a peer
	pools      index[string, []string] // of an endpoint, sorted
	ops        int                     // number of operations that made it
}

// Empty returns a rule set that permits nothing.
func Empty() *Set { return &Set{} }

// clone returns a set that shares everything with the original.
func (s *Set) clone() *Set {
	return &Set{
		Generation: s.Generation,
		peers:      s.peers.copied(), endpoints: s.endpoints.copied(), vcps: s.vcps.copied(),
		byAddress: s.byAddress.copied(), byRT: s.byRT.copied(), byRD: s.byRD.copied(), byMAC: s.byMAC.copied(),
		sites: s.sites.copied(), pools: s.pools.copied(),
	}
}

// Peer returns the peer with a name.
func (s *Set) Peer(name string) (Peer, bool) { return s.peers.find(name) }

// PeerAt returns the peer whose sessions come from an address.
func (s *Set) PeerAt(address netip.Addr) (Peer, bool) {
	return s.Peer(s.byAddress.look(address.Unmap()))
}

// Peers lists the peers' names, sorted.
func (s *Set) Peers() []string { return slices.Sorted(s.peers.keys()) }

// Endpoints lists the endpoints' names, sorted.
func (s *Set) Endpoints() []string { return slices.Sorted(s.endpoints.keys()) }

// Site returns the endpoint with a name, or nil.
func (s *Set) Site(name string) *Site { return s.endpoints.look(name) }

// Owner returns the endpoint that a route target belongs to, or nil.
func (s *Set) Owner(rt wire.RT) *Site { return s.byRT.look(rt) }

// Guarded reports whether the MAC belongs to an endpoint that shares a pool with this one.
func (s *Set) Guarded(from, mac string) bool {
	for _, owner := range s.byMAC.look(mac) {
		if len(s.Shared(from, owner)) > 0 {
			return true
		}
	}
	return false
}

// Guards reports whether any endpoint has MACs of its own.
func (s *Set) Guards() bool {
	for range s.byMAC.keys() {
		return true
	}
	return false
}

// SitesOf lists a peer's endpoints.
func (s *Set) SitesOf(peer string) []*Site { return s.sites.look(peer) }

// PoolsOf lists the pools that an endpoint is in, sorted.
func (s *Set) PoolsOf(endpoint string) []string { return s.pools.look(endpoint) }

// Members lists a pool's endpoints, sorted.
func (s *Set) Members(vcp string) []string { return s.vcps.look(vcp) }

// Shared lists the pools that two endpoints are both in.
func (s *Set) Shared(e, f string) []string {
	var shared []string
	a, b := s.pools.look(e), s.pools.look(f)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := strings.Compare(a[i], b[j]); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			shared = append(shared, a[i])
			i, j = i+1, j+1
		}
	}
	return shared
}

// TargetsAt returns the route targets, sorted and 8 bytes each, with which a peer gets the routes of endpoint e: those of
// the peer's endpoints other than e that share a pool with e. If empty, the peer gets none.
func (s *Set) TargetsAt(e, peer string) string {
	if s.endpoints.look(e) == nil {
		return ""
	}
	var targets []string
	for _, f := range s.sites.look(peer) {
		if f.Name != e && len(s.Shared(e, f.Name)) > 0 {
			targets = append(targets, string(f.Target[:]))
		}
	}
	sort.Strings(targets)
	return strings.Join(targets, "")
}

// Audience returns every peer that gets the routes of endpoint e, with its route targets as TargetsAt returns them.
func (s *Set) Audience(e string) map[string]string {
	audience := map[string]string{}
	for _, vcp := range s.pools.look(e) {
		for _, member := range s.vcps.look(vcp) {
			if f := s.endpoints.look(member); member != e {
				if _, done := audience[f.Peer]; !done {
					audience[f.Peer] = s.TargetsAt(e, f.Peer)
				}
			}
		}
	}
	return audience
}

// Neighbours lists the endpoints other than e that share a pool with it.
func (s *Set) Neighbours(e string) []string {
	seen := map[string]bool{e: true}
	var list []string
	for _, vcp := range s.pools.look(e) {
		for _, f := range s.vcps.look(vcp) {
			if !seen[f] {
				seen[f] = true
				list = append(list, f)
			}
		}
	}
	return list
}

// Document returns the set with its lists sorted by name: equal sets give equal documents.
func (s *Set) Document() *Document {
	d := &Document{Generation: s.Generation, Peers: []Peer{}, Endpoints: []Endpoint{}, Vcps: []Vcp{}}
	for _, name := range slices.Sorted(s.peers.keys()) {
		d.Peers = append(d.Peers, s.peers.look(name))
	}
	for _, name := range slices.Sorted(s.endpoints.keys()) {
		d.Endpoints = append(d.Endpoints, s.endpoints.look(name).Endpoint)
	}
	for _, name := range slices.Sorted(s.vcps.keys()) {
		d.Vcps = append(d.Vcps, Vcp{name, append([]string{}, s.vcps.look(name)...)})
	}
	return d
}
