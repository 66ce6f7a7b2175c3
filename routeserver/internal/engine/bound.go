package engine

import (
	"fmt"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/wire"
)

// bound returns a *wire.Notification that ends the session of a peer with too many routes, or with routes that take too
// much memory (RFC 4271 section 6.7). It warns of a peer that comes near to a bound.
func (fo *inForce) bound(p *Peer, in *rib.In) error {
	for i, b := range []struct {
		has, most int
		text      func(n int) string
	}{
		{in.Len(), fo.MaxRoutes, func(n int) string { return fmt.Sprintf("%d routes", n) }},
		{in.Bytes(), fo.MaxBytes, func(n int) string { return fmt.Sprintf("%d bytes of routes", n) }},
	} {
		switch {
		case b.most == 0:
		case b.has > b.most:
			fo.Events.AddOften("limit", p.Name, "peer", fmt.Sprintf("%s has announced more than %s: its session ends", p.Name, b.text(b.most)))
			return &wire.Notification{Code: wire.Cease, Subcode: wire.MaxPrefixes, Text: "more than " + b.text(b.most)}
		case !p.near[i] && b.has > b.most/5*4:
			p.near[i] = true
			fo.Events.AddOften("near-limit", p.Name, fmt.Sprint(i), fmt.Sprintf("%s has announced %s: beyond %s its session ends", p.Name, b.text(b.has), b.text(b.most)))
		case b.has < b.most/10*7:
			p.near[i] = false // allows another warning
		}
	}
	return nil
}
