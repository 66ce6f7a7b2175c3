package lookingglass

import (
	"cmp"
	"slices"
	"time"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Difference is a route that a peer was sent but should not have, or the reverse.
type Difference struct {
	Kind     string   `json:"kind"` // missing, unexpected, route-targets; held-back
	Family   string   `json:"family"`
	NLRI     string   `json:"nlri"`
	Peer     string   `json:"peer"` // announcer of the route
	Expected []string `json:"expected"`
	Found    []string `json:"found"` // route targets
}

// Withheld is a route that a peer should have by the rule set but cannot be sent, with the reason.
type Withheld struct {
	Family string `json:"family"`
	NLRI   string `json:"nlri"`
	Peer   string `json:"peer"` // announcer of the route
	Reason string `json:"reason"`
}

// PeerDiff compares a peer's Adj-RIB-Out with the routes that follow from the rule set and the announcements.
type PeerDiff struct {
	Peer        string       `json:"peer"`
	At          time.Time    `json:"at"`
	Generation  uint64       `json:"generation"`
	Session     bool         `json:"session"`
	Compared    int          `json:"compared"` // routes that should be there, or are
	Differences []Difference `json:"differences"`
	Held        []Difference `json:"held"` // routes that the poison-route guard holds back
	Withheld    []Withheld   `json:"withheld"`
}

// place is a route of one PE; several PEs can compete for a key.
type place struct {
	family     wire.Family
	nlri, peer string
}

// DiffPeer derives the routes that a peer should have from the rule set's document and the announcements alone, by walking
// through all of them; it shares no rule with the engine. Where several PEs announce one key and none owns its route
// distinguisher, the first announcement wins. DiffPeer does not know which one was first, so it accepts any one of them.
func DiffPeer(s engine.Snapshot, peer string) PeerDiff {
	d := PeerDiff{Peer: peer, At: s.At, Generation: s.Set.Generation, Session: s.Up, Differences: []Difference{}, Held: []Difference{}, Withheld: []Withheld{}}
	found, held := map[place][]string{}, map[place]bool{}
	for _, v := range s.Out {
		at := place{v.Family, v.NLRI, v.Peer}
		found[at], held[at] = targets(v.Targets), v.Held != nil
	}
	m := model{snapshot: &s, peer: peer, document: s.Set.Document(), memo: map[string][]string{}}
	for _, rivals := range m.rivals() {
		chosen := slices.IndexFunc(rivals, func(c claim) bool { _, there := found[c.place]; return there })
		if chosen < 0 { // then the winner is one that this peer should not get
			chosen = slices.IndexFunc(rivals, func(c claim) bool { return len(m.targets(c)) == 0 || !m.fits(c) })
		}
		c := rivals[max(chosen, 0)]
		want := m.targets(c)
		if len(want) > 0 && !m.fits(c) {
			d.Withheld = append(d.Withheld, Withheld{c.family.String(), c.family.Text(c.nlri), c.peer, engine.MessageSize})
			want = nil
		}
		have := found[c.place]
		delete(found, c.place)
		if len(want) == 0 && len(have) == 0 {
			continue
		}
		d.Compared++
		if _, barred := s.Barred[c.peer]; barred && len(have) == 0 || held[c.place] && slices.Equal(sorted(want), sorted(have)) {
			d.Held = append(d.Held, Difference{"held-back", c.family.String(), c.family.Text(c.nlri), c.peer, want, []string{}})
			continue
		}
		d.compare(c.place, want, have)
	}
	for p, have := range found {
		d.Compared++
		d.compare(p, nil, have)
	}
	slices.SortFunc(d.Withheld, func(a, b Withheld) int {
		return cmp.Or(cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.Family, b.Family), cmp.Compare(a.NLRI, b.NLRI))
	})
	inOrder(d.Differences)
	inOrder(d.Held)
	return d
}

func inOrder(list []Difference) {
	slices.SortFunc(list, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.Family, b.Family), cmp.Compare(a.NLRI, b.NLRI))
	})
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func (d *PeerDiff) compare(p place, want, have []string) {
	slices.Sort(want)
	slices.Sort(have)
	kind := "route-targets"
	switch {
	case slices.Equal(want, have):
		return
	case len(have) == 0:
		kind = "missing"
	case len(want) == 0:
		kind = "unexpected"
	}
	d.Differences = append(d.Differences, Difference{kind, p.family.String(), p.family.Text(p.nlri), p.peer, append([]string{}, want...), append([]string{}, have...)})
}

