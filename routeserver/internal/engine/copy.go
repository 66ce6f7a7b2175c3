package engine

import (
	"maps"
	"slices"

	"weft/routeserver/internal/out"
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// copyStep bounds how much is copied from the table at once, in entries and in routes: a fraction of a millisecond.
const copyStep = 4096

// copyJob is a peer whose routes are to be copied: its Adj-RIB-In and, unless inOnly is set, what others were sent of it.
type copyJob struct {
	peer   string
	inOnly bool
}

// Copy appends the next routes in the table to a feed, and after the last ones the End-of-RIB markers. The reader calls it
// when there is nothing to take and the feed is behind. Changes in the meantime are in the feed as well, in the right
// order.
func (e *Engine) Copy(f *Feed) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(f.routes) == 0 && len(f.groups) == 0 && !e.nextJob(f) {
		f.behind.Store(false)
		return
	}
	for room := copyStep; room > 0 && len(f.routes) > 0; {
		room -= e.copyIn(f)
	}
	for room := copyStep; room > 0 && len(f.routes) == 0 && len(f.groups) > 0; {
		room -= e.copyOut(f)
	}
}

func (lr *locRIB) nextJob(f *Feed) bool {
	if len(f.jobs) == 0 {
		if !f.whole {
			f.whole = true
			lr.mark(f)
		}
		return false
	}
	job := f.jobs[0]
	f.jobs = f.jobs[1:]
	in := lr.table.Ins()[job.peer]
	if in == nil {
		return true
	}
	groups := in.Groups()
	if lr.peers[job.peer] != nil {
		f.routes = make([]*rib.Route, 0, in.Len())
		for _, g := range groups {
			f.routes = append(f.routes, g.Routes()...)
		}
	}
	if !job.inOnly {
		f.groups = groups
	}
	return true
}

// copyIn copies the next routes of one peer with the same attributes, and returns how many it looked at. It copies routes
// that moved to another group as they are now; removed routes have no group.
func (ss *sessions) copyIn(f *Feed) int {
	g, n := f.routes[0].Group, 1
	for n < len(f.routes) && n < copyStep && f.routes[n].Group == g {
		n++
	}
	routes := f.routes[:n]
	f.routes = f.routes[n:]
	if g == nil || ss.peers[g.Peer] == nil {
		return n
	}
	nlris := make([]string, n)
	at := routes[0].Received
	for i, r := range routes {
		nlris[i] = r.NLRI
		if r.Received != at {
			at = 0
		}
	}
	f.append(Entry{
		Kind: RoutesIn, Peer: ss.peers[g.Peer], Batch: out.Announce(g.Family, g.Attributes, wire.Reflection{}, nlris),
		Targets: g.Attributes.RTs, At: at,
	})
	return n
}

// copyOut copies what all recipients were sent of the next group, and returns the number of recipients, at least 1.
func (ss *sessions) copyOut(f *Feed) int {
	g := f.groups[0]
	f.groups = f.groups[1:]
	if g.Len() == 0 || len(g.Out) == 0 {
		return 1
	}
	b := g.Whole(ss.reflection(g.Peer))
	first, last := g.Routes()[0].Received, int64(0)
	for _, r := range g.Routes() {
		first, last = min(first, r.Received), max(last, r.Received)
	}
	for _, s := range g.Out {
		p := ss.peers[s.Peer]
		if p == nil {
			continue
		}
		at := s.At.UnixNano()
		if last > at {
			at = 0
			if first == last {
				at = last
			}
		}
		sent, _ := rib.Part(b.NLRIs, s.Room)
		if p.guard != nil {
			sent, _ = p.split(g, sent)
		}
		if len(sent) > 0 {
			f.append(Entry{Kind: RoutesOut, Peer: p, Batch: part(b, sent), Targets: s.Targets, At: at})
		}
	}
	return len(g.Out)
}

// mark appends End-of-RIB markers: all tables were copied.
func (ss *sessions) mark(f *Feed) {
	at := now().UnixNano()
	for _, name := range slices.Sorted(maps.Keys(ss.peers)) {
		for family := range wire.Families {
			if p := ss.peers[name]; p.Families[family] && family != wire.RTC {
				f.append(Entry{Kind: MarkerIn, Peer: p, Family: family, At: at})
				f.append(Entry{Kind: MarkerOut, Peer: p, Family: family, At: at})
			}
		}
	}
}
