package session_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/session"
	"weft/routeserver/internal/wire"
)

// delicate is a PE that comes back whenever its session is over, and ends it at routes that it does not accept.
type delicate struct {
	t     *testing.T
	r     *region
	bears func(u *bgp.BGPUpdate) bool
	how   func(p *petest.PE)

	mu       sync.Mutex
	sessions int
	pe       *petest.PE
}

// refuses ends a session by RFC 4271 section 6.3, without data.
func refuses(p *petest.PE) {
	data, _ := bgp.NewBGPNotificationMessage(wire.UpdateError, wire.InvalidNetwork, nil).Serialize()
	_, _ = p.Conn.Write(data)
	p.Conn.Close()
}

// breaks ends a session without a NOTIFICATION.
func breaks(p *petest.PE) { p.Conn.Close() }

func live(t *testing.T, r *region, bears func(u *bgp.BGPUpdate) bool, how func(p *petest.PE)) *delicate {
	d := &delicate{t: t, r: r, bears: bears, how: how}
	over := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			p := d.come()
			for ok := true; ok; {
				select {
				case <-over:
					return
				case <-time.After(time.Millisecond):
				}
				d.mu.Lock()
				bears := d.bears
				d.mu.Unlock()
				for _, u := range p.Updates() {
					ok = ok && bears(u)
				}
				if !ok {
					d.how(p)
				}
				ok = ok && !p.Over()
			}
		}
	}()
	t.Cleanup(func() { close(over); <-done })
	return d
}

func (d *delicate) come() *petest.PE {
	for d.r.server.States()["b"].State == session.Established {
		time.Sleep(time.Millisecond) // the route server has not noticed the end of the last session yet
	}
	p := petest.Connect(d.t, petest.Options{Local: "127.0.78.12", Remote: d.r.remote})
	p.Handshake()
	p.Run()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions, d.pe = d.sessions+1, p
	return p
}

// settles waits until the PE has exactly these routes, and returns its number of sessions.
func (d *delicate) settles(want map[string]string) int {
	d.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		d.mu.Lock()
		p, sessions := d.pe, d.sessions
		d.mu.Unlock()
		if p != nil && maps.Equal(p.Routes(), want) && d.r.quiet() {
			return sessions
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("after %d sessions it has %v; held back: %+v", sessions, p.Routes(), d.r.Held("b"))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// quiet reports whether no route is suspected.
func (r *region) quiet() bool {
	for _, h := range r.Held("").Routes {
		if h.Verdict == engine.Suspected {
			return false
		}
	}
	return true
}

func vpls(t *testing.T, n int) bgp.NLRI { return petest.VPLS(t, "65000:1", uint16(n), 1, 64, 4097) }

// without returns a condition: no route of an UPDATE is one of these.
func without(poisons ...bgp.NLRI) func(*bgp.BGPUpdate) bool {
	return func(u *bgp.BGPUpdate) bool {
		for _, a := range u.PathAttributes {
			if reach, ok := a.(*bgp.PathAttributeMpReachNLRI); ok {
				for _, n := range reach.Value {
					for _, p := range poisons {
						if n.NLRI.String() == p.String() {
							return false
						}
					}
				}
			}
		}
		return true
	}
}

func guarded(c *engine.Config) {
	c.Settle, c.HoldBack = guardSettle, time.Hour
}

const guardSettle = 150 * time.Millisecond

func (r *region) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s; %d routes are held back", what, len(r.Held("").Routes))
		}
	}
}

