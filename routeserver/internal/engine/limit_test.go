package engine

import (
	"strings"
	"testing"
	"time"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// limited returns an engine with a pool of three sites, and the sessions of its two PEs. The first PE has a site with a
// limit of two routes and another site; the second PE gets the routes of both.
func limited(t *testing.T) (*Engine, *Peer, *Peer) {
	e := trialEngine(t, t.TempDir())
	e.ReceiptWait = time.Millisecond
	d := pool(1, "e0", "e1", "e2")
	d.Endpoints[1].Peer = d.Endpoints[0].Peer
	d.Endpoints[0].MaxRoutes = 2
	if _, err := e.Replace(d, false); err != nil {
		t.Fatal(err)
	}
	up := func(name string) *Peer {
		peer, _ := e.Set().Peer(name)
		return e.Up(peer, [4]byte{10, 0, 0, name[2]}, [wire.Families]bool{true, true})
	}
	return e, up(d.Endpoints[0].Peer), up(d.Endpoints[2].Peer)
}

// says sends an UPDATE with VPLS routes of a site, by number.
func says(t *testing.T, e *Engine, p *Peer, site byte, announced, withdrawn string) {
	t.Helper()
	nlris := func(numbers string) (list []string) {
		for _, n := range []byte(numbers) {
			list = append(list, "\x00\x11\x00\x00\xfd\xe8\x00\x00\x00"+string(site)+"\x00"+string(n)+"\x00\x01\x00\x08\x40\x01\x00")
		}
		return list
	}
	u := &wire.Update{Reach: nlris(announced), Unreach: nlris(withdrawn), Attributes: &wire.Attributes{
		NextHop: "\x0a\x00\x00\x01", RTs: "\x00\x02\xfd\xe8\x00\x00\x00" + string(site), Path: "\x40\x01\x01\x00\x40\x02\x00\x40\x05\x04\x00\x00\x00\x64",
	}}
	if err := e.Update(p, u); err != nil {
		t.Fatal(err)
	}
}

// holds counts the routes of a site that a peer is sent.
func holds(e *Engine, peer, site string) (n int) {
	for g := range e.table.Endpoint(site) {
		if _, sent := g.SentTo(peer); sent {
			n += g.Len()
		}
	}
	return n
}

func TestAnEndpointWithTooManyRoutesHasNone(t *testing.T) {
	e, p, other := limited(t)
	expect := func(when string, first, second int) {
		t.Helper()
		if a, b := holds(e, other.Name, "e0"), holds(e, other.Name, "e1"); a != first || b != second {
			t.Fatalf("%s: %d and %d routes are sent, not %d and %d", when, a, b, first, second)
		}
	}
	says(t, e, p, 1, "ab", "")
	says(t, e, p, 2, "abc", "")
	expect("at the limit", 2, 3)
	says(t, e, p, 1, "c", "")
	expect("beyond the limit", 0, 3)
	if n := e.table.In(p.Name).Quarantined(); n != 3 {
		t.Errorf("%d routes are in quarantine", n)
	}
	says(t, e, p, 1, "d", "")
	says(t, e, p, 1, "", "ab")
	expect("at the limit again", 2, 3)
	var texts []string
	events, _ := e.Events.After(0)
	for _, event := range events {
		if event.Kind == "limit" {
			texts = append(texts, event.Text)
		}
	}
	if len(texts) != 2 || !strings.Contains(texts[0], "more than its limit of 2") || !strings.Contains(texts[1], "accepted again") {
		t.Errorf("events: %q", texts)
	}
}

// TestALimitedEndpointDoesNotBlink changes another endpoint, which judges the routes in quarantine again. Meanwhile nobody
// must be sent routes of the limited endpoint.
func TestALimitedEndpointDoesNotBlink(t *testing.T) {
	e, p, other := limited(t)
	says(t, e, p, 1, "abc", "")
	for other.Queue.Backlog() > 0 {
		taken, _ := other.Queue.Take(false)
		other.Queue.Written(taken)
	}
	moved := e.Set().Site("e1").Endpoint
	moved.RD = "65000:77"
	change := &ruleset.Change{Base: 1, Generation: 2, Ops: []ruleset.Operation{{Op: ruleset.SetEndpoint, Endpoint: &moved}}}
	receipt, err := e.Change(change)
	if err != nil {
		t.Fatal(err)
	}
	if receipt.Announced+receipt.Withdrawn > 0 || other.Queue.Backlog() > 0 {
		t.Errorf("something was sent: %+v", receipt)
	}
	raised := e.Set().Site("e0").Endpoint
	raised.MaxRoutes = 3
	if receipt, err = e.Change(&ruleset.Change{Base: 2, Generation: 3, Ops: []ruleset.Operation{{Op: ruleset.SetEndpoint, Endpoint: &raised}}}); err != nil {
		t.Fatal(err)
	}
	if receipt.Announced != 6 || // to the other PE, and to its own PE for the other site
		holds(e, other.Name, "e0") != 3 {
		t.Errorf("with a higher limit: %+v", receipt)
	}
}

// TestRoutesThatComeAndGoAroundTheLimitTakeTheOthersAlongOnce has one route come and go around the limit. That takes all
// routes of its endpoint from the other PE once, not each time. They are back when the hold is over and the endpoint is
// within its limit.
func TestRoutesThatComeAndGoAroundTheLimitTakeTheOthersAlongOnce(t *testing.T) {
	e, p, other := limited(t)
	e.LimitHold = time.Minute
	expire := func() { // as the timer does
		e.mu.Lock()
		h := e.holds["e0"]
		e.mu.Unlock()
		if h == nil || !h.timer.Stop() {
			t.Fatal("there is no hold")
		}
		h.over()
	}
	says(t, e, p, 1, "ab", "")
	before := e.Counters()
	for range 500 {
		says(t, e, p, 1, "c", "")
		says(t, e, p, 1, "", "c")
	}
	after := e.Counters()
	if sent := after.SentAnnounced + after.SentWithdrawn - before.SentAnnounced - before.SentWithdrawn; sent > 10 {
		t.Errorf("500 times to and fro: %d routes were announced or withdrawn", sent)
	}
	if n := holds(e, other.Name, "e0"); n != 0 {
		t.Errorf("%d routes are sent during the hold", n)
	}
	if events, _ := e.Events.After(0); len(events) > 10 {
		t.Errorf("%d events", len(events))
	}
	expire()
	if n := holds(e, other.Name, "e0"); n != 2 {
		t.Errorf("%d routes are sent after the hold", n)
	}
	says(t, e, p, 1, "c", "")
	expire()
	if n := holds(e, other.Name, "e0"); n != 0 {
		t.Errorf("%d routes are sent after the hold of an endpoint that is over its limit still", n)
	}
	says(t, e, p, 1, "", "c")
	if n := holds(e, other.Name, "e0"); n != 2 {
		t.Errorf("%d routes are sent when it is not any more", n)
	}
	says(t, e, p, 1, "c", "")
	raised := e.Set().Site("e0").Endpoint
	raised.MaxRoutes = 3
	if _, err := e.Change(&ruleset.Change{Base: 1, Generation: 2, Ops: []ruleset.Operation{{Op: ruleset.SetEndpoint, Endpoint: &raised}}}); err != nil {
		t.Fatal(err)
	}
	if n := holds(e, other.Name, "e0"); n != 3 || len(e.holds) > 0 {
		t.Errorf("with a higher limit, %d routes are sent, and %d holds are left", n, len(e.holds))
	}
}

// TestAnEndpointIsReadmittedAtNineTenthsOfItsLimit checks a limit of twenty: the endpoint is readmitted with eighteen
// routes.
func TestAnEndpointIsReadmittedAtNineTenthsOfItsLimit(t *testing.T) {
	e, p, other := limited(t)
	raised := e.Set().Site("e0").Endpoint
	raised.MaxRoutes = 20
	if _, err := e.Change(&ruleset.Change{Base: 1, Generation: 2, Ops: []ruleset.Operation{{Op: ruleset.SetEndpoint, Endpoint: &raised}}}); err != nil {
		t.Fatal(err)
	}
	says(t, e, p, 1, "abcdefghijklmnopqrstu", "")
	for _, c := range []struct {
		gone string
		sent int
	}{{"a", 0}, {"b", 0}, {"c", 18}} {
		if says(t, e, p, 1, "", c.gone); holds(e, other.Name, "e0") != c.sent {
			t.Errorf("after %q is withdrawn, %d routes are sent, not %d", c.gone, holds(e, other.Name, "e0"), c.sent)
		}
	}
}
