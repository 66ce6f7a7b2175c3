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
