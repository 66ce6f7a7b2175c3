package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"weft/routeserver/ruleset"
	"weft/routeserver/wire"
)

// The second model: who may see what, computed from the pools and announcements alone, with no thought of speed and no
// code of the engine.

const (
	worldPeers = 5
	worldSites = 8
	worldPools = 4
)

type announcement struct {
	nlri string
	rts  []string
}

type world struct {
	t        *testing.T
	r        *rand.Rand
	engine   *Engine
	document ruleset.Document
	speakers map[string]*speaker                // sessions that are up
	said     map[string]map[string]announcement // by peer, then by route
	stale    map[string]map[string]bool         // of those, the ones from before the session was lost
}

// Inspect is a further check of what a peer was sent, from a package that this one cannot import.
var Inspect func(e *Engine, peer string) string

func peerName(i int) string { return fmt.Sprintf("pe%d", i) }
func siteName(i int) string { return fmt.Sprintf("site%d", i) }
func poolName(i int) string { return fmt.Sprintf("pool%d", i) }

// site is endpoint i of peer p; its RD is always the same, its route target is one of two.
func site(i, p, variant int) ruleset.Endpoint {
	return ruleset.Endpoint{
		Name: siteName(i), Peer: peerName(p), Family: familyOf(i).String(),
		RT: fmt.Sprintf("65000:%d", i+1+100*variant), RD: fmt.Sprintf("65000:%d", i+1),
	}
}

// expected is what a peer has to have: NLRI text to sorted route targets.
func (w *world) expected(peer string) map[string]string {
	type candidate struct {
		endpoint ruleset.Endpoint
		announcement
	}
	byRoute := map[string][]candidate{}
	for announcer, routes := range w.said {
		for route, a := range routes {
			if len(a.rts) != 1 {
				continue
			}
			for _, e := range w.document.Endpoints {
				f := offered(a.nlri).family
				if e.RT == a.rts[0] && e.Peer == announcer && (e.Family == f.String() || f.Flow()) {
					byRoute[route] = append(byRoute[route], candidate{e, a})
				}
			}
		}
	}
	rib := map[string]string{}
	for _, candidates := range byRoute {
		winner := candidates[0]
		for _, c := range candidates {
			if offered(c.nlri).rd == c.endpoint.RD { // it owns the route distinguisher
				winner = c
			}
		}
		var rts []string
		for _, f := range w.document.Endpoints {
			if f.Peer == peer && f.Name != winner.endpoint.Name && w.together(f.Name, winner.endpoint.Name) && w.speakers[peer].wants(f.RT) {
				rts = append(rts, f.RT)
			}
		}
		if len(rts) > 0 {
			sort.Strings(rts)
			rib[winner.nlri] = strings.Join(rts, " ")
		}
	}
	return rib
}

func (w *world) together(e, f string) bool {
	for _, v := range w.document.Vcps {
		if slices.Contains(v.Members, e) && slices.Contains(v.Members, f) {
			return true
		}
	}
	return false
}

