package engine

import (
	"errors"
	"fmt"
	"time"

	"weft/routeserver/internal/ruleset"
)

// Trials in the second model: unconfirmed changes are undone.

// trial puts a change or another rule set on trial.
func (w *world) trial() string {
	op, ok := w.anyJoinOrLeave(w.document)
	next := w.random()
	put := func() error { _, err := w.engine.ReplaceOnTrial(next, false, time.Hour); return err }
	if ok && w.r.IntN(2) == 0 {
		next = applied(w.document, op)
		next.Generation++
		c := &ruleset.Change{Base: w.document.Generation, Generation: next.Generation, Ops: []ruleset.Operation{op}}
		put = func() error { _, err := w.engine.ChangeOnTrial(c, time.Hour); return err }
	}
	err := w.during(put)
	if w.fallback != nil {
		if conflict := (*Conflict)(nil); !errors.As(err, &conflict) {
			w.t.Fatalf("a trial on top of a trial: %v", err)
		}
		return "a trial on top of a trial"
	}
	w.must(nil, err)
	w.fallback = w.document
	w.now(next)
	return fmt.Sprintf("generation %d on trial", next.Generation)
}

// endTrial confirms a trial, or lets its time pass.
func (w *world) endTrial() string {
	fallback := w.fallback
	w.fallback = nil
	if w.r.IntN(2) == 0 {
		w.must(nil, w.engine.Confirm(w.document.Generation))
		return fmt.Sprintf("generation %d is confirmed", w.document.Generation)
	}
	w.must(nil, w.during(func() error { w.engine.rollBack(w.engine.trial); return nil }))
	w.now(fallback)
	return fmt.Sprintf("back to generation %d", fallback.Generation)
}
