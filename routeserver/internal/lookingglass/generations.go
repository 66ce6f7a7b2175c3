package lookingglass

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Kinds of differences between two generations.
const (
	added, removed, changed             = "added", "removed", "changed"
	appears, disappears, changesTargets = "appears", "disappears", "route-targets"
	joined, left                        = "joined", "left"
)

// Entry is a peer or an endpoint that exists in one generation only, or differs between both.
type Entry[T any] struct {
	Kind string `json:"kind"` // added, removed, changed
	From *T     `json:"from"` // in the first generation; null: it did not exist
	To   *T     `json:"to"`
}

// PoolEntry is a pool that exists in one generation only.
type PoolEntry struct {
	Kind string `json:"kind"` // added, removed
	Name string `json:"name"`
}

// Membership is a membership of an endpoint that exists in one generation only.
type Membership struct {
	Kind     string `json:"kind"` // joined, left
	Vcp      string `json:"vcp"`
	Endpoint string `json:"endpoint"`
}

// RouteEntry is a route that a PE should have in one generation only, or with other route targets.
type RouteEntry struct {
	Kind     string   `json:"kind"` // appears, disappears, route-targets
	To       string   `json:"to"`   // the PE
	Peer     string   `json:"peer"` // announcer of the route
	Endpoint string   `json:"endpoint"`
	Family   string   `json:"family"`
	NLRI     string   `json:"nlri"`
	From     []string `json:"from_rts"`
	Targets  []string `json:"to_rts"`
}

// GenerationDiff is the difference between two rule sets, and its effect on the present announcements.
type GenerationDiff struct {
	From       uint64                    `json:"from"`
	To         uint64                    `json:"to"`
	At         time.Time                 `json:"at"`
	Generation uint64                    `json:"generation"` // in force at that time
	Peers      []Entry[ruleset.Peer]     `json:"peers"`
	Endpoints  []Entry[ruleset.Endpoint] `json:"endpoints"`
	Vcps       []PoolEntry               `json:"vcps"`
	Members    []Membership              `json:"members"`
	Counts     map[string]int            `json:"counts"` // numbers of routes by kind, whatever the limit is
	Routes     []RouteEntry              `json:"routes"`
	Truncated  bool                      `json:"truncated"`
}

// Generations compares two rule sets by their effect on the present announcements: those of their own times are not
// kept. It ignores RT-Constrain and whether PEs have a session. If peer is not empty, it selects the routes that this
// PE announces or gets.
func Generations(e *engine.Engine, from, to *ruleset.Set, peer string, limit int) *GenerationDiff {
	a, b := from.Document(), to.Document()
	d := &GenerationDiff{
		From: from.Generation, To: to.Generation, At: time.Now().UTC(), Generation: e.Set().Generation,
		Peers:     entries(a.Peers, b.Peers, func(p ruleset.Peer) string { return p.Name }),
		Endpoints: entries(a.Endpoints, b.Endpoints, func(e ruleset.Endpoint) string { return e.Name }),
		Vcps:      []PoolEntry{}, Members: []Membership{}, Routes: []RouteEntry{},
		Counts: map[string]int{appears: 0, disappears: 0, changesTargets: 0},
	}
	d.pools(a.Vcps, b.Vcps)
	d.routes(e.Concerned(from, to), from, to, peer, limit)
	return d
}

// entries compares two lists that are sorted by name.
func entries[T comparable](a, b []T, name func(T) string) []Entry[T] {
	list := []Entry[T]{}
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && name(a[0]) < name(b[0]):
			list = append(list, Entry[T]{removed, &a[0], nil})
			a = a[1:]
		case len(a) == 0 || name(b[0]) < name(a[0]):
			list = append(list, Entry[T]{added, nil, &b[0]})
			b = b[1:]
		default:
			if a[0] != b[0] {
				list = append(list, Entry[T]{changed, &a[0], &b[0]})
			}
			a, b = a[1:], b[1:]
		}
	}
	return list
}

