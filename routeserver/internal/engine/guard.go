package engine

import (
	"crypto/sha256"
	"time"

	"weft/routeserver/internal/out"
	"weft/routeserver/internal/poison"
	"weft/routeserver/internal/wire"
)

// The poison-route guard. A peer may end its session right after it was sent certain routes. When it is back, it is sent
// all other routes. The guard finds the poison among the suspected routes by trying them (package poison), and holds it
// back from this peer alone. As long as no session has ended like that, the guard costs nothing.

const (
	// maxSuspects bounds the routes that are held back at once to be tried; if there are more, the last ones sent are
	// tried.
	maxSuspects = 1 << 16
	// maxVerdicts bounds the poisons that are remembered for one peer; the oldest is forgotten first.
	maxVerdicts = 512
	// maxPerSource is the number of poisons from one announcing peer at which all its routes are held back.
	maxPerSource = 8
	// maxSettle bounds the time that a peer may take to end its session. That time doubles if the peer took longer.
	maxSettle = 30 * time.Second
	// maxDoublings bounds how often the hold time of a route doubles. It doubles each time the route is found again.
	maxDoublings = 5
)

// digest identifies a route as it is sent: by all attributes and the NLRI, without the recipient's route targets.
type digest [16]byte

// routeName names a route of a family by its whole NLRI, or by what neighbours may tell it apart by (wire.Family.Identity).
type routeName struct {
	family wire.Family
	nlri   string
}

// suspect is a route that is or was under suspicion.
type suspect struct {
	routeName
	announcer, endpoint string
}

// guard is what the poison-route guard knows about one peer. It outlives the peer's sessions.
type guard struct {
	peer     string
	settle   time.Duration // how long the peer may take to end its session
	why      string        // how it ended the last session
	search   *poison.Case[digest]
	suspects map[digest]suspect // of the search
	verdicts map[digest]*verdict
	sources  map[string]time.Time     // announcing peers whose routes are all held back, and until when
	apart    [wire.Families]time.Time // until when each route of a family is sent in a message of its own
	dropped  map[routeName]struct{}   // routes that had just been sent when the session last broke without a NOTIFICATION
	broke    time.Time
	offers   map[routeName]time.Time // routes that had been held back, and when they were sent
	timer    *time.Timer             // for the end of the next hold time

	names  map[routeName]struct{} // whole NLRIs of suspects and verdicts: no other route needs a digest
	absent map[routeName]absence  // routes held back in this session, by wire.Family.Identity
}

// absence is a route that a peer is not sent because of the guard.
type absence struct {
	digest digest
	since  time.Time
}

// verdict is a poison: a route for which a peer ends its session.
type verdict struct {
	suspect
	why          string
	since, until time.Time
	times        int  // how often it was found
	lapsed       bool // it is sent again; if it is found once more, it is held back for longer
}

func newGuard(peer string, settle time.Duration) *guard {
	return &guard{
		peer: peer, settle: settle, suspects: map[digest]suspect{}, verdicts: map[digest]*verdict{}, sources: map[string]time.Time{},
		offers: map[routeName]time.Time{},
		names:  map[routeName]struct{}{}, absent: map[routeName]absence{},
	}
}

// idle reports whether there is nothing to remember.
func (g *guard) idle() bool {
	return g.search == nil && len(g.verdicts) == 0 && len(g.sources) == 0 && g.apart == [wire.Families]time.Time{} && len(g.dropped) == 0
}

// blocks reports whether the guard holds a route back.
func (g *guard) blocks(d digest) bool {
	if v := g.verdicts[d]; v != nil && !v.lapsed {
		return true
	}
	return g.search != nil && g.search.Holds(d)
}

// verdictOn returns why a route is blocked.
func (g *guard) verdictOn(d digest) string {
	if v := g.verdicts[d]; v != nil && !v.lapsed {
		return Poison
	}
	return Suspected
}

// offered records that a route was sent that had been held back.
func (g *guard) offered(r routeName) {
	at := now()
	for other, when := range g.offers {
		if at.Sub(when) > maxSettle {
			delete(g.offers, other)
		}
	}
	g.offers[r] = at
}

// bars reports whether all routes of an announcing peer are held back.
func (g *guard) bars(source string) bool {
	_, barred := g.sources[source]
	return barred
}

// index updates the set of routes that need a digest.
func (g *guard) index() {
	clear(g.names)
	for _, s := range g.suspects {
		g.names[s.routeName] = struct{}{}
	}
	for _, v := range g.verdicts {
		g.names[v.routeName] = struct{}{}
	}
}

// digestOf returns the digest of a route as it is sent to a peer; ok is false if the route fits into no message.
func digestOf(p *Peer, b *out.Batch, nlri string) (d digest, ok bool) {
	messages, _ := out.Announce(b.Family, b.Attributes, b.Reflection, []string{nlri}).Encoded(p.Queue.Kind, 8)
	if len(messages) == 0 {
		return d, false
	}
	sum := sha256.Sum256(messages[0])
	return digest(sum[:len(d)]), true
}

// forgetGuard drops the guard of a peer if it has nothing to remember, or if the peer is no longer in the rule set.
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
