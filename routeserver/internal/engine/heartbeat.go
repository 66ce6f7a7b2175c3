package engine

import (
	"fmt"
	"time"

	"weft/routeserver/internal/ruleset"
)

// Silence is how long the controller may say nothing before a route server asks its twin: it has a word every 2 s.
const Silence = 5 * time.Second

// beat takes note that the controller says which rule set is in force. It is called with the lock held.
func (fo *inForce) beat() {
	fo.confirmed = true
	fo.spoken = time.Now()
	fo.vouched = fo.spoken
}

// Hear takes the controller's repeated word that a generation is its own. Unlike Confirm it ends no trial.
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

// InTouch says whether the controller has been heard of lately.
func (e *Engine) InTouch() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.spoken.IsZero() && time.Since(e.spoken) < Silence
}

// Vouched is when the controller, or a twin with the same rule set, was last heard of.
func (e *Engine) Vouched() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.vouched
}

// Vouch takes note that the twin has our generation too. If the controller is in touch with the twin, that is as good as
// its own word to us.
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

// Adopt puts the twin's rule set in force, which has to be newer than ours. It is not the controller's word.
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
