package engine

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"weft/routeserver/internal/ruleset"
)

// Restarts of the route server in the second model. The rule set is on its disk; it has to be told everything else anew.
// PEs that restart gracefully keep what they had from it until its End-of-RIB.

func (w *world) restart() string {
	w.kill()
	for _, name := range sortedKeys(w.speakers) {
		w.keep(w.speakers[name])
	}
	for name := range w.said {
		w.forget(name)
	}
	w.parted, w.blamed = map[string]bool{}, map[string]bool{}
	w.open()
	if have, want := w.engine.Set().Document(), built(w, w.document); !reflect.DeepEqual(have, want) {
		w.t.Fatalf("the rule set on disk is %+v, it was %+v", have, want)
	}
	if _, generation, on := w.engine.Trial(); on != (w.fallback != nil) || on && generation != w.fallback.Generation {
		w.t.Fatalf("after a restart: trial %v, back to generation %d", on, generation)
	}
	w.engine.RunTrial()
	if w.r.IntN(3) > 0 {
		w.engine.Defer(time.Hour)
	} else {
		w.engine.Defer(0)
	}
	return fmt.Sprintf("the route server restarts with generation %d", w.document.Generation)
}

// built puts a document in the order in which it is stored.
func built(w *world, d *ruleset.Document) *ruleset.Document {
	s, err := ruleset.Build(d)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Document()
}

// keep records what a PE keeps when its session breaks: if it restarts gracefully, what it was sent in that session.
func (w *world) keep(s *speaker) {
	delete(w.speakers, s.name)
	delete(w.kept, s.name)
	if s.peer.restart.Offered {
		w.kept[s.name] = s.current()
	}
}

// mayKeep reports whether a PE may still have routes from before its session. It may until it has said which routes it
// wants. It also may while the route server restarts, unless the PE has lost access to something since.
func (w *world) mayKeep(s *speaker) bool {
	return s.constrains && !s.settled || w.engine.Restarting() && s.peer.restart.Offered && !w.parted[s.name]
}

// notePartings records the PEs that lose one of their route targets for the routes of some endpoint.
func (w *world) notePartings(was, next *ruleset.Document) {
	if !w.engine.Restarting() {
		return
	}
	pairs := func(d *ruleset.Document) (list [][2]ruleset.Endpoint) {
		for _, e := range d.Endpoints {
			for _, f := range d.Endpoints {
				if e.Name != f.Name && slices.ContainsFunc(d.Vcps, func(v ruleset.Vcp) bool {
					return slices.Contains(v.Members, e.Name) && slices.Contains(v.Members, f.Name)
				}) {
					f.RD, f.Family, f.MaxRoutes = "", "", 0 // these do not affect which routes the PE gets
					list = append(list, [2]ruleset.Endpoint{e, f})
				}
			}
		}
		return list
	}
	left := pairs(next)
	for _, pair := range pairs(was) {
		if !slices.Contains(left, pair) {
			w.parted[pair[1].Peer] = true
		}
	}
}

// clearParted forgets these PEs when the restart is over.
func (w *world) clearParted() {
	if !w.engine.Restarting() {
		w.parted = map[string]bool{}
	}
}
