package engine

import (
	"crypto/sha256"
	"time"

	"weft/routeserver/internal/out"
	"weft/routeserver/internal/poison"
	"weft/routeserver/internal/wire"
)

// The poison-route guard. A peer that ends its session right after it was sent routes is sent everything again but these.
// Which of them it is that the peer does not bear is found by trying (package poison); that one is held back from this peer
// alone. As long as no session has ended so, all of this costs nothing.

const (
	// maxSuspects bounds what is held back at once to be tried; of more, the last ones that were sent.
	maxSuspects = 1 << 16
	// maxVerdicts bounds the poisons that are remembered for one peer; the oldest is forgotten first.
	maxVerdicts = 512
	// maxPerSource is how many poisons one peer may have for another before all of its routes are held back from that.
	maxPerSource = 8
	// maxSettle bounds the time that a peer may take to end its session, which doubles if it took longer.
	maxSettle = 30 * time.Second
	// maxDoublings bounds how much longer a route is held back each time that it is found again.
	maxDoublings = 5
)

// digest tells routes apart as they are sent: by all attributes and the NLRI, but not by the recipient's route targets.
type digest [16]byte

// routeName is a route of a family, by its whole NLRI or by what neighbours tell it apart by.
type routeName struct {
	family wire.Family
	nlri   string
}

// suspect is a route that is or was under suspicion.
type suspect struct {
	routeName
	announcer, endpoint string
}

// guard is what is known of the routes that one peer does not bear. It outlives the peer's sessions.
type guard struct {
	peer     string
	settle   time.Duration // how long the peer may take to end its session
	why      string        // how it ended the last one
	search   *poison.Case[digest]
	suspects map[digest]suspect // of the search
	verdicts map[digest]*verdict
	sources  map[string]time.Time     // peers none of whose routes are sent, until then
	apart    [wire.Families]time.Time // families whose routes each have a message of their own, until then
	dropped  map[routeName]struct{}   // what had just been sent when the session broke last, without a NOTIFICATION
	broke    time.Time
	offers   map[routeName]time.Time // routes that had been held back, and when they were sent
	timer    *time.Timer             // for what is held back for some time

	names  map[routeName]struct{} // of suspects and verdicts, by the whole NLRI: no other route needs a digest
	absent map[routeName]absence  // in this session; by what neighbours tell routes apart by
}

// absence is a route that a peer would have been sent, but for the guard.
type absence struct {
	digest digest
	since  time.Time
}

// verdict is a route that a peer does not bear.
type verdict struct {
	suspect
	why          string
	since, until time.Time
	times        int  // that it was found
	lapsed       bool // it is sent again; if it is found once more, it is held back for longer
}

func newGuard(peer string, settle time.Duration) *guard {
	return &guard{
		peer: peer, settle: settle, suspects: map[digest]suspect{}, verdicts: map[digest]*verdict{}, sources: map[string]time.Time{},
		offers: map[routeName]time.Time{},
		names:  map[routeName]struct{}{}, absent: map[routeName]absence{},
	}
}

// idle says whether there is nothing to remember.
func (g *guard) idle() bool {
	return g.search == nil && len(g.verdicts) == 0 && len(g.sources) == 0 && g.apart == [wire.Families]time.Time{} && len(g.dropped) == 0
}

// blocks says whether a route is not to be sent.
func (g *guard) blocks(d digest) bool {
	if v := g.verdicts[d]; v != nil && !v.lapsed {
		return true
	}
	return g.search != nil && g.search.Holds(d)
}

// verdictOn is why a route is blocked.
func (g *guard) verdictOn(d digest) string {
	if v := g.verdicts[d]; v != nil && !v.lapsed {
		return Poison
	}
	return Suspected
}

// offered takes note that a route was sent that had been held back.
func (g *guard) offered(r routeName) {
	at := now()
	for other, when := range g.offers {
		if at.Sub(when) > maxSettle {
			delete(g.offers, other)
		}
	}
	g.offers[r] = at
}

// bars says whether none of a peer's routes are to be sent.
func (g *guard) bars(source string) bool {
	_, barred := g.sources[source]
	return barred
}

// index finds out anew which routes need a digest.
func (g *guard) index() {
	clear(g.names)
	for _, s := range g.suspects {
		g.names[s.routeName] = struct{}{}
	}
	for _, v := range g.verdicts {
		g.names[v.routeName] = struct{}{}
	}
}

// digestOf is what a route is told apart by as it is sent to a peer; ok is false if it fits into no message.
func digestOf(p *Peer, b *out.Batch, nlri string) (d digest, ok bool) {
	messages, _ := out.Announce(b.Family, b.Attributes, b.Reflection, []string{nlri}).Encoded(p.Queue.Kind, 8)
	if len(messages) == 0 {
		return d, false
	}
	sum := sha256.Sum256(messages[0])
	return digest(sum[:len(d)]), true
}

// forgetGuard drops what is not worth remembering, and that of peers that are in the rule set no more.
func (ss *sessions) forgetGuard(peer string) {
	g := ss.guards[peer]
	if g == nil {
		return
	}
	if _, stays := ss.set.Peer(peer); stays && !g.idle() {
		return
	}
	if g.timer != nil {
		g.timer.Stop()
	}
	if p := ss.peers[peer]; p != nil {
		if len(g.absent) > 0 {
			return // its session is about to end
		}
		p.guard = nil
	}
	delete(ss.guards, peer)
}
