package engine

import (
	"net/netip"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// Misled returns why the attributes of a site's routes violate its announce permits; empty if they do not, or there are
// none.
func Misled(site *ruleset.Site, f wire.Family, a *wire.Attributes) (reason rib.Reason) {
	grant := site.Grant
	switch {
	case grant == nil:
		return ""
	case f.Flow() && !grant.Flowspec:
		return rib.Flowspec
	}
	a.Ends(func(end netip.Addr) {
		if !grant.Reaches(end) {
			reason = rib.NextHop
		}
	})
	return reason
}

// Permit returns why a route violates its site's announce permits; empty if it does not, or there are none. Link-local
// addresses are free for all.
func Permit(set *ruleset.Set, site *ruleset.Site, f wire.Family, nlri string) rib.Reason {
	grant := site.Grant
	if grant == nil {
		return ""
	}
	if rd := f.RD(nlri); rd != "" && rd != string(site.Dist[:]) {
		return rib.ForeignRD
	}
	c := f.Content(nlri)
	switch f {
	case wire.VPLS:
		return block(grant, &c)
	case wire.VPNv4, wire.VPNv6:
		if !grant.Holds(c.Prefix) {
			return rib.ForeignPrefix
		}
	case wire.EVPN:
		if c.Segment {
			return rib.Segment
		}
		switch c.Type {
		case wire.TypeMACIP:
			return machine(set, site, &c)
		case wire.TypeMulticast:
			if !grant.Reaches(c.Address.Unmap()) {
				return rib.Originator
			}
		case wire.TypePrefix:
			if !grant.Holds(c.Prefix) || c.Gateway.IsValid() && !grant.Houses(c.Gateway) {
				return rib.ForeignPrefix
			}
		default:
			return rib.RouteType
		}
	}
	return ""
}

func block(grant *ruleset.Grant, c *wire.Content) rib.Reason {
	switch {
	case grant.VE != 0 && c.VE != grant.VE:
		return rib.ForeignVE
	case grant.Labels != [2]uint32{} && (c.Labels[0] < grant.Labels[0] || c.Labels[1] > grant.Labels[1]):
		return rib.Labels
	}
	return ""
}

// machine judges a MAC and the address that goes with it.
func machine(set *ruleset.Set, site *ruleset.Site, c *wire.Content) rib.Reason {
	grant := site.Grant
	switch {
	case c.MAC[0]&1 != 0 || c.MAC == "\x00\x00\x00\x00\x00\x00":
		return rib.ForeignMAC // a multicast MAC, or none
	case !grant.Owns(c.MAC) && set.Guarded(site.Name, c.MAC):
		return rib.ForeignMAC
	case c.Address.IsValid() && !c.Address.IsLinkLocalUnicast() && !grant.Houses(c.Address):
		return rib.ForeignAddress
	}
	return ""
}