func (r *region) events(kind string) (texts []string) {
	events, _ := r.Events.After(0)
	for _, e := range events {
		if e.Kind == kind {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// TestAPoisonRouteCostsOneSession checks that a poison that comes alone, or last, is found by the one session that a PE
// ends for it. All other routes still go to that PE, and the poison to all others.
func TestAPoisonRouteCostsOneSession(t *testing.T) {
	r := start(t, session.Config{}, guarded)
	a := r.dial(t, "11")
	poison := vpls(t, 9)
	d := live(t, r, without(poison), refuses)
	want := map[string]string{}
	for n := range 4 {
		a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{vpls(t, n+1)}, []string{"65000:1"}))
		want[vpls(t, n+1).String()] = "65000:2"
	}
	d.settles(want)
	time.Sleep(2 * guardSettle)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{poison}, []string{"65000:1"}))
	r.await(t, "a verdict", func() bool { return len(r.Held("b").Routes) == 1 && r.quiet() })
	if n := d.settles(want); n != 2 {
		t.Errorf("%d sessions for one poison", n)
	}
	h := r.Held("b").Routes[0]
	if h.Text() != "65000:1:9:1" || h.Verdict != engine.Poison || h.Announcer != "a" || h.Endpoint != "lan-a" || !strings.Contains(h.Why, "UPDATE error") {
		t.Errorf("held back: %+v", h)
	}
	if texts := r.events("poison-route"); len(texts) != 1 || !strings.Contains(texts[0], "65000:1:9:1 of") || !strings.Contains(texts[0], "announced by a") {
		t.Errorf("events %v", texts)
	}

	// The same route again is the same poison; with other attributes it is another route.
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{poison}, []string{"65000:1"}))
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{vpls(t, 10)}, []string{"65000:1"}))
	want[vpls(t, 10).String()] = "65000:2"
	if n := d.settles(want); n != 2 {
		t.Errorf("%d sessions after the same announcement", n)
	}
	d.mu.Lock()
	d.bears = func(*bgp.BGPUpdate) bool { return true }
	d.mu.Unlock()
	med := bgp.NewPathAttributeMultiExitDisc(7)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{poison}, []string{"65000:1"}, med))
	want[poison.String()] = "65000:2"
	d.settles(want)

	// It is withdrawn when the poison takes its place again, and sent when an operator releases it.
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{poison}, []string{"65000:1"}))
	delete(want, poison.String())
	d.settles(want)
	held := r.Held("b").Routes
	if len(held) != 1 || strings.Contains(held[0].Text(), "(") {
		t.Fatalf("held back: %+v", held)
	}
	if routes, _ := r.Release("b", held[0].Text()[:len(held[0].Text())-1]); routes != 0 {
		t.Errorf("a part of a name releases %d routes", routes)
	}
	if routes, _ := r.Release("b", held[0].Text()); routes != 1 {
		t.Errorf("%d routes were released by the name that is shown", routes)
	}
	want[poison.String()] = "65000:2"
	if n := d.settles(want); n != 2 || len(r.Held("").Routes) > 0 {
		t.Errorf("%d sessions, held back %+v", n, r.Held(""))
	}
}

// TestPoisonsAmongMany checks that a PE that comes to a region with poisons gets all other routes in the end, at the
// cost of few sessions.
func TestPoisonsAmongMany(t *testing.T) {
	for _, how := range []struct {
		name string
		end  func(*petest.PE)
	}{{"refused", refuses}, {"broken", breaks}} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			address := map[string]string{"refused": "127.0.79.1", "broken": "127.0.80.1"}[how.name]
			r := start(t, session.Config{Listen: freePort(t, address)}, guarded)
			a := r.dial(t, "11")
			want := map[string]string{}
			var all []bgp.NLRI
			for n := range 40 {
				all = append(all, vpls(t, n+1))
				want[vpls(t, n+1).String()] = "65000:2"
			}
			a.Send(petest.Announcement(t, bgp.RF_VPLS, all[:30], []string{"65000:1"}))
			a.Send(petest.Announcement(t, bgp.RF_VPLS, all[30:], []string{"65000:1"}, bgp.NewPathAttributeMultiExitDisc(7)))
			poisons := []bgp.NLRI{all[3], all[33]}
			for _, p := range poisons {
				delete(want, p.String())
			}
			d := live(t, r, without(poisons...), how.end)
			r.await(t, "the verdicts", func() bool { return len(r.Held("b").Routes) == 2 && r.quiet() })
			n := d.settles(want)
			if most := 2 + 1 + 2*7; n > most {
				t.Errorf("%d sessions for 2 poisons among 40 routes, more than %d", n, most)
			}
			t.Logf("%d sessions", n)
		})
	}
}

