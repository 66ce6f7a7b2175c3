package ruleset

import (
	"maps"
	"net/netip"
	"slices"
	"sort"
	"strings"

	"weft/routeserver/wire"
)

// Site is an endpoint with its identifiers in wire form.
type Site struct {
	Endpoint
	Main   wire.Family
	Target wire.RT
	Dist   wire.RD
}

// Set is a rule set with its indexes. It is never changed once it is made, except by the functions that make it.
type Set struct {
	Generation uint64
	peers      map[string]Peer
	endpoints  map[string]*Site
	vcps       map[string][]string // members, sorted
	byAddress  map[netip.Addr]string
	byRT       map[wire.RT]*Site
	byRD       map[wire.RD]*Site
	sites      map[string][]*Site  // of a peer
	pools      map[string][]string // of an endpoint, sorted
}

// Empty is a rule set in which nobody may do anything.
func Empty() *Set {
	return &Set{
		peers: map[string]Peer{}, endpoints: map[string]*Site{}, vcps: map[string][]string{},
		byAddress: map[netip.Addr]string{}, byRT: map[wire.RT]*Site{}, byRD: map[wire.RD]*Site{},
		sites: map[string][]*Site{}, pools: map[string][]string{},
	}
}

// clone copies the indexes; what they point at is shared and replaced, never written to.
func (s *Set) clone() *Set {
	return &Set{
		Generation: s.Generation,
		peers:      maps.Clone(s.peers), endpoints: maps.Clone(s.endpoints), vcps: maps.Clone(s.vcps),
		byAddress: maps.Clone(s.byAddress), byRT: maps.Clone(s.byRT), byRD: maps.Clone(s.byRD),
		sites: maps.Clone(s.sites), pools: maps.Clone(s.pools),
	}
}

// Peer finds a peer by name.
func (s *Set) Peer(name string) (Peer, bool) { p, ok := s.peers[name]; return p, ok }

// PeerAt finds a peer by the address that its sessions come from.
func (s *Set) PeerAt(address netip.Addr) (Peer, bool) { return s.Peer(s.byAddress[address.Unmap()]) }

// Peers lists the peers' names, sorted.
func (s *Set) Peers() []string { return slices.Sorted(maps.Keys(s.peers)) }

// Site finds an endpoint by name, or nil.
func (s *Set) Site(name string) *Site { return s.endpoints[name] }

// Owner finds the endpoint that a route target belongs to, or nil.
func (s *Set) Owner(rt wire.RT) *Site { return s.byRT[rt] }

// SitesOf lists a peer's endpoints.
func (s *Set) SitesOf(peer string) []*Site { return s.sites[peer] }

// PoolsOf lists the pools that an endpoint is in, sorted.
func (s *Set) PoolsOf(endpoint string) []string { return s.pools[endpoint] }

// Members lists a pool's endpoints, sorted.
func (s *Set) Members(vcp string) []string { return s.vcps[vcp] }

// Shared lists the pools that two endpoints are both in.
func (s *Set) Shared(e, f string) []string {
	var shared []string
	a, b := s.pools[e], s.pools[f]
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

// TargetsAt gives the route targets, sorted and 8 bytes each, with which a peer gets the routes of endpoint e: those of
// its endpoints other than e that share a pool with e. Empty means that it gets none.
func (s *Set) TargetsAt(e, peer string) string {
	if s.endpoints[e] == nil {
		return ""
	}
	var targets []string
	for _, f := range s.sites[peer] {
		if f.Name != e && len(s.Shared(e, f.Name)) > 0 {
			targets = append(targets, string(f.Target[:]))
		}
	}
	sort.Strings(targets)
	return strings.Join(targets, "")
}

// Audience gives every peer that gets the routes of endpoint e, with the route targets as TargetsAt gives them.
func (s *Set) Audience(e string) map[string]string {
	audience := map[string]string{}
	for _, vcp := range s.pools[e] {
		for _, member := range s.vcps[vcp] {
			if f := s.endpoints[member]; member != e {
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
	for _, vcp := range s.pools[e] {
		for _, f := range s.vcps[vcp] {
			if !seen[f] {
				seen[f] = true
				list = append(list, f)
			}
		}
	}
	return list
}

// Document writes the set with its lists sorted by name: equal sets give equal documents.
func (s *Set) Document() *Document {
	d := &Document{Generation: s.Generation, Peers: []Peer{}, Endpoints: []Endpoint{}, Vcps: []Vcp{}}
	for _, name := range slices.Sorted(maps.Keys(s.peers)) {
		d.Peers = append(d.Peers, s.peers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.endpoints)) {
		d.Endpoints = append(d.Endpoints, s.endpoints[name].Endpoint)
	}
	for _, name := range slices.Sorted(maps.Keys(s.vcps)) {
		d.Vcps = append(d.Vcps, Vcp{name, append([]string{}, s.vcps[name]...)})
	}
	return d
}