func (w *world) check(after string) {
	w.t.Helper()
	for name, s := range w.speakers {
		s.drain()
		want := w.expected(name)
		if !equal(want, s.rib) {
			w.t.Fatalf("after %s, generation %d: %s has\n%v\nbut is to have\n%v", after, w.document.Generation, name, s.rib, want)
		}
		views, _ := w.engine.Select(Filter{Table: AdjOut, Peer: name, AnyFamily: true, AnyRT: true})
		seen := map[string]string{}
		for _, v := range views {
			var rts []string
			for _, rt := range wire.RTs(v.Targets) {
				rts = append(rts, rt.String())
			}
			sort.Strings(rts)
			seen[v.Family.Text(v.NLRI)] = strings.Join(rts, " ")
			if v.Sent.IsZero() {
				w.t.Fatalf("after %s: %s is not marked as sent to %s", after, v.Family.Text(v.NLRI), name)
			}
		}
		if text := Inspect(w.engine, name); text != "" {
			w.t.Fatalf("after %s: the looking glass finds differences for %s: %s", after, name, text)
		}
		if !equal(want, seen) {
			w.t.Fatalf("after %s: the looking glass shows for %s\n%v\nbut it has\n%v", after, name, seen, want)
		}
	}
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

func (w *world) step() string {
	if w.r.IntN(6) == 0 {
		return w.constrain()
	}
	if w.r.IntN(8) == 0 && len(w.stale[w.anyStale()]) > 0 {
		return w.restarts()
	}
	switch n := w.r.IntN(100); {
	case n < 25:
		return w.announce()
	case n < 38:
		return w.withdraw()
	case n < 62:
		return w.joinOrLeave()
	case n < 72:
		return w.endpoint()
	case n < 80:
		return w.pool()
	case n < 87:
		return w.session()
	case n < 90:
		return w.time()
	case n < 95:
		return w.malformed()
	default:
		return w.replace()
	}
}

func (w *world) anySpeaker() *speaker {
	var names []string
	for name := range w.speakers {
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	sort.Strings(names)
	return w.speakers[names[w.r.IntN(len(names))]]
}

// announce makes a PE announce a route of a site: mostly its own, with its own route target; sometimes not. Only one
// PE ever tries to take over the routes of a given site, so that the outcome does not depend on who came first.
func (w *world) announce() string {
	s := w.anySpeaker()
	if s == nil {
		return "nothing"
	}
	i := w.r.IntN(worldSites)
	if w.r.IntN(4) > 0 { // mostly one of its own, if it has any
		for j := range worldSites {
			if w.owner(j) == s.name && w.r.IntN(2) == 0 {
				i = j
			}
		}
	}
	rd, rts := i, []string{fmt.Sprintf("65000:%d", i+1+100*w.r.IntN(2))}
	if w.owner(i) == s.name && w.r.IntN(4) > 0 {
		rts = []string{w.rt(i)}
	}
	switch w.r.IntN(12) {
	case 0:
		rts = nil
	case 1:
		rts = append(rts, fmt.Sprintf("65000:%d", w.r.IntN(worldSites)+1))
	case 2:
		rts = []string{"65000:9999"}
	case 3, 4, 5: // somebody else's route distinguisher
		for j := range worldSites {
			if peerName(j%worldPeers) == s.name {
				rd = j
			}
		}
	}
	nlri := w.anyRoute(i, rd, s.name)
	w.say(s, nlri, rts)
	return fmt.Sprintf("%s announces %s with %v", s.name, nlri, rts)
}

func (w *world) owner(i int) string {
	for _, e := range w.document.Endpoints {
		if e.Name == siteName(i) {
			return e.Peer
		}
	}
	return ""
}

func (w *world) rt(i int) string {
	for _, e := range w.document.Endpoints {
		if e.Name == siteName(i) {
			return e.RT
		}
	}
	return ""
}

func (w *world) say(s *speaker, nlri string, rts []string) {
	rts = slices.Compact(slices.Sorted(slices.Values(rts)))
	s.announce(nlri, rts)
	w.said[s.name][route(nlri)] = announcement{nlri, rts}
	delete(w.stale[s.name], route(nlri))
}

func (w *world) withdraw() string {
	s := w.anySpeaker()
	if s == nil {
		return "nothing"
	}
	for _, key := range sortedKeys(w.said[s.name]) {
		if w.r.IntN(2) == 0 {
			a := w.said[s.name][key]
			w.unsay(s.name, key)
			s.withdraw(a.nlri)
			return fmt.Sprintf("%s withdraws %s", s.name, a.nlri)
		}
	}
	return "nothing"
}

// malformed announces a known route again in an UPDATE that is to be treated as a withdrawal.
func (w *world) malformed() string {
	s := w.anySpeaker()
	if s == nil {
		return "nothing"
	}
	for _, key := range sortedKeys(w.said[s.name]) {
		a := w.said[s.name][key]
		w.unsay(s.name, key)
		s.malformed(a.nlri, a.rts)
		return fmt.Sprintf("%s sends a malformed UPDATE for %s", s.name, a.nlri)
	}
	return "nothing"
}

func sortedKeys(m map[string]announcement) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func (w *world) session() string {
	name := peerName(w.r.IntN(worldPeers))
	if w.r.IntN(2) == 0 {
		name = w.anyStale()
	}
	s := w.speakers[name]
	switch {
	case s == nil:
		return w.comeBack(name)
	case w.r.IntN(2) == 0:
		return w.lose(s)
	}
	w.engine.Down(s.peer, "test")
	delete(w.speakers, name)
	w.said[name], w.stale[name] = map[string]announcement{}, map[string]bool{}
	return name + " goes down"
}

func (w *world) up(name string) {
	w.speakers[name] = newSpeaker(w.t, w.engine, name, w.anyRestart(), w.r.IntN(2) == 0)
	w.said[name], w.stale[name] = map[string]announcement{}, map[string]bool{}
}

func TestEngineAgainstNaiveModel(t *testing.T) {
	seeds := 16
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, uint64(seed))
			for range 150 {
				w.check(w.step())
			}
		})
	}
}