// TestAPEThatDoesNotBearSeveralRoutesInAMessage checks that such a PE gets each route in its own message, and all of them.
func TestAPEThatDoesNotBearSeveralRoutesInAMessage(t *testing.T) {
	r := start(t, session.Config{}, guarded)
	a := r.dial(t, "11")
	single := func(u *bgp.BGPUpdate) bool {
		for _, a := range u.PathAttributes {
			if reach, ok := a.(*bgp.PathAttributeMpReachNLRI); ok && len(reach.Value) > 1 {
				return false
			}
		}
		return true
	}
	d := live(t, r, single, refuses)
	want := map[string]string{}
	var all []bgp.NLRI
	for n := range 5 {
		all = append(all, vpls(t, n+1))
		want[vpls(t, n+1).String()] = "65000:2"
	}
	a.Send(petest.Announcement(t, bgp.RF_VPLS, all, []string{"65000:1"}))
	r.await(t, "the families", func() bool { return len(r.Held("b").Apart) == 1 })
	if n := d.settles(want); n != 2 {
		t.Errorf("%d sessions", n)
	}
	a.Send(petest.Announcement(t, bgp.RF_VPLS, all, []string{"65000:1"}, bgp.NewPathAttributeMultiExitDisc(7)))
	time.Sleep(2 * guardSettle)
	if n := d.settles(want); n != 2 {
		t.Errorf("%d sessions after another announcement", n)
	}
}

// TestAnotherEndIsNoVerdict checks that a PE that ends its session for a reason unrelated to routes gets all routes
// when it is back.
func TestAnotherEndIsNoVerdict(t *testing.T) {
	r := start(t, session.Config{}, guarded)
	a, b := r.dial(t, "11"), r.dial(t, "12")
	n := vpls(t, 1)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
	for range 3 {
		b.Has(map[string]string{n.String(): "65000:2"})
		b.Send(bgp.NewBGPNotificationMessage(wire.Cease, wire.AdminReset, nil))
		b.Conn.Close()
		r.await(t, "the end", func() bool { return r.server.States()["b"].State != session.Established })
		b = r.dial(t, "12")
	}
	b.Has(map[string]string{n.String(): "65000:2"})
	b.Conn.Close() // once without a NOTIFICATION
	r.await(t, "the end", func() bool { return r.server.States()["b"].State != session.Established })
	r.dial(t, "12").Has(map[string]string{n.String(): "65000:2"})
	if h := r.Held(""); len(h.Routes) > 0 {
		t.Errorf("held back: %+v", h)
	}
}

// TestOneAnnouncerCannotEndSessionsForEver checks that after too many poisons of one PE, all its routes are held back
// for a time from the PE that does not accept them.
func TestOneAnnouncerCannotEndSessionsForEver(t *testing.T) {
	r := start(t, session.Config{}, guarded)
	a := r.dial(t, "11")
	poison := vpls(t, 9)
	d := live(t, r, without(poison), refuses)
	d.settles(map[string]string{})
	for version := range 30 {
		a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{poison}, []string{"65000:1"}, bgp.NewPathAttributeMultiExitDisc(uint32(version))))
		time.Sleep(50 * time.Millisecond)
	}
	r.await(t, "the bar", func() bool { return len(r.Held("b").Sources) == 1 })
	if n := d.settles(map[string]string{}); n > 9 {
		t.Errorf("%d sessions", n)
	}
	x := fmt.Sprint(r.events("poison-source"))
	if !strings.Contains(x, "all routes of a are held back from b") {
		t.Errorf("events %s", x)
	}
}
