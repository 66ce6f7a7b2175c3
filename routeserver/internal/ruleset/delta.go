package ruleset

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
)

// Pair is an endpoint whose routes a peer gets with other route targets than before.
type Pair struct {
	Endpoint, Peer string
	Targets        string // as from Set.TargetsAt; empty: the peer gets none of the routes any more
}

// Delta is the difference between two sets that matters for routes and sessions.
type Delta struct {
	Peers []string // new, gone, or with another address, AS number, distance or endpoints: their sessions may have to change
	Sites []string // new, gone, or with another owner, route target or RD: their routes must be judged again
	Pairs []Pair   // sorted
}

// Compare finds the difference. If Apply made one of the sets from the other, they share everything that is the same, and
// the cost is in proportion to the differences.
func Compare(old, now *Set) *Delta {
	d := &Delta{}
	peers, sites := map[string]bool{}, map[string]bool{}
	for name := range either(&old.peers, &now.peers) {
		p, was := old.peers.find(name)
		q, is := now.peers.find(name)
		if was != is || p != q {
			peers[name] = true
		}
	}
	for name := range either(&old.endpoints, &now.endpoints) {
		e, f := old.endpoints.look(name), now.endpoints.look(name)
		if e == f || e != nil && f != nil && e.Endpoint == f.Endpoint {
			continue
		}
		sites[name] = true
		for _, site := range []*Site{e, f} {
			if site != nil {
				peers[site.Peer] = true
			}
		}
	}
	d.Peers, d.Sites = slices.Sorted(maps.Keys(peers)), slices.Sorted(maps.Keys(sites))
	for pair := range candidates(old, now, sites) {
		targets := now.TargetsAt(pair.Endpoint, pair.Peer)
		if targets != old.TargetsAt(pair.Endpoint, pair.Peer) {
			pair.Targets = targets
			d.Pairs = append(d.Pairs, pair)
		}
	}
	slices.SortFunc(d.Pairs, func(a, b Pair) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Peer, b.Peer))
	})
	return d
}

// candidates returns the pairs that may differ: every endpoint that changed, or whose membership of a pool changed, with
// every other member of that pool, both ways.
func candidates(old, now *Set, sites map[string]bool) map[Pair]bool {
	pairs := map[Pair]bool{}
	add := func(e, f string) {
		for _, s := range []*Set{old, now} {
			if site := s.endpoints.look(f); site != nil {
				pairs[Pair{Endpoint: e, Peer: site.Peer}] = true
			}
		}
	}
	between := func(x string, members []string) {
		for _, m := range members {
			if m != x {
				add(x, m)
				add(m, x)
			}
		}
	}
	for vcp := range either(&old.vcps, &now.vcps) {
		a, b := old.vcps.look(vcp), now.vcps.look(vcp)
		if same(a, b) {
			continue
		}
		for _, x := range a {
			if _, stays := slices.BinarySearch(b, x); !stays {
				between(x, a)
				between(x, b)
			}
		}
		for _, x := range b {
			if _, was := slices.BinarySearch(a, x); !was {
				between(x, a)
				between(x, b)
			}
		}
	}
	for x := range sites {
		for _, s := range []*Set{old, now} {
			for _, vcp := range s.pools.look(x) {
				between(x, s.vcps.look(vcp))
			}
		}
	}
	return pairs
}

func same(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// Equal reports whether two sets have the same content, whatever their generations.
func Equal(a, b *Set) bool {
	x, y := a.Document(), b.Document()
	x.Generation, y.Generation = 0, 0
	return reflect.DeepEqual(x, y)
}
