package engine

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"weft/routeserver/internal/out"
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// Kinds of entries in a feed.
const (
	SessionUp   = iota
	SessionDown // also ends all routes from the peer and to it
	RoutesIn    // a peer's Adj-RIB-In, as the peer announced it, accepted or not
	RoutesOut   // a peer's Adj-RIB-Out, as the peer is sent it
	MarkerIn    // End-of-RIB
	MarkerOut
)

// feedLimit bounds what waits for one reader: it counts entries, eighths of routes and half kilobytes of attributes. It is
// some 60 MB at worst.
const feedLimit = 1 << 17

// Opening is how a session was opened.
type Opening struct {
	Local, Remote  netip.AddrPort
	Sent, Received []byte // the whole OPEN messages

	// Unread returns how many of the written bytes the peer's host has not acknowledged; nil: that is not known.
	Unread func() int
}

// Ending is how a session ended: with a NOTIFICATION or without one. Local says that we ended it.
type Ending struct {
	Notification *wire.Notification
	Local        bool
}

// Entry is one event in a feed. Batch holds routes; if it has no attributes, they are withdrawn. Targets are the route
// targets of an announcement. At is in Unix nanoseconds; 0 if the routes have different times.
type Entry struct {
	Kind    uint8
	Family  wire.Family // of a marker
	Peer    *Peer       // the announcing peer or the recipient
	Batch   *out.Batch
	Targets string
	At      int64
	Ending  *Ending
	weight  int
}

// Feed reports everything that happens to sessions and routes to a reader that keeps a copy of all tables. A reader that
// does not keep up is cut off. It blocks nobody, and begins again with a new feed.
type Feed struct {
	mu      sync.Mutex
	entries []Entry
	weight  int
	wake    chan struct{}
	cut     chan struct{}

	behind atomic.Bool // something is to be copied

	// Fields of the engine, under its lock: the last batch, and what is still to be copied from the table.
	jobs   []copyJob
	last   *out.Batch
	routes []*rib.Route
	groups []*rib.Group
	whole  bool // the table was copied once
}

// Feed begins a feed with the sessions that are up. Copy then adds the routes in the table.
func (e *Engine) Feed() *Feed {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := &Feed{wake: make(chan struct{}, 1), cut: make(chan struct{})}
	for _, name := range slices.Sorted(maps.Keys(e.peers)) {
		p := e.peers[name]
		f.append(Entry{Kind: SessionUp, Peer: p, At: p.Since.UnixNano()})
	}
	for _, name := range slices.Sorted(maps.Keys(e.table.Ins())) {
		f.jobs = append(f.jobs, copyJob{peer: name})
	}
	f.behind.Store(true)
	e.feeds = append(e.feeds, f)
	return f
}

// Unfeed ends a feed.
func (e *Engine) Unfeed(f *Feed) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.feeds = slices.DeleteFunc(slices.Clone(e.feeds), func(other *Feed) bool { return other == f })
}

// Wake returns a channel that signals that there is something to take.
func (f *Feed) Wake() <-chan struct{} { return f.wake }

// Cut returns a channel that is closed when the reader was too slow.
func (f *Feed) Cut() <-chan struct{} { return f.cut }

// Behind reports whether something is to be copied.
func (f *Feed) Behind() bool { return f.behind.Load() }

// takeEntries bounds how many entries are taken at once, since entries no longer count against feedLimit then.
const takeEntries = 1024

// Take takes the next entries that wait; it returns none if none wait.
func (f *Feed) Take() []Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(f.entries), takeEntries)
	taken := f.entries[:n:n]
	if f.entries = f.entries[n:]; len(f.entries) == 0 {
		f.entries = nil
	}
	for i := range taken {
		f.weight -= taken[i].weight
	}
	return taken
}

// Len returns the number of entries that wait.
func (f *Feed) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.entries)
}

// add appends an event. Routes that several recipients get are in memory once.
func (f *Feed) add(entry Entry) {
	entry.weight = 1
	if b := entry.Batch; b != nil && b != f.last {
		entry.weight += len(b.NLRIs) / 8
		if a := b.Attributes; a != nil && (f.last == nil || a != f.last.Attributes) {
			entry.weight += a.Bytes() / 512
		}
		f.last = b
	}
	f.append(entry)
}

// append appends an entry with its weight. Entries that are copied from the table have no weight, since the reader asks for
// them.
func (f *Feed) append(entry Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.weight > feedLimit {
		return // cut off
	}
	f.weight += entry.weight
	if f.weight > feedLimit {
		f.entries = nil
		close(f.cut)
		return
	}
	f.entries = append(f.entries, entry)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// feed passes an entry to all feeds. Without feeds it costs nothing.
func (ao *adjRIBOut) feed(entry Entry) {
	if len(ao.feeds) == 0 {
		return
	}
	if entry.At == 0 {
		entry.At = now().UnixNano()
	}
	for _, f := range ao.feeds {
		f.add(entry)
	}
}

// feedUp reports a new session. Routes that were kept while the peer was away are its Adj-RIB-In again.
func (lr *locRIB) feedUp(p *Peer) {
	lr.feed(Entry{Kind: SessionUp, Peer: p, At: p.Since.UnixNano()})
	if in := lr.table.Ins()[p.Name]; in == nil || in.Len() == 0 {
		return
	}
	for _, f := range lr.feeds {
		f.jobs = append(f.jobs, copyJob{p.Name, true})
		f.behind.Store(true)
	}
}

// feedIn reports the routes that a peer with a session announced or, without attributes, those that are gone.
func (ao *adjRIBOut) feedIn(peer string, f wire.Family, a *wire.Attributes, nlris []string) {
	p := ao.peers[peer]
	if p == nil {
		return
	}
	if a == nil {
		ao.feed(Entry{Kind: RoutesIn, Peer: p, Batch: out.Withdraw(f, nlris)})
	} else {
		ao.feed(Entry{Kind: RoutesIn, Peer: p, Batch: out.Announce(f, a, wire.Reflection{}, nlris), Targets: a.RTs})
	}
}
