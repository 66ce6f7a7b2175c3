package interop

import (
	"maps"
	"slices"
	"testing"
	"time"

	"weft/routeserver/internal/ruleset"
)

// TestALeaveWhileTheRouteServerIsAway checks that a PE loses the routes that a leave removes during the route server's
// restart. A PE that helps keeps the server's routes meanwhile, and must lose these soon after the server is back, not
// only at the end of the restart: here one PE never comes, so that the restart would last the whole deferral.
func TestALeaveWhileTheRouteServerIsAway(t *testing.T) {
	for _, s := range speakers {
		if len(s.helps) == 0 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.here(t)
			peers := []*speaker{s, gobgp}
			r := newRegion(t, peers, "--restart-time", "120s", "--restart-deferral", "120s", "--confirm-wait", "1h")
			at := r.seat(s)
			at.restarts = true
			m := r.add(s, at)
			leaver := r.add(gobgp, r.seat(gobgp))
			for _, f := range s.helps {
				r.learns(t, m, f, r.wanted(m, f))
			}
			leaver.daemon().freeze()
			r.server.kill()
			for _, f := range s.helps {
				r.keeps(t, m, f, r.wanted(m, f), 100*time.Millisecond)
			}

			r.startServer()
			until(t, "the control API", func() bool { return r.call("GET", "/v1/status", nil, &struct{}{}) == nil })
			d := r.document(peers)
			d.Generation = 2
			for i := range d.Vcps {
				d.Vcps[i].Members = slices.DeleteFunc(d.Vcps[i].Members, func(name string) bool {
					return slices.ContainsFunc(d.Endpoints, func(e ruleset.Endpoint) bool { return e.Name == name && e.Peer == "pe2" })
				})
			}
			r.replace(d) // from the controller or a twin, before BGP opens
			until(t, "the session", func() bool { return r.established() >= 1 })
			back := time.Now()
			for _, f := range s.helps {
				for have := m.learned(f); !maps.Equal(have, table{}); have = m.learned(f) {
					if time.Since(back) > 20*time.Second {
						t.Fatalf("%s still has in %s\n%s", m.name, f, have)
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
			if _, restarting := r.stale(); !restarting {
				t.Error("the restart is over: this test shows nothing")
			}
		})
	}
}
