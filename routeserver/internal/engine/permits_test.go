package engine

import (
	"fmt"
	"slices"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Permits in the second model, and their effect.

// anyPermits returns permits for an endpoint of a PE. Mostly they allow what the PE announces, sometimes less.
func (w *world) anyPermits(peer string) (p ruleset.Permits) {
	if w.r.IntN(2) == 0 {
		return p
	}
	some := func(text string, most int) (list []string) {
		for n := 1; n <= 3; n++ {
			if w.r.IntN(4) < most {
				list = append(list, fmt.Sprintf(text, n))
			}
		}
		return list
	}
	p.NextHops = ruleset.NewWords("192.0.2.77", hopOf(peer))
	if w.r.IntN(8) == 0 {
		p.NextHops = ruleset.NewWords("192.0.2.77")
	}
	p.Prefixes = ruleset.NewWords(append(some("10.%d.0.0/16", 3), some("2001:db8:%d::/52", 3)...)...)
	p.MACs = ruleset.NewWords(some("02:00:00:00:00:%02x", 1)...)
	p.Flowspec = w.r.IntN(3) > 0
	if w.r.IntN(4) == 0 {
		p.VE = uint16(1 + w.r.IntN(3))
	}
	if w.r.IntN(4) == 0 {
		p.Labels = [2]uint32{100, 163}
	}
	if w.r.IntN(4) == 0 {
		p.MaxMACs = 1 + w.r.IntN(3)
	}
	return p
}

func hopOf(peer string) string { return "192.0.2." + peer[2:] }

// bears reports whether a route belongs to an endpoint by its route target and its attributes.
func (w *world) bears(a announcement, announcer string, e ruleset.Endpoint) bool {
	if len(a.rts) != 1 || a.stray || e.RT != a.rts[0] || e.Peer != announcer {
		return false
	}
	switch p := e.Permits; {
	case a.family.Flow():
		return p == ruleset.Permits{} || p.Flowspec
	case e.Family != a.family.String():
		return false
	default:
		return p == ruleset.Permits{} || slices.Contains(p.NextHops.List(), hopOf(announcer))
	}
}

// permitted reports whether an endpoint's permits allow a route.
func (w *world) permitted(e ruleset.Endpoint, o offer) bool {
	p := e.Permits
	if p == (ruleset.Permits{}) {
		return true
	}
	if o.rd != "" && o.rd != e.RD {
		return false
	}
	switch o.family {
	case wire.VPLS:
		block := o.nlri.(*bgp.VPLSNLRI)
		return (p.VE == 0 || p.VE == block.VEID) && (p.Labels == [2]uint32{} || block.LabelBlockBase == 100)
	case wire.VPNv4:
		return slices.Contains(p.Prefixes.List(), fmt.Sprintf("10.%d.0.0/16", o.n))
	case wire.VPNv6:
		return slices.Contains(p.Prefixes.List(), fmt.Sprintf("2001:db8:%d::/52", o.n))
	case wire.EVPN:
		mac := fmt.Sprintf("02:00:00:00:00:%02x", o.n)
		for _, other := range w.document.Endpoints {
			if slices.Contains(other.Permits.MACs.List(), mac) && w.together(e.Name, other.Name) && !slices.Contains(p.MACs.List(), mac) {
				return false
			}
		}
	}
	return true
}

// has returns how many routes and MACs an endpoint has by its route target.
func (w *world) has(e ruleset.Endpoint) (routes, macs int) {
	seen := map[int]bool{}
	for _, a := range w.said[e.Peer] {
		if w.bears(a, e.Peer, e) {
			routes++
			if a.family == wire.EVPN {
				seen[a.n] = true
			}
		}
	}
	return routes, len(seen)
}

func (w *world) overloaded(e ruleset.Endpoint) bool {
	routes, macs := w.has(e)
	return e.MaxRoutes > 0 && routes > e.MaxRoutes || e.Permits.MaxMACs > 0 && macs > e.Permits.MaxMACs
}
