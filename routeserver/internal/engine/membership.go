package engine

import (
	"maps"
	"slices"
	"strings"
	"time"

	"weft/routeserver/internal/wire"
)

// membershipWait is the default of Config.MembershipWait.
const membershipWait = 5 * time.Second

// membership is what a peer asked for by RT-Constrain (RFC 4684). It only narrows what the rule set gives.
type membership struct {
	settled bool                // the peer has said everything, or had the time for it
	asked   map[string]string   // NLRIs by key
	exact   map[wire.RT]int     // how many NLRIs ask for each whole route target
	wide    map[string]string   // NLRIs that ask for several route targets, by key
	covered map[wire.RT]bool    // cache: whether wide covers a route target
	renewed map[string]struct{} // keys asked for since the peer's enhanced refresh began
	timer   *time.Timer
	owed    bool // the peer still has to get End-of-RIB markers
}

func newMembership() *membership {
	return &membership{asked: map[string]string{}, exact: map[wire.RT]int{}, wide: map[string]string{}, covered: map[wire.RT]bool{}}
}

// narrow returns those of the route targets that a peer asked for, or all if it does not constrain routes.
func (p *Peer) narrow(targets string) string {
	m := p.membership
	if m == nil || targets == "" {
		return targets
	}
	if !m.settled {
		return ""
	}
	var wanted strings.Builder
	for _, rt := range wire.RTs(targets) {
		if m.wants(rt) {
			wanted.Write(rt[:])
		}
	}
	return wanted.String()
}

// wants reports whether a peer asked for a route target. The answer is kept until the peer asks for more or for less.
func (m *membership) wants(rt wire.RT) bool {
	if m.exact[rt] > 0 {
		return true
	}
	answer, known := m.covered[rt]
	if !known {
		for _, nlri := range m.wide {
			answer = answer || wire.Covers(nlri, rt)
		}
		m.covered[rt] = answer
	}
	return answer
}

// choice returns the route targets of a peer's own endpoints that it asked for. Everything else that it asks for makes no
// difference.
func (fo *inForce) choice(p *Peer) string {
	var wanted strings.Builder
	for _, site := range fo.set.SitesOf(p.Name) {
		wanted.WriteString(p.narrow(string(site.Target[:])))
	}
	return wanted.String()
}

func (m *membership) add(nlri string) {
	key := wire.RTC.Key(nlri)
	if m.renewed != nil {
		m.renewed[key] = struct{}{}
	}
	if _, again := m.asked[key]; again {
		return
	}
	m.asked[key] = nlri
	if rt, one := wire.WholeTarget(nlri); one {
		m.exact[rt]++
	} else {
		m.wide[key] = nlri
		clear(m.covered)
	}
}

func (m *membership) remove(key string) {
	nlri, there := m.asked[key]
	if !there {
		return
	}
	delete(m.asked, key)
	delete(m.renewed, key)
	if rt, one := wire.WholeTarget(nlri); one {
		if m.exact[rt]--; m.exact[rt] == 0 {
			delete(m.exact, rt)
		}
	} else {
		delete(m.wide, key)
		clear(m.covered)
	}
}

// constrain begins RT-Constrain with a peer. We ask it for all routes. It gets none until it has said which ones it wants.
// Its End-of-RIB, or a timeout, ends that wait.
func (e *Engine) constrain(p *Peer) {
	wait := e.MembershipWait
	if wait == 0 {
		wait = membershipWait
	}
	p.membership = newMembership()
	p.Queue.Message(wire.AllTargets(e.RouterID, e.ASN, p.Queue.Kind))
	p.membership.timer = time.AfterFunc(wait, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.peers[p.Name] == p {
			e.answered(p)
		}
	})
}

// answered sends a peer, once, the routes that it asked for and the End-of-RIB markers.
func (lr *locRIB) answered(p *Peer) {
	m := p.membership
	if m.settled {
		return
	}
	m.settled = true
	m.timer.Stop()
	lr.readdressAll(p)
	if m.owed {
		lr.endOfRIB(p)
	}
}

// asked handles the route targets in a peer's UPDATE.
func (lr *locRIB) asked(p *Peer, u *wire.Update) error {
	m := p.membership
	usable := u.Malformed == "" && !u.Attributes.Loop
	if m == nil {
		return nil // not negotiated
	}
	before := lr.choice(p)
	if u.UnreachFamily == wire.RTC {
		for _, nlri := range u.Unreach {
			m.remove(wire.RTC.Key(nlri))
		}
		if u.EndOfRIB {
			lr.answered(p)
		}
	}
	if u.ReachFamily == wire.RTC {
		for _, nlri := range u.Reach {
			if usable {
				m.add(nlri)
			} else {
				m.remove(wire.RTC.Key(nlri))
			}
		}
	}
	if lr.MaxRoutes > 0 && len(m.asked) > lr.MaxRoutes {
		return &wire.Notification{Code: wire.Cease, Subcode: wire.MaxPrefixes, Text: "too many route target memberships"}
	}
	if lr.choice(p) != before {
		lr.readdressAll(p)
	}
	return nil
}

// refreshMembership begins or ends a peer's own refresh of what it asks for.
func (lr *locRIB) refreshMembership(p *Peer, kind uint8) {
	m := p.membership
	switch kind {
	case wire.RefreshBegin:
		m.renewed = map[string]struct{}{}
	case wire.RefreshEnd:
		before, renewed := lr.choice(p), m.renewed
		m.renewed = nil
		if renewed == nil {
			return
		}
		for _, key := range slices.Collect(maps.Keys(m.asked)) {
			if _, again := renewed[key]; !again {
				m.remove(key)
			}
		}
		if lr.choice(p) != before {
			lr.readdressAll(p)
		}
	}
}
