package engine

import (
	"time"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// kept holds a peer's routes of one family from before its session was lost, by key.
type kept struct {
	routes map[string]*rib.Route
	term   time.Duration // how long they may be long-lived stale after the restart time; 0: not at all
	until  time.Time     // end of term once it has begun; zero before
	timer  *time.Timer
}

func (k *kept) longLived() bool { return !k.until.IsZero() }

func (k *kept) stop() {
	if k.timer != nil {
		k.timer.Stop()
	}
}

// keptOf returns the stale routes of a peer, or nil.
func (ss *sessions) keptOf(peer string, f wire.Family) *kept {
	if p := ss.peers[peer]; p != nil {
		return p.kept[f]
	}
	if l := ss.lost[peer]; l != nil {
		return l.kept[f]
	}
	return nil
}

// staleUntil returns until when a route from before its peer's session was lost is kept; zero: it is not such a route.
func (ss *sessions) staleUntil(peer string, f wire.Family, r *rib.Route) time.Time {
	if k := ss.keptOf(peer, f); k != nil && k.routes[f.Key(r.NLRI)] == r {
		return ss.end(peer, k)
	}
	return time.Time{}
}

// end returns when the stale routes of a family go at the latest, unless their peer announces them again.
func (ss *sessions) end(peer string, k *kept) time.Time {
	switch p := ss.peers[peer]; {
	case k.longLived():
		return k.until
	case p != nil:
		return p.until
	}
	return ss.lost[peer].until.Add(k.term)
}

// Staleness summarizes the routes that are kept of a peer from before its session was lost.
type Staleness struct {
	Routes    int
	LongLived int       // of these, the long-lived stale ones
	From      time.Time // when others become long-lived stale, if the peer is not back; zero: none do
	Until     time.Time // when the last of them go
}

func (ss *sessions) staleOf(peer string) (s Staleness) {
	for f := range wire.Families {
		k := ss.keptOf(peer, f)
		if k == nil || len(k.routes) == 0 {
			continue
		}
		s.Routes += len(k.routes)
		if end := ss.end(peer, k); end.After(s.Until) {
			s.Until = end
		}
		switch l := ss.lost[peer]; {
		case k.longLived():
			s.LongLived += len(k.routes)
		case l != nil && k.term > 0:
			s.From = l.until
		}
	}
	return s
}
