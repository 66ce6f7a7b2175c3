package engine

import (
	"errors"
	"fmt"
	"slices"

	"weft/routeserver/internal/ruleset"
)

// Changes of the rule set by people and the controller.

// change applies operations to the engine and the model, after a rehearsal that must predict what joins and leaves send.
func (w *world) change(exact bool, ops ...ruleset.Operation) string {
	c := &ruleset.Change{Base: w.document.Generation, Generation: w.document.Generation + 1, Ops: ops, DryRun: true}
	backlogs := w.backlogs()
	dry, err := w.engine.Change(c)
	if err != nil {
		w.t.Fatal(err)
	}
	if !slices.Equal(backlogs, w.backlogs()) {
		w.t.Fatal("a dry run sent something")
	}
	c.DryRun = false
	guarded := w.engine.Set().Guards() // a rehearsal does not predict the effect of MACs on single routes
	var real *Receipt
	err = w.during(func() (err error) { real, err = w.engine.Change(c); return err })
	if w.fallback != nil {
		if conflict := (*Conflict)(nil); !errors.As(err, &conflict) {
			w.t.Fatalf("a change on top of a trial: %v", err)
		}
		return "refused, on trial: "
	}
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range real.Peers {
		if real.Peers[i].WrittenMicros == nil && w.engine.ReceiptWait == 0 {
			w.t.Fatalf("%s was written to, but the receipt does not say so", real.Peers[i].Peer)
		}
		real.Peers[i].WrittenMicros = nil
	}
	if exact && !guarded && !slices.Equal(dry.Peers, real.Peers) {
		w.t.Fatalf("foreseen %+v, done %+v", dry.Peers, real.Peers)
	}
	next := w.document
	for _, op := range ops {
		next = applied(next, op)
	}
	next.Generation++
	w.doing = ""
	for _, op := range ops {
		w.doing += describe(op)
	}
	w.now(next)
	return ""
}

// now records the rule set in force. Sessions of peers that are gone or have moved end, which takes a moment.
func (w *world) now(next *ruleset.Document) {
	w.notePartings(w.document, next)
	old := w.document
	w.document = next
	moved := map[string]bool{}
	for _, p := range old.Peers {
		moved[p.Name] = !slices.Contains(next.Peers, p)
	}
	for name := range moved {
		if moved[name] && w.speakers[name] == nil {
			w.forget(name)
			delete(w.kept, name)
		}
	}
	w.check("a change of the rule set, at once")
	for _, name := range sortedKeys(moved) {
		if s := w.speakers[name]; moved[name] && s != nil {
			if w.r.IntN(2) == 0 {
				w.engine.Lose(s.peer, "it breaks before that")
			}
			w.down(s)
		}
	}
}

func (w *world) backlogs() (list []int) {
	for _, name := range sortedKeys(w.speakers) {
		list = append(list, w.speakers[name].peer.Queue.Backlog())
	}
	return list
}

func (w *world) joinOrLeave() string {
	op, ok := w.anyJoinOrLeave(w.document)
	if !ok {
		return "nothing"
	}
	return w.change(true, op) + describe(op)
}

// batch applies several operations in one transaction.
func (w *world) batch() string {
	var ops []ruleset.Operation
	next, text := w.document, ""
	for range 2 + w.r.IntN(6) {
		op, ok := w.anyJoinOrLeave(next)
		switch w.r.IntN(6) {
		case 0:
			op, ok = w.anyEndpoint(next), true
		case 1:
			op, ok = w.anyPool(next), true
		}
		if ok {
			ops, next = append(ops, op), applied(next, op)
			text += describe(op)
		}
	}
	return w.change(false, ops...) + "a batch:" + text
}

func (w *world) endpoint() string {
	op := w.anyEndpoint(w.document)
	return w.change(false, op) + describe(op)
}

func (w *world) pool() string {
	op := w.anyPool(w.document)
	return w.change(true, op) + describe(op)
}

func (w *world) documentHas(i int) bool {
	return slices.ContainsFunc(w.document.Peers, func(p ruleset.Peer) bool { return p.Name == peerName(i) })
}

// peer adds a PE, moves it, or removes it with its endpoints.
func (w *world) peer() string {
	i := w.r.IntN(worldPeers)
	for tries := 0; tries < 5 && w.r.IntN(2) == 0 && w.documentHas(i); tries++ { // or one that is not in the rule set
		i = w.r.IntN(worldPeers)
	}
	for tries := 0; tries < 5 && len(w.lost) > 0 && !w.lost[peerName(i)]; tries++ { // mostly a lost PE
		i = w.r.IntN(worldPeers)
	}
	p := peerAt(i, w.r.IntN(3))
	if !w.documentHas(i) || w.r.IntN(4) > 0 {
		return w.change(false, ruleset.Operation{Op: ruleset.SetPeer, Peer: &p}) + fmt.Sprintf("set-peer %+v", p)
	}
	var ops []ruleset.Operation
	for _, e := range w.document.Endpoints {
		if e.Peer == p.Name {
			ops = append(ops, ruleset.Operation{Op: ruleset.RemoveEndpoint, Name: e.Name})
		}
	}
	return w.change(false, append(ops, ruleset.Operation{Op: ruleset.RemovePeer, Name: p.Name})...) + p.Name + " is removed"
}

func (w *world) replace() string {
	next, what := w.document, "the same rule set again"
	if w.r.IntN(3) > 0 {
		next, what = w.random(), "another rule set"
	}
	w.must(nil, w.during(func() error { _, err := w.engine.Replace(next, false); return err }))
	w.fallback = nil // a whole rule set ends the trial
	w.doing = fmt.Sprintf(" a rule set: %+v", *next)
	w.now(next)
	return what
}

// refused tries changes that must change nothing.
func (w *world) refused() string {
	d := w.document
	var bad *ruleset.Invalid
	var conflict *Conflict
	op, _ := w.anyJoinOrLeave(d)
	switch w.r.IntN(4) {
	case 0: // first a good operation, then a bad one
		_, err := w.engine.Change(&ruleset.Change{Base: d.Generation, Generation: d.Generation + 1, Ops: []ruleset.Operation{op, {Op: ruleset.RemoveVcp, Name: "nothing"}}})
		if !errors.As(err, &bad) {
			w.t.Fatalf("a change with an error: %v", err)
		}
		return "a change that ends in an error"
	case 1:
		if _, err := w.engine.Change(&ruleset.Change{Base: d.Generation + 1, Generation: d.Generation + 2}); !errors.As(err, &conflict) {
			w.t.Fatalf("a change for another generation: %v", err)
		}
		return "a change for another generation"
	case 2:
		old := w.random()
		old.Generation = d.Generation - 1
		if _, err := w.engine.Replace(old, false); !errors.As(err, &conflict) {
			w.t.Fatalf("an old rule set: %v", err)
		}
		return "an old rule set"
	}
	twice := w.random()
	for i := range 2 {
		twice.Peers = append(twice.Peers, ruleset.Peer{Name: "twin", Address: fmt.Sprintf("10.0.0.%d", 70+i), ASN: 65000})
	}
	if _, err := w.engine.Replace(twice, false); !errors.As(err, &bad) {
		w.t.Fatalf("a rule set with a peer twice: %v", err)
	}
	return "a rule set with an error"
}
