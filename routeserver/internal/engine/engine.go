// Package engine is the route server itself: it judges the routes that peers announce, decides which peers get them with
// which route targets, and applies changes of the rule set as transactions.
//
// Everything happens under one lock, one thing at a time. The work under it is in proportion to the routes and peers
// concerned. Package out encodes and writes outside the lock.
package engine

import (
	"net/netip"
	"sync"
	"time"

	"weft/routeserver/internal/out"
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Config holds the settings that do not change while a route server runs.
type Config struct {
	// MembershipWait is how long a peer that constrains routes may take to say which ones it wants; 0: the default.
	MembershipWait time.Duration
	// ReceiptWait is how long a receipt waits for peers that are behind; 0: the default.
	ReceiptWait time.Duration

	Name      string
	ASN       uint32
	RouterID  [4]byte
	ClusterID [4]byte
	MaxRoutes int           // bound on the routes that one peer may announce; 0: none
	MaxBytes  int           // bound on the memory that one peer's routes may take; 0: none
	LimitHold time.Duration // how long an endpoint over its limit stays in quarantine at least
	StaleTime time.Duration // how long the routes of a peer that restarts are kept at most; 0: not at all

	// Settle is how long after a route was sent a peer may end its session because of it; 0: there is no poison-route
	// guard.
	Settle time.Duration
	// HoldBack is how long a route is held back from a peer that ended its session because of it.
	HoldBack time.Duration

	// LongLived is how long routes of a family are kept at most after the restart time, as the least preferred (RFC 9494);
	// 0: not at all.
	LongLived [wire.Families]time.Duration
}

// Engine is the route server: the lock, the methods for its callers, and timers. The structs below it in this file are
// layers. Each layer knows those above itself, and none below. A decision about a layer's data is a method of the layer.
type Engine struct {
	locRIB

	mu        sync.Mutex
	durations durations
	onChange  func(set *ruleset.Set, peers []string)
}

// inForce is the rule set in force, and how it came into force.
type inForce struct {
	Config
	Events *Log

	set       *ruleset.Set
	loaded    bool      // there is a rule set
	confirmed bool      // since the start, by the controller or by a twin that is in touch with it
	spoken    time.Time // when the controller last said which rule set is in force
	vouched   time.Time // spoken, or when the twin last had the same generation
	store     *ruleset.Store
	trial     *trial // nil: the rule set in force is not on trial
	resumed   bool   // the rule set is from before the start
	past      ruleset.History
	changed   chan struct{} // closed and replaced when loaded or confirmed changes
}

// sessions holds the peers that have a session, and the data that outlive it.
type sessions struct {
	inForce

	peers    map[string]*Peer  // those with an established session
	lost     map[string]*lost  // those whose session was lost and whose routes are kept
	guards   map[string]*guard // of peers that have ended a session because of routes
	tallies  map[string]*Tally
	holds    map[string]*hold // of endpoints over their limit
	deferral *deferral        // nil unless we are restarting
	parted   map[string]bool  // peers that lost access to something since we started, until the restart is over
}

// adjRIBOut is what peers, watchers and feeds are sent.
type adjRIBOut struct {
	sessions

	watchers map[*Watcher]struct{}
	feeds    []*Feed
	counters Counters
}

// locRIB holds the routes: which peers they come from, which are accepted, and which peers are to have them.
type locRIB struct {
	adjRIBOut

	table   *rib.Table
	history *history
}

// Counters are totals since the start.
type Counters struct {
	Updates, Announced, Withdrawn uint64 // received: UPDATEs, then routes
	Malformed, Loops, Ignored     uint64 // UPDATEs treated as withdrawals, UPDATEs with a loop, routes not for us
	Changes, Replacements         uint64
	SentAnnounced, SentWithdrawn  uint64 // handed to queues, in routes
}

// Peer is the engine's side of an established session.
type Peer struct {
	membership *membership // nil: it does not constrain routes

	Name     string
	ID       [4]byte // BGP identifier
	Families [wire.Families]bool
	Queue    *out.Queue
	Since    time.Time
	kept     [wire.Families]*kept // stale routes after its restart, until the End-of-RIB marker
	since    time.Time            // when they became stale
	until    time.Time            // end of the wait for the marker
	patience *time.Timer          // ends the wait
	config   ruleset.Peer
	restart  wire.Restart
	tally    *Tally
	guard    *guard // nil: there is nothing to hold back from it
	extended bool   // it takes extended messages (RFC 8654)
	refresh  bool   // it answers ROUTE-REFRESH (RFC 2918)
	enhanced bool   // and marks the answer's beginning and end (RFC 7313)

	renewed    [wire.Families]map[string]struct{} // keys announced since the peer's enhanced refresh began; nil: there is none
	refreshing [wire.Families]refreshing
	renewals   renewals
	near       [2]bool // it was warned that its routes, or their bytes, come near to a bound

	Opening Opening // does not change
	Ending  Ending  // must be set before Down and Lose
}

// Config returns the peer as it was in the rule set when its session began.
func (p *Peer) Config() ruleset.Peer { return p.config }

// New makes an engine with a store and loads the rule set from it. The engine calls onChange with every new rule set and
// the peers whose sessions it concerns.
func New(c Config, store *ruleset.Store, onChange func(set *ruleset.Set, peers []string)) (*Engine, error) {
	e := &Engine{onChange: onChange}
	e.Config, e.Events, e.set, e.store, e.changed = c, NewLog(), ruleset.Empty(), store, make(chan struct{})
	e.peers, e.lost, e.guards = map[string]*Peer{}, map[string]*lost{}, map[string]*guard{}
	e.tallies, e.holds, e.watchers = map[string]*Tally{}, map[string]*hold{}, map[*Watcher]struct{}{}
	e.table, e.history = rib.NewTable(), newHistory()
	set, err := store.Load()
	if err != nil {
		return nil, err
	}
	if set != nil {
		e.set, e.loaded, e.resumed = set, true, true
		e.limits(set.Endpoints())
		if err := e.loadTrial(); err != nil {
			return nil, err
		}
		e.past.Add(e.set)
	}
	return e, nil
}

// Generation returns the generation of the rule set in force, whether there is one, and whether the controller has
// confirmed it.
func (e *Engine) Generation() (generation uint64, loaded, confirmed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.set.Generation, e.loaded, e.confirmed
}

// Changed returns a channel that is closed when the results of Generation change.
func (e *Engine) Changed() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changed
}

func (fo *inForce) signal() {
	close(fo.changed)
	fo.changed = make(chan struct{})
}

// Set returns the rule set in force.
func (e *Engine) Set() *ruleset.Set {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.set
}

// PeerAt returns the peer whose sessions come from an address.
func (e *Engine) PeerAt(address netip.Addr) (ruleset.Peer, bool) { return e.Set().PeerAt(address) }

// Counters returns the totals since the start.
func (e *Engine) Counters() Counters {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.counters
}

// reflection returns what we add to the routes of a peer that has a session, or had one and is expected back.
func (ss *sessions) reflection(peer string) wire.Reflection {
	r := wire.Reflection{ASN: ss.ASN}
	config, id := ruleset.Peer{}, [4]byte{}
	if p := ss.peers[peer]; p != nil {
		config, id = p.config, p.ID
	} else if l := ss.lost[peer]; l != nil {
		config, id = l.config, l.id
	}
	if config.ASN == ss.ASN {
		r.Originator, r.Cluster = string(id[:]), string(ss.ClusterID[:])
	}
	return r
}
