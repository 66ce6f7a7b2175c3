package engine

import (
	"fmt"
	"time"

	"weft/routeserver/internal/ruleset"
)

// retryRollback is the pause after a rollback that could not be saved.
const retryRollback = time.Second

// trial holds the rule set that the one in force falls back to, unless that is confirmed in time (a confirmed commit: RFC
// 6241, 8.4). The deadline is in wall clock time, since it holds across restarts.
type trial struct {
	fallback *ruleset.Set
	until    time.Time
	timer    *time.Timer // nil until RunTrial if the trial is from before the start
}

// Trial returns until when the rule set in force must be confirmed, and the generation that it falls back to.
func (e *Engine) Trial() (until time.Time, fallback uint64, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.trial == nil {
		return until, 0, false
	}
	return e.trial.until, e.trial.fallback.Generation, true
}

// onTrial refuses what must not begin while the rule set in force is on trial.
func (fo *inForce) onTrial() error {
	if fo.trial == nil {
		return nil
	}
	g := fo.set.Generation
	return &Conflict{g, fmt.Sprintf("generation %d waits until %s to be confirmed; nothing is built on it before that",
		g, fo.trial.until.UTC().Format(time.RFC3339))}
}

// try saves that next goes in force on trial; if within is 0, it does not. The caller passes the result of saving next to
// the returned function.
func (e *Engine) try(next *ruleset.Set, within time.Duration) (saved func(error), err error) {
	if within == 0 {
		if e.trial != nil {
			return func(error) {}, nil
		}
		return func(error) {}, e.store.EndTrial() // left by a change that could not be saved
	}
	if !e.loaded {
		return nil, &ruleset.Invalid{Field: "confirm_within", Message: "there is no rule set to fall back to"}
	}
	if err := e.onTrial(); err != nil {
		return nil, err
	}
	t := &trial{fallback: e.set, until: time.Now().Add(within)}
	if err := e.store.SaveTrial(next, e.set, t.until); err != nil {
		return nil, err
	}
	return func(err error) {
		if err != nil {
			_ = e.store.EndTrial() // if this fails too, the next change removes it
			return
		}
		e.trial = t
		t.timer = time.AfterFunc(within, func() { e.rollBack(t) })
	}, nil
}

// settle ends a trial because its rule set is confirmed or replaced.
func (fo *inForce) settle() error {
	if fo.trial == nil {
		return nil
	}
	if err := fo.store.EndTrial(); err != nil {
		return err
	}
	if fo.trial.timer != nil {
		fo.trial.timer.Stop()
	}
	fo.trial = nil
	return nil
}

// rollBack puts the rule set in force that was there before a trial, on disk first. If the disk fails, it tries again: a
// rollback in memory alone would bring the unconfirmed rule set back at the next start.
func (e *Engine) rollBack(t *trial) {
	start := now()
	e.mu.Lock()
	if e.trial != t {
		e.mu.Unlock()
		return
	}
	gone := e.set.Generation
	err := e.store.Save(t.fallback)
	if err == nil {
		err = e.settle()
	}
	if err != nil {
		t.timer.Reset(retryRollback)
		e.mu.Unlock()
		e.Events.Add("rollback-failed", "", fmt.Sprintf("generation %d was not confirmed in time, but cannot be rolled back yet: %s", gone, err))
		return
	}
	receipt, err := e.commit(t.fallback, start)
	if err != nil {
		return
	}
	e.Events.Add("rollback", "", fmt.Sprintf("generation %d was not confirmed in time; back to generation %d: %d announced, %d withdrawn",
		gone, t.fallback.Generation, receipt.Announced, receipt.Withdrawn))
}

// loadTrial loads a trial from before the start. If its time is over, the engine starts with the fallback.
func (fo *inForce) loadTrial() error {
	fallback, until, err := fo.store.LoadTrial(fo.set)
	if err != nil || fallback == nil {
		return err
	}
	if time.Now().Before(until) {
		fo.trial = &trial{fallback: fallback, until: until}
		return nil
	}
	if err := fo.store.Save(fallback); err != nil {
		return err
	}
	if err := fo.store.EndTrial(); err != nil {
		return err
	}
	fo.Events.Add("rollback", "", fmt.Sprintf("generation %d was not confirmed in time; starting with generation %d", fo.set.Generation, fallback.Generation))
	fo.set = fallback
	return nil
}

// RunTrial starts the timer of a trial from before the start. It is called once sessions can be told of changes.
func (e *Engine) RunTrial() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.trial; t != nil && t.timer == nil {
		t.timer = time.AfterFunc(time.Until(t.until), func() { e.rollBack(t) })
	}
}