func (d *GenerationDiff) pools(a, b []ruleset.Vcp) {
	was, now := members(a), members(b)
	both := maps.Clone(was)
	maps.Copy(both, now)
	for _, vcp := range slices.Sorted(maps.Keys(both)) {
		switch _, before := was[vcp]; {
		case !before:
			d.Vcps = append(d.Vcps, PoolEntry{added, vcp})
		case now[vcp] == nil:
			d.Vcps = append(d.Vcps, PoolEntry{removed, vcp})
		}
		for _, e := range entries(was[vcp], now[vcp], func(name string) string { return name }) {
			if e.From != nil {
				d.Members = append(d.Members, Membership{left, vcp, *e.From})
			} else {
				d.Members = append(d.Members, Membership{joined, vcp, *e.To})
			}
		}
	}
}

func members(vcps []ruleset.Vcp) map[string][]string {
	found := map[string][]string{}
	for _, v := range vcps {
		found[v.Name] = append([]string{}, v.Members...)
	}
	return found
}

// move is the difference for one PE and one group of routes.
type move struct {
	RouteEntry
	announcement engine.Announcement
}

func (d *GenerationDiff) routes(announced []engine.Announcement, from, to *ruleset.Set, peer string, limit int) {
	var moves []move
	for _, a := range apart(announced, from, to) {
		before, was := audience(from, a)
		after, now := audience(to, a)
		both := maps.Clone(was)
		maps.Copy(both, now)
		for pe := range both {
			if was[pe] == now[pe] || peer != "" && peer != pe && peer != a.Peer {
				continue
			}
			m := move{RouteEntry{changesTargets, pe, a.Peer, cmp.Or(after, before), a.Family.String(), "", targets(was[pe]), targets(now[pe])}, a}
			switch {
			case was[pe] == "":
				m.Kind = appears
			case now[pe] == "":
				m.Kind = disappears
			}
			d.Counts[m.Kind] += len(a.NLRIs)
			moves = append(moves, m)
		}
	}
	slices.SortFunc(moves, func(x, y move) int {
		return cmp.Or(cmp.Compare(x.To, y.To), cmp.Compare(x.Peer, y.Peer), cmp.Compare(x.Family, y.Family), cmp.Compare(x.Endpoint, y.Endpoint),
			cmp.Compare(slices.Min(x.announcement.NLRIs), slices.Min(y.announcement.NLRIs)))
	})
	for _, m := range moves {
		for _, nlri := range slices.Sorted(slices.Values(m.announcement.NLRIs)) {
			if len(d.Routes) == limit {
				d.Truncated = true
				return
			}
			m.NLRI = m.announcement.Family.Text(nlri)
			d.Routes = append(d.Routes, m.RouteEntry)
		}
	}
}

// audience returns the endpoint that owns an announcement's routes in a rule set, and the PEs that get them, with their
// route targets. All routes of the announcement must be alike.
func audience(set *ruleset.Set, a engine.Announcement) (endpoint string, peers map[string]string) {
	endpoint, _ = engine.Judge(set, a.Peer, a.Family, a.Attributes)
	if !permitted(set, a, a.NLRIs[0]) {
		endpoint = ""
	}
	peers = set.Audience(endpoint)
	return endpoint, peers
}

// permitted reports whether the announce permits allow a route of an announcement, apart from its attributes.
func permitted(set *ruleset.Set, a engine.Announcement, nlri string) bool {
	for _, rt := range wire.RTs(a.Attributes.RTs) {
		if owner := set.Owner(rt); owner != nil && owner.Grant != nil && owner.Peer == a.Peer {
			return engine.Permit(set, owner, a.Family, nlri) == ""
		}
	}
	return true
}

// apart splits announcements of which a rule set permits some routes and not others.
func apart(announced []engine.Announcement, from, to *ruleset.Set) (list []engine.Announcement) {
	for _, a := range announced {
		parts := map[[2]bool][]string{}
		for _, nlri := range a.NLRIs {
			kind := [2]bool{permitted(from, a, nlri), permitted(to, a, nlri)}
			parts[kind] = append(parts[kind], nlri)
		}
		for _, nlris := range parts {
			a.NLRIs = nlris
			list = append(list, a)
		}
	}
	return list
}