// model derives the expected routes naively.
type model struct {
	snapshot *engine.Snapshot
	peer     string
	document *ruleset.Document
	memo     map[string][]string // by endpoint: results of targets
}

// claim is a route that may be accepted, and the endpoint that would own it.
type claim struct {
	place
	endpoint   ruleset.Endpoint
	attributes *wire.Attributes
	longLived  bool // stale
}

// rivals returns, per key, the routes that may win it: the one whose endpoint owns the route distinguisher, else all
// that are not long-lived stale, else all.
func (m *model) rivals() map[string][]claim {
	owners := map[string]ruleset.Endpoint{}
	for _, e := range m.document.Endpoints {
		owners[e.RT] = e
	}
	var claims []claim
	load := loads{}
	for _, v := range m.snapshot.In {
		rts := targets(v.Targets)
		if len(rts) != 1 {
			continue
		}
		e, known := owners[rts[0]]
		others, redirects := v.Attributes.Strays()
		if !known || v.Attributes.Loop || e.Peer != v.Peer || others || redirects || e.Family != v.Family.String() && !v.Family.Flow() {
			continue
		}
		if attributes, route := m.permitted(e, v); !attributes {
			continue
		} else if load.add(e.Name, v); !route {
			continue
		}
		claims = append(claims, claim{place{v.Family, v.NLRI, v.Peer}, e, v.Attributes, v.LongLived})
	}
	rivals, owned := map[string][]claim{}, map[string]bool{}
	for _, c := range claims {
		if load.over(c.endpoint) || slices.Contains(m.snapshot.Held, c.endpoint.Name) {
			continue
		}
		key := c.family.String() + c.family.Key(c.nlri)
		switch owns := c.family.Distinguisher(c.nlri) == c.endpoint.RD; {
		case owns:
			rivals[key], owned[key] = []claim{c}, true
		case !owned[key]:
			rivals[key] = append(rivals[key], c)
		}
	}
	for key, list := range rivals {
		if slices.ContainsFunc(list, func(c claim) bool { return !c.longLived }) {
			rivals[key] = slices.DeleteFunc(list, func(c claim) bool { return c.longLived })
		}
	}
	return rivals
}

// targets returns the route targets with which the peer should have a route.
func (m *model) targets(c claim) []string {
	s := m.snapshot
	if !s.Up || !s.Families[c.family] || !c.attributes.Scope().Reaches(s.Kind.External) || c.longLived && !s.LongLived {
		return nil
	}
	e := c.endpoint
	if known, there := m.memo[e.Name]; there {
		return slices.Clone(known)
	}
	var list []string
	for _, other := range m.document.Endpoints {
		if other.Peer == m.peer && other.Name != e.Name && m.together(e.Name, other.Name) && m.asked(other.RT) {
			list = append(list, other.RT)
		}
	}
	m.memo[e.Name] = list
	return slices.Clone(list)
}

// fits reports whether a route that the peer should have fits into a message that it accepts.
func (m *model) fits(c claim) bool {
	s, targets := m.snapshot, len(m.targets(c))
	if a := c.attributes; 3*(len(a.Path)+len(a.ClusterList)+len(a.Communities))+8*targets+len(c.nlri) < s.Longest/2 {
		return true // the usual case
	}
	_, _, skipped := c.attributes.AppendAnnouncements(nil, c.family, []string{c.nlri}, s.Added[c.peer], s.Kind, targets, s.Longest)
	return len(skipped) == 0
}

func (m *model) together(a, b string) bool {
	return slices.ContainsFunc(m.document.Vcps, func(v ruleset.Vcp) bool { return slices.Contains(v.Members, a) && slices.Contains(v.Members, b) })
}

func (m *model) asked(rt string) bool {
	if !m.snapshot.Constrains {
		return true
	}
	parsed, err := wire.ParseRT(rt)
	return err == nil && m.snapshot.Settled && slices.ContainsFunc(m.snapshot.Asked, func(nlri string) bool { return wire.Covers(nlri, parsed) })
}
