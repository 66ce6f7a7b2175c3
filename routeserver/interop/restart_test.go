package interop

import (
	"maps"
	"slices"
	"testing"
	"time"

	"weft/routeserver/internal/wire"
)

const restartTime = 30 // seconds for which PEs ask the route server to keep their routes

// TestGracefulRestart kills a PE's daemon and starts it again, and then the route server. In the families for which the
// daemon has graceful restart no PE notices; a route that does not come back goes. In its other families all routes go
// at once, and are back with the session.
func TestGracefulRestart(t *testing.T) {
	for _, s := range speakers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.here(t)
			r := newRegion(t, []*speaker{s, gobgp}, "--restart-time", "30s", "--confirm-wait", "100ms")
			at := r.seat(s)
			at.restarts = true
			m := r.add(s, at)
			at = r.seat(gobgp)
			at.restarts = true
			witness := r.add(gobgp, at)
			lost := route{wire.VPNv4, m.site(wire.VPNv4), 2} // it will not come back
			m.announce(lost)
			for _, f := range s.learns {
				want := r.wanted(witness, f)
				if f == lost.family {
					want.add(witness.site(f), lost)
				}
				r.learns(t, witness, f, want)
				r.learns(t, m, f, r.wanted(m, f))
			}
			t.Run("PE", func(t *testing.T) { r.restartPE(t, m, witness, lost) })
			t.Run("route server", func(t *testing.T) { r.restartServer(t, m, witness) })
		})
	}
}

// restartPE restarts a PE, which loses one of its routes for good.
func (r *region) restartPE(t *testing.T, m, witness member, lost route) {
	before := map[wire.Family]table{}
	for _, f := range m.graceful {
		before[f] = witness.learned(f)
	}
	m.kill()
	until(t, "stale routes", func() bool { n, _ := r.stale(); return n > 0 })
	for _, f := range m.speaker.learns {
		if before[f] == nil {
			r.learns(t, witness, f, table{})
		}
	}
	for f, want := range before {
		r.keeps(t, witness, f, want, 100*time.Millisecond)
	}
	m.withdraw(lost)
	m.restart()
	delete(before[lost.family], lost.String())
	until(t, "nothing stale", func() bool {
		for f, want := range before {
			have := witness.learned(f)
			if f == lost.family {
				delete(have, lost.String())
			}
			if !maps.Equal(have, want) {
				t.Fatalf("%s: %s, not %s", f, have, want)
			}
		}
		n, _ := r.stale()
		return n == 0 && r.established() == 2
	})
	for _, f := range m.speaker.learns {
		r.learns(t, witness, f, r.wanted(witness, f))
		r.learns(t, m, f, r.wanted(m, f))
	}
}

// restartServer restarts the route server before the witness is back: End-of-RIB has to wait for the missing routes.
func (r *region) restartServer(t *testing.T, m, witness member) {
	keep := func(one member, d time.Duration) {
		for _, f := range one.helps {
			if m.has(f) {
				r.keeps(t, one, f, r.wanted(one, f), d)
			}
		}
	}
	witness.daemon().freeze()
	r.server.kill()
	keep(m, 50*time.Millisecond)
	for _, f := range m.speaker.learns {
		if !slices.Contains(m.helps, f) {
			r.learns(t, m, f, table{})
		}
	}
	r.startServer()
	until(t, "the route server", func() bool { return r.call("GET", "/v1/status", nil, &struct{}{}) == nil })
	until(t, "the session", func() bool { return r.established() == 1 })
	keep(m, 50*time.Millisecond)
	if _, restarting := r.stale(); !restarting {
		t.Error("the route server does not wait for all PEs")
	}
	witness.daemon().thaw()
	until(t, "the end of the restart", func() bool {
		keep(m, 0)
		keep(witness, 0)
		_, restarting := r.stale()
		return !restarting && r.established() == 2
	})
	keep(m, 50*time.Millisecond)
	keep(witness, 50*time.Millisecond)
	for _, f := range m.speaker.learns {
		r.learns(t, m, f, r.wanted(m, f))
		r.learns(t, witness, f, r.wanted(witness, f))
	}
}

// TestPEDoesNotComeBack checks that the routes of such a PE go when their time is over, and not before.
func TestPEDoesNotComeBack(t *testing.T) {
	t.Parallel()
	r := newRegion(t, []*speaker{gobgp, gobgp}, "--stale-time", "4s")
	for range 2 {
		at := r.seat(gobgp)
		at.families, at.restarts = []wire.Family{wire.VPLS}, true
		r.add(gobgp, at)
	}
	one, two := r.members[0], r.members[1]
	r.learns(t, two, wire.VPLS, r.wanted(two, wire.VPLS))
	killed := time.Now()
	one.kill()
	r.keeps(t, two, wire.VPLS, r.wanted(two, wire.VPLS), 3*time.Second)
	r.learns(t, two, wire.VPLS, table{})
	if after := time.Since(killed); after < 3900*time.Millisecond {
		t.Errorf("the route went after %s", after)
	}
}
