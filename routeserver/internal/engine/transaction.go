package engine

import (
	"fmt"
	"time"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// patience is the default of Config.ReceiptWait.
const patience = 500 * time.Millisecond

// Conflict is the refusal of a change that does not fit the generation in force.
type Conflict struct {
	Generation uint64 // in force
	Message    string
}

// Error returns the message.
func (c *Conflict) Error() string { return c.Message }

// Replace puts a whole rule set in force. The same generation with the same content changes nothing. A lower generation, or
// the same one with another content, is refused unless forced.
func (e *Engine) Replace(d *ruleset.Document, force bool) (*Receipt, error) {
	return e.ReplaceOnTrial(d, force, 0)
}

// ReplaceOnTrial is Replace, undone unless the generation is confirmed within a time (0: no confirmation needed).
func (e *Engine) ReplaceOnTrial(d *ruleset.Document, force bool, within time.Duration) (*Receipt, error) {
	start := now()
	next, err := ruleset.Build(d)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	if e.loaded && !force {
		switch have := e.set.Generation; {
		case next.Generation < have:
			e.mu.Unlock()
			return nil, &Conflict{have, fmt.Sprintf("generation %d is older than %d, which is in force", next.Generation, have)}
		case next.Generation == have && !ruleset.Equal(e.set, next):
			e.mu.Unlock()
			return nil, &Conflict{have, fmt.Sprintf("generation %d is in force with another content", have)}
		}
	}
	if !e.loaded || !ruleset.Equal(e.set, next) || e.set.Generation != next.Generation {
		saved, err := e.try(next, within)
		if err == nil {
			err = e.store.Save(next)
			if err == nil {
				err = e.settle()
			}
			saved(err)
		}
		if err != nil {
			e.mu.Unlock()
			return nil, err
		}
	} else if within == 0 {
		if err := e.settle(); err != nil {
			e.mu.Unlock()
			return nil, err
		}
	}
	e.beat()
	e.counters.Replacements++
	return e.commit(next, start)
}

// Change applies operations to the generation in force, all or none.
func (e *Engine) Change(c *ruleset.Change) (*Receipt, error) { return e.ChangeOnTrial(c, 0) }

// ChangeOnTrial is Change, undone unless the generation is confirmed within a time (0: no confirmation needed).
func (e *Engine) ChangeOnTrial(c *ruleset.Change, within time.Duration) (*Receipt, error) {
	start := now()
	e.mu.Lock()
	if c.Base != e.set.Generation || !e.loaded {
		defer e.mu.Unlock()
		return nil, &Conflict{e.set.Generation, fmt.Sprintf("the change is for generation %d, but %d is in force", c.Base, e.set.Generation)}
	}
	next, err := e.set.Apply(c)
	if err != nil {
		e.mu.Unlock()
		return nil, err
	}
	if c.DryRun {
		defer e.mu.Unlock()
		return e.rehearse(next, start), nil
	}
	saved := func(error) {}
	if err = e.onTrial(); err == nil {
		saved, err = e.try(next, within)
	}
	if err == nil {
		err = e.store.Append(c, next)
		saved(err)
	}
	if err != nil {
		e.mu.Unlock()
		return nil, err
	}
	e.beat()
	e.counters.Changes++
	return e.commit(next, start)
}

// Confirm records that the generation in force is the controller's.
func (e *Engine) Confirm(generation uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.loaded || e.set.Generation != generation {
		return &Conflict{e.set.Generation, fmt.Sprintf("generation %d is in force, not %d", e.set.Generation, generation)}
	}
	if err := e.settle(); err != nil {
		return err
	}
	e.beat()
	e.signal()
	return nil
}

// step is the part of a transaction for one group.
type step struct {
	group    *rib.Group
	site     string
	reason   rib.Reason
	endpoint string            // the site, unless there is a reason
	desired  map[string]string // recipients and their route targets
}

// plan finds the groups whose judgement or recipients change. It changes nothing.
func (lr *locRIB) plan(next *ruleset.Set, delta *ruleset.Delta) (steps []step) {
	if len(delta.Sites) == 0 {
		return nil
	}
	judge := func(g *rib.Group) {
		if s, different := lr.consider(next, g); different {
			steps = append(steps, s)
		}
	}
	for _, site := range delta.Sites {
		for g := range lr.table.Endpoint(site) {
			judge(g)
		}
	}
	for g := range lr.table.Suspects() {
		judge(g)
	}
	return steps
}

// consider judges a group by a rule set.
func (lr *locRIB) consider(set *ruleset.Set, g *rib.Group) (s step, different bool) {
	s.group = g
	s.site, s.reason = lr.judge(set, g)
	if s.reason == "" {
		s.endpoint = s.site
	}
	if !g.Duplicate && s.endpoint != "" {
		audience := *g
		audience.Endpoint = s.endpoint
		s.desired = lr.recipients(set, &audience)
	}
	return s, s.endpoint != g.Endpoint || s.reason != g.Reason || s.site != g.Site
}

// commit puts a rule set in force and sends what follows to the peers that it concerns. Then it releases the lock and waits
// until everything is written.
func (e *Engine) commit(next *ruleset.Set, start time.Time) (*Receipt, error) {
	t := newTransaction()
	delta := ruleset.Compare(e.set, next)
	e.expel(t, next, delta)
	steps := e.plan(next, delta)
	receipt := &Receipt{RouteServer: e.Name, Generation: next.Generation, Previous: e.set.Generation}
	changed := next.Generation != e.set.Generation || !e.loaded
	was := e.set
	e.set, e.loaded = next, true
	e.execute(t, steps)
	e.limits(delta.Sites)
	e.enforce(t)
	e.contest(t, delta.Sites)
	for _, pair := range delta.Pairs {
		for g := range e.table.Endpoint(pair.Endpoint) {
			e.retarget(t, g, pair.Peer, pair.Targets)
		}
		if pair.Targets == "" {
			e.history.parted(pair.Endpoint, pair.Peer)
		}
	}
	e.readmit(t, was, delta)
	e.forgetLost(t)
	for _, name := range delta.Peers {
		e.forgetTally(name)
		e.forgetGuard(name)
	}
	e.enforce(t) // after the forgotten routes, an endpoint may be within its limit again
	e.hurry(was, delta)
	if changed || len(delta.Sites)+len(delta.Pairs) > 0 {
		e.past.Add(next)
	}
	if changed {
		e.Events.Add("generation", "", fmt.Sprintf("generation %d is in force", next.Generation))
	}
	e.signal()
	wait := e.watch(t, start)
	if e.onChange != nil {
		e.onChange(next, delta.Peers)
	}
	e.mu.Unlock()
	receipt.Peers = wait()
	receipt.total(start)
	if changed {
		e.durations.observe(receipt)
	}
	return receipt, nil
}

// execute judges groups anew: first those that leave their endpoint, then those that get one. Then routes that waited take
// the free keys.
func (lr *locRIB) execute(t *transaction, steps []step) {
	type freedKey struct {
		family wire.Family
		key    string
	}
	var freed []freedKey
	for _, s := range steps {
		g := s.group
		if g.Duplicate || g.Endpoint == "" || s.endpoint != "" {
			continue
		}
		lr.readdress(t, g, nil)
		for _, r := range g.Routes() {
			key := g.Family.Key(r.NLRI)
			if lr.release(g.Family, key, r) {
				freed = append(freed, freedKey{g.Family, key})
			}
		}
		lr.table.Judge(g, s.site, s.reason)
		lr.tell(Quarantined, g, g.NLRIs(), "", "")
	}
	for _, s := range steps {
		switch g := s.group; {
		case g.Duplicate && s.endpoint == "":
			lr.requarantine(g, s)
		case g.Duplicate:
			lr.table.Judge(g, s.site, rib.Duplicate)
		case s.endpoint == "":
			lr.table.Judge(g, s.site, s.reason)
		default:
			lr.admit(t, s)
		}
	}
	for _, k := range freed {
		lr.promote(t, k.family, k.key)
	}
}

// admit gives a group to an endpoint. Routes whose key belongs to another route become duplicates.
func (lr *locRIB) admit(t *transaction, s step) {
	g := s.group
	in := lr.table.In(g.Peer)
	lr.table.Judge(g, s.endpoint, "")
	for _, r := range append([]*rib.Route(nil), g.Routes()...) {
		key := g.Family.Key(r.NLRI)
		if lr.claim(t, g.Family, key, r, g, s.endpoint) {
			lr.tell(Announced, g, []string{r.NLRI}, "", "")
			continue
		}
		lr.emit(t, []string{r.NLRI}, g, nil)
		duplicates := lr.duplicates(in, g)
		lr.table.Put(in, key, r, duplicates)
		lr.tell(Quarantined, duplicates, []string{r.NLRI}, "", "")
		lr.table.Wait(g.Family, key, r)
	}
	if g.Len() > 0 {
		lr.readdress(t, g, s.desired)
	}
}

// requarantine moves duplicates that would not be accepted any more to the quarantine group for the new reason.
func (lr *locRIB) requarantine(duplicates *rib.Group, s step) {
	in := lr.table.In(duplicates.Peer)
	g, fresh := in.Group(duplicates.Family, duplicates.Attributes, false, "")
	if fresh {
		lr.table.Judge(g, s.site, s.reason)
	}
	for _, r := range append([]*rib.Route(nil), duplicates.Routes()...) {
		key := duplicates.Family.Key(r.NLRI)
		lr.table.Unwait(duplicates.Family, key, r)
		lr.table.Put(in, key, r, g)
	}
}
