package interop

import (
	"testing"
)

// TestRouteRefresh checks that every daemon asks again for the routes of each of its families and gets them; BIRD sends
// its own routes again within the markers of RFC 7313, and no other PE notices.
func TestRouteRefresh(t *testing.T) {
	for _, s := range speakers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.here(t)
			if s.mute != "" {
				t.Skip(s.mute)
			}
			r := newRegion(t, []*speaker{s, gobgp})
			m := r.add(s, r.seat(s))
			witness := r.add(gobgp, r.seat(gobgp))
			for _, f := range s.learns {
				want := r.wanted(m, f)
				r.learns(t, m, f, want)
				before := m.received()
				m.refresh(f)
				until(t, f.String()+" again", func() bool { return m.received() > before })
				r.learns(t, m, f, want)
			}
			if e, is := m.pe.(*exabgpPE); is {
				until(t, "as many beginnings and ends as requests", func() bool { return e.markers() == 2*len(s.learns) })
			}
			if f, is := m.pe.(*frrPE); is && f.markers() != 2*len(s.learns) {
				t.Errorf("%d markers came for %d requests", f.markers(), len(s.learns))
			}
			if b, is := m.pe.(*birdPE); is {
				since := r.status().Sessions
				b.tell("reload", "out", "server")
				for _, f := range s.learns {
					r.learns(t, witness, f, r.wanted(witness, f))
				}
				for i, now := range r.status().Sessions {
					if now.Since != since[i].Since {
						t.Errorf("the session of %s was lost", now.Peer)
					}
				}
			}
		})
	}
}

// TestOperatorsRefresh checks that daemons send their routes again when an operator asks for them, and take the route
// server's again, both without a loss; and that they come back after a reset. (What ExaBGP answers is its script's choice.)
func TestOperatorsRefresh(t *testing.T) {
	for _, s := range []*speaker{gobgp, frr, bird} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.here(t)
			r := newRegion(t, []*speaker{s, gobgp})
			m := r.add(s, r.seat(s))
			witness := r.add(gobgp, r.seat(gobgp))
			check := func() {
				t.Helper()
				for _, f := range s.learns {
					r.learns(t, m, f, r.wanted(m, f))
					r.learns(t, witness, f, r.wanted(witness, f))
				}
			}
			check()
			since, announced, received := r.status().Sessions[0].Since, r.announced("pe1"), m.received()
			if err := r.call("POST", "/v1/peers/pe1/refresh", map[string]string{"direction": "both"}, &struct{}{}); err != nil {
				t.Fatal(err)
			}
			until(t, "its routes again", func() bool { return r.announced("pe1") > announced })
			until(t, "ours again", func() bool { return m.received() > received })
			check()
			if now := r.status().Sessions[0].Since; now != since {
				t.Errorf("the session began at %s, and now at %s", since, now)
			}
			if err := r.call("POST", "/v1/peers/pe1/reset", map[string]string{"text": "a test"}, &struct{}{}); err != nil {
				t.Fatal(err)
			}
			until(t, "the session again", func() bool { return r.established() == 2 && r.status().Sessions[0].Since != since })
			check()
		})
	}
}

// announced counts all routes that a PE has announced, repeated ones as well.
func (c *control) announced(peer string) (n int) {
	c.t.Helper()
	var page struct {
		Peers []struct {
			Totals struct {
				Announced map[string]int `json:"routes_announced"`
			}
		}
	}
	if err := c.call("GET", "/v1/counts?peer="+peer, nil, &page); err != nil {
		c.t.Fatal(err)
	}
	for _, routes := range page.Peers[0].Totals.Announced {
		n += routes
	}
	return n
}

// markers counts the received beginnings and ends of refreshes.
func (e *exabgpPE) markers() (n int) {
	for _, v := range e.events() {
		if v.Type == "refresh" {
			n++
		}
	}
	return n
}

func (f *frrPE) markers() int { return f.statistics().RouteRefreshRecv }
