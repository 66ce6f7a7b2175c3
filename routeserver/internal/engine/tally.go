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

// Sizes counts the routes in a peer's tables. Out has no routes that are held back.
type Sizes struct {
	rib.Counts
	Bytes int            // memory that its routes take
	Stale Staleness      // of its routes
	Held  map[string]int // routes that it is not sent, by the guard's verdict
}

// Account is the counts of a peer of the rule set.
type Account struct {
	Peer string
	Tally
	Sizes
	Session *Peer // nil: none is established
}

// Accounts counts all peers of the rule set, sorted by name. The peers are not all seen at the same moment.
func (e *Engine) Accounts() []*Account {
	names := e.Set().Peers()
	accounts, byName := make([]*Account, len(names)), make(map[string]*Account, len(names))
	for i, name := range names {
		accounts[i] = e.Account(name)
		byName[name] = accounts[i]
	}
	e.forgetTallies(byName)
	return accounts
}

// Account counts one peer. It walks through no routes but those that the poison-route guard holds back from the peer.
func (e *Engine) Account(peer string) *Account {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := &Account{Peer: peer, Sizes: Sizes{Counts: e.table.Counts(peer), Stale: e.staleOf(peer)}, Session: e.peers[peer]}
	if t := e.tallies[peer]; t != nil {
		a.Tally = *t
		a.Refused = maps.Clone(t.Refused)
	}
	if in := e.table.Ins()[peer]; in != nil {
		a.Bytes = in.Bytes()
	}
	if a.Session != nil && a.Session.guard != nil {
		a.subtractHeld(a.Session.guard)
	}
	return a
}

// subtractHeld subtracts the routes that are held back from a peer with a session from its Adj-RIB-Out.
func (a *Account) subtractHeld(g *guard) {
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
