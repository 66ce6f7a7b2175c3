package engine

import (
	"maps"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// Traffic counts the routes of a family that were announced and withdrawn.
type Traffic struct{ Announced, Withdrawn, SentAnnounced, SentWithdrawn uint64 }

// Tally counts the messages and routes between a peer and the route server since the start, over all sessions.
type Tally struct {
	Sessions, Ended       uint64 // sessions that were established, and that ended
	Updates               uint64 // messages received
	Families              [wire.Families]Traffic
	Malformed, Untrusted  uint64                // UPDATEs that were treated as withdrawals, and their routes
	Repeated, Vain        uint64                // announcements and withdrawals that changed nothing
	ASLoops               uint64                // UPDATEs with our AS number in AS_PATH
	OriginLoops, Clusters uint64                // UPDATEs with our ORIGINATOR_ID, and with our cluster
	Refused               map[rib.Reason]uint64 // routes that went into quarantine when they arrived
	Poisoned, Poisons     uint64                // sessions that ended because of what was sent, and routes found to cause it
}

func (ss *sessions) tally(peer string) *Tally {
	t := ss.tallies[peer]
	if t == nil {
		t = &Tally{Refused: map[rib.Reason]uint64{}}
		ss.tallies[peer] = t
	}
	return t
}

func (t *Tally) malformed(u *wire.Update) {
	t.Malformed++
	t.Untrusted += uint64(len(u.Reach))
}

func (t *Tally) loop(a *wire.Attributes, routerID, cluster string) {
	switch {
	case a.Originator == routerID:
		t.OriginLoops++
	case a.Loops(routerID, cluster):
		t.Clusters++
	default:
		t.ASLoops++
	}
}

// Sizes counts the routes in a peer's tables.
type Sizes struct {
	In, Accepted, Out [wire.Families]int
	Bytes             int                // memory that its routes take
	Withheld          [wire.Families]int // routes that it is to have but that do not fit into its messages
	Quarantined       map[rib.Reason]int
	Held              map[string]int // routes that it is not sent, by the guard's verdict
}

// Account is the counts of a peer of the rule set.
type Account struct {
	Peer string
	Tally
	Sizes
	Session *Peer // nil: none is established
}

// Accounts counts all peers of the rule set, sorted by name. It blocks the engine for one peer's groups at a time, so the
// peers are not all seen at the same moment.
func (e *Engine) Accounts() []*Account {
	names := e.Set().Peers()
	accounts, byName := make([]*Account, len(names)), make(map[string]*Account, len(names))
	for i, name := range names {
		accounts[i] = &Account{Peer: name, Sizes: Sizes{Quarantined: map[rib.Reason]int{}}}
		byName[name] = accounts[i]
	}
	for _, a := range accounts {
		e.account(a, byName)
	}
	e.forgetTallies(byName)
	return accounts
}

func (e *Engine) account(a *Account, all map[string]*Account) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a.Session = e.peers[a.Peer]
	a.subtractHeld()
	if t := e.tallies[a.Peer]; t != nil {
		a.Tally = *t
		a.Refused = maps.Clone(t.Refused)
	}
	in := e.table.Ins()[a.Peer]
	if in == nil {
		return
	}
	a.Bytes = in.Bytes()
	for _, g := range in.Groups() {
		a.In[g.Family] += g.Len()
		if g.Endpoint == "" {
			a.Quarantined[g.Reason] += g.Len()
		} else {
			a.Accepted[g.Family] += g.Len()
		}
		for _, s := range g.Out {
			if to := all[s.Peer]; to != nil {
				n := g.Count(s)
				to.Out[g.Family] += n
				to.Withheld[g.Family] += g.Len() - n
			}
		}
	}
}

// subtractHeld subtracts the routes that are held back from a peer with a session from its Adj-RIB-Out.
func (a *Account) subtractHeld() {
	if a.Session == nil || a.Session.guard == nil {
		return
	}
	g := a.Session.guard
	a.Held = map[string]int{}
	for r, w := range g.absent {
		a.Out[r.family]--
		a.Held[g.verdictOn(w.digest)]++
	}
}

// forgetTallies forgets the peers that are no longer in the rule set.
func (e *Engine) forgetTallies(present map[string]*Account) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name := range e.tallies {
		if _, stays := e.set.Peer(name); !stays && present[name] == nil && e.peers[name] == nil {
			delete(e.tallies, name)
		}
	}
}

// forgetTally forgets a peer that is no longer in the rule set and has no session, even if nobody asks for the metrics. It
// is called with the lock held.
func (ss *sessions) forgetTally(peer string) {
	if _, stays := ss.set.Peer(peer); !stays && ss.peers[peer] == nil {
		delete(ss.tallies, peer)
	}
}
