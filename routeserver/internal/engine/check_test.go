package engine

import (
	"sort"
	"strings"
	"testing"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Inspect is a further check of what a peer was sent, from a package that this one cannot import.
var Inspect func(e *Engine, peer string) string

// Follow begins a copy of all tables that is updated from feeds. The returned function says how the copy differs from the
// tables. Each time it has been called the given number of times, the copy begins anew.
var Follow func(t testing.TB, e *Engine, times int) (differs func() string)

// check compares the engine's tables, and what the PEs heard, with the model.
func (w *world) check(after string) {
	seen := map[string]map[string]entry{}
	for name, s := range w.speakers {
		if !s.slow {
			s.drain()
		}
		seen[name] = w.adjOut(after, name)
	}
	for _, differs := range w.followers {
		if text := differs(); text != "" {
			w.t.Fatalf("after %s: %s", after, text)
		}
	}
	for _, e := range w.document.Endpoints {
		if have, want := w.engine.table.Load(e.Name), w.load(e); have != want {
			w.t.Fatalf("after %s: %s is counted with %s and has %s", after, e.Name, have, want)
		}
	}
	w.checkCounts(after)
	want := w.expected(seen)
	for name, s := range w.speakers {
		if !same(want[name], seen[name], false) {
			w.t.Fatalf("after %s, generation %d: the looking glass shows for %s\n%v\nbut it is to have\n%v", after, w.document.Generation, name, seen[name], want[name])
		}
		if text := Inspect(w.engine, name); text != "" {
			w.t.Fatalf("after %s: the looking glass finds differences for %s: %s", after, name, text)
		}
		if s.slow {
			continue
		}
		if want := sent(want[name], w.checkHeld(after, name)); !same(want, s.current(), true) {
			w.t.Fatalf("after %s, generation %d: %s has\n%v\nbut is to have\n%v", after, w.document.Generation, name, s.rib, want)
		}
		if len(s.remnants) > 0 && !w.mayKeep(s) {
			w.t.Fatalf("after %s, generation %d: %s still keeps %v from before, and was not told to drop it", after, w.document.Generation, name, s.remnants)
		}
	}
}

// adjOut returns what a PE was sent according to the engine.
func (w *world) adjOut(after, name string) map[string]entry {
	views, _ := w.engine.Select(Filter{Table: AdjOut, Peer: name, AnyFamily: true, AnyRT: true})
	seen := map[string]entry{}
	for _, v := range views {
		var rts []string
		for _, rt := range wire.RTs(v.Targets) {
			rts = append(rts, rt.String())
		}
		sort.Strings(rts)
		seen[v.Family.Full(v.NLRI)] = entry{v.Peer, strings.Join(rts, " "), "", v.Family}
		if v.Sent.IsZero() != (v.Held != nil) && !w.speakers[name].slow {
			w.t.Fatalf("after %s: %s is not marked as sent to %s", after, v.Family.Full(v.NLRI), name)
		}
	}
	return seen
}

// same compares routes. Routes that were heard have attributes but no announcer's name; routes in a table have the name but
// no attributes.
func same(want, have map[string]entry, heard bool) bool {
	if len(want) != len(have) {
		return false
	}
	for text, e := range want {
		if heard {
			e.announcer = ""
		} else {
			e.as = ""
		}
		if have[text] != e {
			return false
		}
	}
	return true
}

// load returns what the engine must count for an endpoint: nothing without limits, and MACs only if they are limited.
func (w *world) load(e ruleset.Endpoint) (l rib.Load) {
	routes, macs := w.has(e)
	if e.MaxRoutes > 0 || e.Permits.MaxMACs > 0 {
		l.Routes = routes
	}
	if e.Permits.MaxMACs > 0 {
		l.MACs = macs
	}
	return l
}
