package engine

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"slices"

	"weft/routeserver/internal/wire"
)

// RoutePaths is what is known of a route: each announcement of it.
type RoutePaths struct {
	Paths []RoutePath
	Gone  []GonePath
	More  bool // there are more paths than the limit
}

// RoutePath is one peer's announcement of a route, and its way to others.
type RoutePath struct {
	View
	Pools []string    // of its endpoint
	Out   []View      // to each recipient
	Kinds []wire.Kind // of the recipients: those of one kind are sent the same attributes
}

// GonePath is a route that a peer has withdrawn.
type GonePath struct {
	Peer string
	Gone
}

// named is a route of a peer.
type named struct {
	peer, key, nlri string
	family          wire.Family
}

// Paths returns all announcements of the routes with a name, in the order of places: those of their announcing peers. The
// name is one that Family.Calls takes, or the key in hexadecimal. It blocks the engine while it copies the names of all
// routes, and not while it compares them.
func (e *Engine) Paths(name string, limit int) (found RoutePaths) {
	wanted := e.calledBy(name)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range wanted {
		in := e.table.Ins()[n.peer]
		if in == nil || in.Route(n.family, n.key) == nil {
			if gone, there := e.history.routes[past{n.peer, n.family, n.key}]; there {
				found.Gone = append(found.Gone, GonePath{n.peer, gone})
			}
			continue
		}
		if len(found.Paths) == limit {
			found.More = true
			break
		}
		r := in.Route(n.family, n.key)
		path := RoutePath{View: e.view(AdjIn, r.Group, r), Pools: e.set.PoolsOf(r.Group.Endpoint)}
		for _, s := range r.Group.Out {
			if p := e.peers[s.Peer]; p != nil {
				path.Out = append(path.Out, e.sent(r.Group, r, s))
				path.Kinds = append(path.Kinds, p.Queue.Kind)
			}
		}
		found.Paths = append(found.Paths, path)
	}
	return found
}

// calledBy returns the routes, also withdrawn ones, that have a name, each once.
func (e *Engine) calledBy(name string) []named {
	all := e.names()
	raw, err := hex.DecodeString(name)
	calls := func(n named) bool { return n.family.Calls(name, n.nlri) }
	if err == nil && len(raw) > 0 {
		calls = func(n named) bool { return n.nlri == string(raw) || n.family.Key(n.nlri) == string(raw) }
	}
	known := map[named]bool{} // by family and NLRI: several peers may have the same
	all = slices.DeleteFunc(all, func(n named) bool {
		same := named{family: n.family, nlri: n.nlri}
		is, seen := known[same]
		if !seen {
			is = calls(n)
			known[same] = is
		}
		return !is
	})
	for i := range all {
		all[i].key, all[i].nlri = all[i].family.Key(all[i].nlri), ""
	}
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.peer, b.peer), cmp.Compare(a.family, b.family), bytes.Compare([]byte(a.key), []byte(b.key)))
	})
	return slices.Compact(all)
}

// names lists the routes of all peers, and those that were withdrawn.
func (e *Engine) names() (all []named) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for peer, in := range e.table.Ins() {
		for _, g := range in.Groups() {
			for _, r := range g.Routes() {
				all = append(all, named{peer: peer, nlri: r.NLRI, family: g.Family})
			}
		}
	}
	for k, gone := range e.history.routes {
		all = append(all, named{peer: k.peer, nlri: gone.NLRI, family: k.family})
	}
	return all
}
