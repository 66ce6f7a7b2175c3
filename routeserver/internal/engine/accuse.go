package engine

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"weft/routeserver/internal/out"
	"weft/routeserver/internal/poison"
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// again is how long the guard remembers the routes that had been sent when a session broke.
const again = 10 * time.Minute

// breaks bounds the time from the sending of a poison to the end of the connection without a NOTIFICATION. Failing links
// end connections too. With a longer time, a healthy route that happens to be sent before two such failures would be held
// back.
const breaks = time.Second

// hintLength is the number of bytes that a NOTIFICATION must quote to identify a message.
const hintLength = 4

// recent is a route that a peer had been sent shortly before its session ended.
type recent struct {
	suspect
	group   *rib.Group
	decided int64 // when the engine decided to send it, in Unix nanoseconds
}

// manner classifies the end of a session: whether the routes that the peer was sent are, or may be, the cause.
type manner int

const (
	innocent manner = iota
	broken          // ended without a NOTIFICATION, and not by us
	refused         // ended by the peer's NOTIFICATION about an UPDATE or a message header
)

func (e *Ending) manner() manner {
	switch n := e.Notification; {
	case n == nil && !e.Local:
		return broken
	case n != nil && n.Received && (n.Code == wire.UpdateError || n.Code == wire.HeaderError):
		return refused
	}
	return innocent
}

// within returns how long before such an end a suspected route may have been sent; settle is the time that the peer may
// take.
func (m manner) within(settle time.Duration) time.Duration {
	if m == broken {
		return min(settle, breaks)
	}
	return settle
}

// accuse examines how a session ended, and decides which routes to hold back from the peer in its next session. The caller
// calls it before the engine forgets what the peer was sent.
func (e *Engine) accuse(p *Peer, why string) {
	if e.Settle <= 0 {
		return
	}
	g := p.guard
	how := p.Ending.manner()
	if how == innocent {
		if g != nil && g.search != nil {
			g.search.Interrupted()
		}
		return
	}
	if g == nil {
		g = newGuard(p.Name, e.Settle)
	}
	list := e.recently(p, now().Add(-how.within(g.settle)), how == refused)
	if how == broken && (g.search == nil || !g.search.Open()) {
		if list = g.broken(list); list == nil {
			e.guards[p.Name] = g
			return
		}
	}
	if how == refused {
		list = e.quoted(p, list, p.Ending.Notification.Data)
	}
	if len(list) == 0 && (g.search == nil || g.search.Trying() == 0) {
		return
	}
	e.guards[p.Name] = g
	g.why, g.dropped = why, nil
	p.tally.Poisoned++
	e.suspect(p, list, how)
}

// recently lists the routes that a peer was sent since a time, the oldest first. late says that one of them is certainly
// the cause. If there are none then, the peer took longer than its settle time: recently lists what was written last, and
// doubles that time.
func (lr *locRIB) recently(p *Peer, since time.Time, late bool) []recent {
	after, upTo := p.Queue.Lately(since)
	list := lr.between(p, after, upTo)
	if last := p.Queue.Last(); len(list) == 0 && late && !last.IsZero() {
		after, upTo = p.Queue.Lately(last)
		if list = lr.between(p, after, upTo); len(list) > 0 && p.guard != nil {
			p.guard.settle = min(2*p.guard.settle, maxSettle)
		}
	}
	return list
}

func (lr *locRIB) between(p *Peer, after, upTo time.Time) (list []recent) {
	for endpoint := range lr.sources(p.Name) {
		for g := range lr.table.Endpoint(endpoint) {
			s, sent := g.SentTo(p.Name)
			if !sent {
				continue
			}
			for _, r := range g.Routes() {
				decided := max(r.Received, s.At.UnixNano())
				if p.guard != nil {
					if at, offered := p.guard.offers[routeName{g.Family, r.NLRI}]; offered {
						decided = max(decided, at.UnixNano())
					}
				}
				if !after.IsZero() && decided <= after.UnixNano() || decided > upTo.UnixNano() || !s.Has(r.NLRI) || p.heldBack(g, r.NLRI) != nil {
					continue
				}
				list = append(list, recent{suspect{routeName{g.Family, r.NLRI}, g.Peer, g.Endpoint}, g, decided})
			}
		}
	}
	slices.SortFunc(list, func(a, b recent) int {
		return cmp.Or(cmp.Compare(a.decided, b.decided), cmp.Compare(a.endpoint, b.endpoint), cmp.Compare(a.nlri, b.nlri))
	})
	return list[max(0, len(list)-maxSuspects):]
}

// broken records that the session ended without a NOTIFICATION, which can have any cause. If that happens twice in a row,
// it returns the routes that had just been sent both times.
func (g *guard) broken(list []recent) (twice []recent) {
	if now().Sub(g.broke) < again {
		for _, r := range list {
			if _, before := g.dropped[r.routeName]; before {
				twice = append(twice, r)
			}
		}
	}
	g.broke, g.dropped = now(), make(map[routeName]struct{}, len(list))
	for _, r := range list {
		g.dropped[r.routeName] = struct{}{}
	}
	return twice
}

// quoted returns the routes whose messages contain the bytes that the NOTIFICATION quotes (RFC 4271 section 6.3), or all
// routes if there are none.
func (ss *sessions) quoted(p *Peer, list []recent, quote []byte) []recent {
	if len(quote) < hintLength || len(list) < 2 {
		return list
	}
	var meant []recent
	for _, r := range list {
		messages, _ := ss.alone(r).Encoded(p.Queue.Kind, 8)
		if len(messages) > 0 && bytes.Contains(messages[0], quote) {
			meant = append(meant, r)
		}
	}
	if len(meant) == 0 {
		return list
	}
	return meant
}

// alone returns a batch of one route.
func (ss *sessions) alone(r recent) *out.Batch {
	return out.Announce(r.family, r.group.Attributes, ss.reflection(r.group.Peer), []string{r.nlri})
}

// suspect begins or continues a search among the listed routes.
func (e *Engine) suspect(p *Peer, list []recent, how manner) {
	g := e.guards[p.Name]
	suspects := make([]digest, 0, len(list))
	apart := how == refused
	for i, r := range list {
		d, ok := digestOf(p, e.alone(r), r.nlri)
		if !ok {
			continue
		}
		g.suspects = setIn(g.suspects, d, r.suspect)
		suspects = append(suspects, d)
		apart = apart && (i == 0 || list[i-1].group != r.group || list[i-1].decided != r.decided || !g.apart[r.family].IsZero())
	}
	var found []digest
	if g.search == nil {
		list, unlike := e.likeliestLast(p, suspects)
		g.search, found = poison.Open(list, unlike, apart)
	} else {
		found = g.search.Ended(suspects, apart)
	}
	g.index()
	e.convict(g, found)
	if n := g.search.Held(); n > 0 {
		e.Events.AddOften("poison-suspected", p.Name, "", fmt.Sprintf(
			"the session with %s ended right after it was sent routes: %s; %d of them are held back from it and tried by halves, all others are sent", p.Name, g.why, n))
	}
}

func setIn[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[k] = v
	return m
}
