package engine

import (
	"fmt"
	"time"

	"weft/routeserver/internal/ruleset"
)

// Silence is how long a route server hears nothing from the controller before it asks its twin. The controller sends a
// heartbeat every 2 s.
const Silence = 5 * time.Second

// beat records that the controller told us which rule set is in force. It is called with the lock held.
func (fo *inForce) beat() {
	fo.confirmed = true
	fo.spoken = time.Now()
	fo.vouched = fo.spoken
}

// Hear handles the controller's heartbeat, which names its generation. Unlike Confirm, it ends no trial.
func (e *Engine) Hear(generation uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.loaded || e.set.Generation != generation {
		return &Conflict{e.set.Generation, fmt.Sprintf("generation %d is in force, not %d", e.set.Generation, generation)}
	}
	first := !e.confirmed
	if e.beat(); first {
		e.signal()
	}
	return nil
}

// InTouch reports whether we have heard from the controller within Silence.
func (e *Engine) InTouch() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.spoken.IsZero() && time.Since(e.spoken) < Silence
}

// Vouched returns when the controller, or a twin with the same rule set, was last heard from.
func (e *Engine) Vouched() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.vouched
}

// Vouch records that the twin has our generation too. If the twin is in touch with the controller, this counts like the
// controller's own confirmation.
func (e *Engine) Vouch(generation uint64, inTouch bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.loaded || e.set.Generation != generation {
		return
	}
	e.vouched = time.Now()
	if inTouch && !e.confirmed {
		e.confirmed = true
		e.signal()
	}
}

// Doubt forgets that the rule set was confirmed.
func (e *Engine) Doubt() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.confirmed = false
	e.signal()
}

// Adopt puts the twin's rule set in force, which must be newer than ours. This does not count as the controller's
// confirmation.
func (e *Engine) Adopt(d *ruleset.Document) (*Receipt, error) {
	start := now()
	next, err := ruleset.Build(d)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	if have := e.set.Generation; e.loaded && next.Generation <= have {
		e.mu.Unlock()
		return nil, &Conflict{have, "the twin has nothing newer"}
	}
	if err = e.onTrial(); err == nil {
		err = e.store.Save(next)
	}
	if err != nil {
		e.mu.Unlock()
		return nil, err
	}
	e.counters.Replacements++
	return e.commit(next, start)
}
