package engine

import (
	"fmt"
	"strings"
	"time"

	"weft/routeserver/internal/wire"
)

// renewEvery is the shortest time between two refreshes of one family in one direction that operators may ask for: each
// makes one side send all its routes.
const renewEvery = 10 * time.Second

// Renewal is a refresh that an operator asks for: that the peer announces its routes again (In), or is sent its routes again
// (Out). Family limits it to one family, unless Every is set.
type Renewal struct {
	In, Out bool
	Family  wire.Family
	Every   bool
}

// Renewed is what was done: the families that were asked for, and those that were sent.
type Renewed struct {
	Asked, Resent []wire.Family
	Enhanced      bool // the peer marks the beginning and the end of a refresh (RFC 7313), so that routes that it does not repeat go
}

// NotRenewed is the reason why nothing was done.
type NotRenewed struct {
	Code, Message string
	Wait          time.Duration // after which the same can be asked again; zero: that does not depend on time
}

// Error returns the message.
func (n *NotRenewed) Error() string { return n.Message }

// renewals are the times of the last refreshes that operators asked for.
type renewals struct{ asked, resent [wire.Families]time.Time }

// Renew asks a peer for its routes with ROUTE-REFRESH (RFC 2918), or sends it all its routes once more. It does both or
// nothing; the error is a *NotRenewed.
func (e *Engine) Renew(peer string, r Renewal) (Renewed, error) {
	e.mu.Lock()
	defer e.unlock()
	done := Renewed{}
	p := e.peers[peer]
	if p == nil {
		return done, &NotRenewed{Code: "no-session", Message: fmt.Sprintf("there is no session with %q", peer)}
	}
	var families []wire.Family
	for f := range wire.RTC {
		if p.Families[f] && (r.Every || f == r.Family) {
			families = append(families, f)
		}
	}
	switch {
	case len(families) == 0:
		return done, &NotRenewed{Code: "family", Message: fmt.Sprintf("the session with %q does not carry %s", peer, r.Family)}
	case r.In && !p.refresh:
		text := fmt.Sprintf("%q did not announce the capability for route refresh (RFC 2918): reset its session instead", peer)
		return done, &NotRenewed{Code: "not-capable", Message: text}
	}
	at := now()
	for _, f := range families {
		var last time.Time
		if r.In {
			last = p.renewals.asked[f]
		}
		if r.Out && p.renewals.resent[f].After(last) {
			last = p.renewals.resent[f]
		}
		if wait := renewEvery - at.Sub(last); wait > 0 {
			text := fmt.Sprintf("%s routes of %q were refreshed %s ago: at most once in %s", f, peer, at.Sub(last).Round(time.Second), renewEvery)
			return done, &NotRenewed{Code: "too-soon", Message: text, Wait: wait}
		}
	}
	done.Enhanced = p.enhanced
	for _, f := range families {
		if r.In {
			p.renewals.asked[f] = at
			p.Queue.Message(wire.Refresh(f, wire.RefreshRequest))
			done.Asked = append(done.Asked, f)
		}
		if r.Out {
			p.renewals.resent[f] = at
			p.refreshing[f].enhanced = p.enhanced
			e.answer(p, f)
			done.Resent = append(done.Resent, f)
		}
	}
	e.Events.Add("refresh", peer, done.text(peer))
	return done, nil
}

// text describes what was done.
func (d *Renewed) text(peer string) string {
	var parts []string
	if len(d.Asked) > 0 {
		parts = append(parts, fmt.Sprintf("%s is asked for its routes again (%s)", peer, listed(d.Asked)))
	}
	if len(d.Resent) > 0 {
		parts = append(parts, fmt.Sprintf("%s is sent its routes again (%s)", peer, listed(d.Resent)))
	}
	return "by an operator, " + strings.Join(parts, ", and ")
}

func listed(families []wire.Family) string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = f.String()
	}
	return strings.Join(names, ", ")
}
