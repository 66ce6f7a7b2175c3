package engine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/wire"
)

// Long-lived graceful restart in the second model.

const (
	llgrStale = 65535<<16 | 6
	noLLGR    = 65535<<16 | 7
)

// longLived returns the same time for all families.
func longLived(d time.Duration) (times [wire.Families]time.Duration) {
	for f := range wire.RTC {
		times[f] = d
	}
	return times
}

func (w *world) anyCommunities() []uint32 {
	switch w.r.IntN(12) {
	case 0, 1:
		return []uint32{65000<<16 | 1, llgrStale}
	case 2, 3, 4:
		return []uint32{noLLGR}
	case 5:
		return []uint32{65000<<16 | 1}
	}
	return nil
}

// all returns the communities that a route is announced with.
func (a along) all() []uint32 {
	if a.home {
		return append([]uint32{uint32(bgp.COMMUNITY_NO_EXPORT)}, a.communities...)
	}
	return a.communities
}

// marked returns communities as an entry has them.
func marked(communities []uint32) (text string) {
	for _, c := range communities {
		text += fmt.Sprintf(" %x", c)
	}
	return text
}

func (a announcement) longLived() bool { return slices.Contains(a.communities, llgrStale) }

// stay keeps or removes the routes of a PE that is lost, and reports whether any stay. It keeps routes that were stale
// already only if one of the newer RFCs asks for it. It keeps none of a family whose long time was over before the PE's
// End-of-RIB.
func (w *world) stay(s *speaker) bool {
	r := s.peer.restart
	long := [wire.Families]bool{}
	for key, a := range w.said[s.name] {
		f := a.family
		short, term := r.Offered && r.Families[f] && r.Seconds > 0, r.Offered && r.LongStale[f] > 0
		if s.spent[f] || !short && !term || w.stale[s.name][key] && !term && !r.Notification || s.long[f] && !term {
			w.unsay(s.name, key)
			continue
		}
		w.stale[s.name][key] = true
		long[f] = s.long[f] || !short
	}
	w.long[s.name], w.restarts[s.name] = long, r
	for f := range wire.Families {
		if long[f] {
			w.mark(s.name, f)
		}
	}
	return len(w.stale[s.name]) > 0
}

// mark makes the stale routes of a family long-lived, except those with NO_LLGR, which go.
func (w *world) mark(name string, f wire.Family) {
	for key := range w.stale[name] {
		a := w.said[name][key]
		switch {
		case a.family != f || a.longLived():
		case slices.Contains(a.communities, noLLGR):
			w.unsay(name, key)
		default:
			a.communities = append(slices.Clone(a.communities), llgrStale)
			w.said[name][key] = a
		}
	}
}

// expire ends the restart time.
func (w *world) expire(name string) {
	long := w.long[name]
	for f := range wire.Families {
		switch {
		case long[f]:
		case w.restarts[name].LongStale[f] > 0:
			long[f] = true
			w.mark(name, f)
		default:
			w.dropStale(name, f)
		}
	}
	w.long[name] = long
	w.lost[name] = len(w.stale[name]) > 0
}

// lapse ends the long time of some families.
func (w *world) lapse(name string) string {
	text := fmt.Sprintf("the time of %s is over for", name)
	for f := range wire.Families {
		k := w.engine.keptOf(name, f)
		if k == nil || !k.longLived() || w.r.IntN(2) == 0 {
			continue
		}
		w.engine.lapse(name, f, k)
		if s := w.speakers[name]; s != nil {
			s.spent[f] = true
		}
		w.dropStale(name, f)
		text += " " + f.String()
	}
	if w.speakers[name] == nil {
		w.lost[name] = len(w.stale[name]) > 0
	}
	return text
}

// TestALossSaysWhetherThePeerKnowsEverything checks that a loss says so if messages were not written: a peer that keeps our
// routes must not miss a withdrawal.
func TestALossSaysWhetherThePeerKnowsEverything(t *testing.T) {
	w := newWorld(t, 1)
	defer w.close()
	for name, s := range w.speakers {
		s.drain()
		if name == peerName(0) {
			s.peer.Queue.Message(wire.EndOfRIB(wire.VPLS))
		}
		if complete := w.engine.Lose(s.peer, "test"); complete != (name != peerName(0)) {
			t.Errorf("%s: complete %v", name, complete)
		}
	}
}
