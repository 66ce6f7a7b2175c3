package engine

import (
	"testing"

	"weft/routeserver/internal/wire"
)

// taken takes everything that waits for a peer, as its session does. It returns the number of ROUTE-REFRESH messages of a
// kind, and of announced routes.
func taken(p *Peer, kind byte) (markers, routes int) {
	for {
		t, more := p.Queue.Take(true)
		if !more {
			return markers, routes
		}
		routes += t.Announced
		for _, m := range t.Buffers {
			if len(m) > wire.HeaderLength && m[18] == wire.TypeRefresh && m[21] == kind {
				markers++
			}
		}
		p.Queue.Written(t)
	}
}

// TestRequestsThatAPEDoesNotReadTheAnswersOfAreCollapsed has a PE ask for everything again and again while it takes
// nothing. One answer must wait for it, and one more follow for what it asked after that had begun (RFC 7313).
func TestRequestsThatAPEDoesNotReadTheAnswersOfAreCollapsed(t *testing.T) {
	e, p, other := limited(t)
	says(t, e, p, 2, "abc", "")
	taken(other, wire.RefreshBegin)
	for range 4000 {
		e.Refresh(other, wire.VPLS, wire.RefreshRequest, true)
	}
	if n := other.Queue.Backlog(); n != 3 {
		t.Errorf("%d routes wait for one who has three and asked 4000 times", n)
	}
	if begun, routes := taken(other, wire.RefreshBegin); begun != 2 || routes != 6 {
		t.Errorf("%d refreshes with %d routes followed, not the one that was asked for first and one for all others, with 6", begun, routes)
	}
	e.Refresh(other, wire.VPLS, wire.RefreshRequest, true)
	if begun, routes := taken(other, wire.RefreshEnd); begun != 1 || routes != 3 {
		t.Errorf("afterwards, %d refreshes with %d routes", begun, routes)
	}
}

// TestRequestsForRouteTargetsAreCollapsed checks the same for the route server's own route target request (RFC 4684). That
// is short, but is a message each time.
func TestRequestsForRouteTargetsAreCollapsed(t *testing.T) {
	e, _, other := limited(t)
	peer := other.Config()
	e.Down(other, "it is to constrain routes")
	p := e.Up(peer, [4]byte{10, 0, 0, 9}, [wire.Families]bool{wire.VPLS: true, wire.RTC: true})
	taken(p, wire.RefreshBegin)
	for range 4000 {
		e.Refresh(p, wire.RTC, wire.RefreshRequest, true)
	}
	if begun, _ := taken(p, wire.RefreshBegin); begun != 2 {
		t.Errorf("%d refreshes followed", begun)
	}
}

// TestARefreshThatBeginsAgainBeginsAnew has a PE begin its refresh a thousand times, which must be like once: the routes
// that it does not announce again go at the end.
func TestARefreshThatBeginsAgainBeginsAnew(t *testing.T) {
	e, p, other := limited(t)
	says(t, e, p, 2, "abc", "")
	for range 1000 {
		e.Refresh(p, wire.VPLS, wire.RefreshBegin, true)
		says(t, e, p, 2, "a", "")
	}
	e.Refresh(p, wire.VPLS, wire.RefreshBegin, true)
	says(t, e, p, 2, "bd", "")
	e.Refresh(p, wire.VPLS, wire.RefreshEnd, true)
	e.Refresh(p, wire.VPLS, wire.RefreshEnd, true) // of no refresh
	if n := holds(e, other.Name, "e1"); n != 2 {
		t.Errorf("%d routes are left, not those two that were said since the last beginning", n)
	}
}
