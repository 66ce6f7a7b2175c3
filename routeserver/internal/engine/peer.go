package engine

import (
	"fmt"
	"time"

	"weft/routeserver/internal/out"
	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Up records that a peer's session is established, without graceful restart.
func (e *Engine) Up(peer ruleset.Peer, id [4]byte, families [wire.Families]bool) *Peer {
	return e.Resume(peer, id, families, wire.Restart{})
}

// Resume is Up with the peer's restart capability.
func (e *Engine) Resume(peer ruleset.Peer, id [4]byte, families [wire.Families]bool, restart wire.Restart) *Peer {
	return e.Establish(peer, &wire.Open{ID: id, FourOctet: true, Families: families, Restart: restart}, Opening{})
}

// Establish records that a peer's session is established, with the peer's OPEN; the families in it are those agreed upon.
// The peer's queue gets all routes that the peer is to have, and the End-of-RIB marker of each family, unless our own
// restart puts that off. It returns nil if the rule set no longer has this peer.
func (e *Engine) Establish(peer ruleset.Peer, open *wire.Open, opening Opening) *Peer {
	e.mu.Lock()
	defer e.unlock()
	name := peer.Name
	if present, _ := e.set.Peer(name); present != peer {
		return nil
	}
	p := &Peer{
		Name: name, ID: open.ID, Families: open.Families, Queue: out.NewQueue(), Since: now(), config: peer, restart: open.Restart,
		Opening: opening, tally: e.tally(name), extended: open.Extended, refresh: open.Refresh, enhanced: open.Enhanced,
	}
	p.Queue.Kind = e.Neighbour(peer, open).Kind()
	e.peers[name] = p
	e.table.In(name).Renew()
	p.tally.Sessions++
	e.guarded(p)
	e.feedUp(p)
	e.Events.addAfter(flapsTold, "session-up", name, "", fmt.Sprintf("session with %s is established", name))
	if p.Families[wire.RTC] {
		e.constrain(p)
	}
	e.readdressAll(p)
	if !e.putOff(p) {
		e.endOfRIB(p)
	}
	e.await(p)
	e.takeUp(p)
	if p.guard != nil && p.guard.search != nil {
		e.observe(p)
	}
	return p
}

// Neighbour returns how a peer's UPDATEs are read.
func (e *Engine) Neighbour(peer ruleset.Peer, open *wire.Open) wire.Neighbour {
	return wire.Neighbour{ASN: peer.ASN, Own: e.ASN, TwoOctet: !open.FourOctet}
}

// readdressAll makes what a peer was sent match what it is to have.
func (lr *locRIB) readdressAll(p *Peer) {
	for endpoint := range lr.sources(p.Name) {
		targets := lr.set.TargetsAt(endpoint, p.Name)
		for g := range lr.table.Endpoint(endpoint) {
			lr.retarget(nil, g, p.Name, targets)
		}
	}
}

// sources returns the endpoints whose routes a peer may get.
func (fo *inForce) sources(peer string) map[string]bool {
	sources := map[string]bool{}
	for _, site := range fo.set.SitesOf(peer) {
		for _, neighbour := range fo.set.Neighbours(site.Name) {
			sources[neighbour] = true
		}
	}
	return sources
}

// Down ends a peer's session: its routes are withdrawn from all others, and nothing more is sent to it.
func (e *Engine) Down(p *Peer, why string) { e.down(p, why, false) }

// down ends a session, gracefully or not.
func (e *Engine) down(p *Peer, why string, graceful bool) (complete bool) {
	e.mu.Lock()
	defer e.unlock()
	complete = p.Queue.Close()
	if p.membership != nil {
		p.membership.timer.Stop()
	}
	if p.patience != nil {
		p.patience.Stop()
	}
	if e.peers[p.Name] != p {
		return complete
	}
	if present, _ := e.set.Peer(p.Name); present != p.config {
		graceful = false
	}
	delete(e.peers, p.Name)
	p.tally.Ended++
	e.feed(Entry{Kind: SessionDown, Peer: p, Ending: &p.Ending})
	e.deferral.part(p)
	kept := e.keep(p, graceful) // first, since other peers wait for the withdrawals
	e.accuse(p, why)
	for endpoint := range e.sources(p.Name) {
		for g := range e.table.Endpoint(endpoint) {
			g.SetSent(rib.Sent{Peer: p.Name})
		}
	}
	text := fmt.Sprintf("session with %s is down: %s", p.Name, why)
	if kept > 0 {
		text += fmt.Sprintf("; its routes (%d) are kept until %s at most", kept, e.staleOf(p.Name).Until.UTC().Format(time.RFC3339))
	}
	e.Events.addAfter(flapsTold, "session-down", p.Name, "", text)
	e.forgetTally(p.Name)
	return complete
}
