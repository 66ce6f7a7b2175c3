package lookingglass

import (
	"net/netip"
	"slices"
	"strings"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// This file evaluates an endpoint's announce permits, from the document and from the fields that users see.

// permitted reports whether an endpoint's permits allow a route's attributes, and the route itself.
func (m *model) permitted(e ruleset.Endpoint, v engine.View) (attributes, route bool) {
	p := e.Permits
	if p == (ruleset.Permits{}) {
		return true, true
	}
	attributes = !v.Family.Flow() || p.Flowspec
	v.Attributes.Ends(func(end netip.Addr) { attributes = attributes && here(p, end.String()) })
	if rd := v.Family.Distinguisher(v.NLRI); rd != "" && rd != e.RD {
		return attributes, false
	}
	fields := v.Family.Fields(v.NLRI)
	text := func(name string) string { word, _ := fields[name].(string); return word }
	switch v.Family {
	case wire.VPLS:
		first, size := uint32(fields["label_base"].(int)), uint32(fields["size"].(uint16))
		route = (p.VE == 0 || p.VE == fields["ve_id"]) &&
			(p.Labels == [2]uint32{} || p.Labels[0] <= first && first+max(size, 1)-1 <= p.Labels[1])
	case wire.VPNv4, wire.VPNv6:
		route = lies(p.Prefixes, text("prefix"))
	case wire.EVPN:
		switch zero := strings.Trim(text("esi"), "0") == ""; fields["type"] {
		case byte(2):
			ip := text("ip")
			local, _ := netip.ParseAddr(ip)
			route = zero && m.free(e, text("mac")) &&
				(ip == "" || local.IsLinkLocalUnicast() || lies(p.Prefixes, ip) || slices.Contains(p.Hosts.List(), ip))
		case byte(3):
			route = here(p, text("ip"))
		case byte(5):
			gateway := text("gateway")
			none, _ := netip.ParseAddr(gateway)
			route = zero && lies(p.Prefixes, text("prefix")) &&
				(none.IsUnspecified() || lies(p.Prefixes, gateway) || slices.Contains(p.Hosts.List(), gateway))
		}
	default:
		route = true
	}
	return attributes, route
}

func here(p ruleset.Permits, address string) bool {
	return slices.ContainsFunc(p.NextHops.List(), func(hop string) bool {
		end, err := netip.ParseAddr(address)
		return err == nil && end.Unmap() == netip.MustParseAddr(hop).Unmap()
	})
}

// lies reports whether an address or a prefix, as text, is within one of the prefixes.
func lies(prefixes ruleset.Words, text string) bool {
	inner, err := netip.ParsePrefix(text)
	if err != nil {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return false
		}
		inner = netip.PrefixFrom(address, address.BitLen())
	}
	return slices.ContainsFunc(prefixes.List(), func(outer string) bool {
		p := netip.MustParsePrefix(outer)
		return p.Bits() <= inner.Bits() && p.Contains(inner.Addr())
	})
}

// free reports whether an endpoint may announce a MAC: an interface can have it, and no other endpoint of its pools has
// it in its permits, or the endpoint has it as well.
func (m *model) free(e ruleset.Endpoint, mac string) bool {
	if strings.ContainsAny(mac[1:2], "13579bdf") || mac == "00:00:00:00:00:00" {
		return false
	}
	has := func(other ruleset.Endpoint) bool {
		return slices.ContainsFunc(other.Permits.MACs.List(), func(own string) bool { return strings.EqualFold(own, mac) })
	}
	return has(e) || !slices.ContainsFunc(m.document.Endpoints, func(other ruleset.Endpoint) bool {
		return has(other) && m.together(e.Name, other.Name)
	})
}

// loads are the numbers of routes and the MACs of endpoints, by route target.
type loads map[string]*struct {
	routes int
	macs   map[any]bool
}

func (l loads) add(endpoint string, v engine.View) {
	if l[endpoint] == nil {
		l[endpoint] = &struct {
			routes int
			macs   map[any]bool
		}{macs: map[any]bool{}}
	}
	l[endpoint].routes++
	if mac, has := v.Family.Fields(v.NLRI)["mac"]; has {
		l[endpoint].macs[mac] = true
	}
}

func (l loads) over(e ruleset.Endpoint) bool {
	has, most := l[e.Name], e.Permits.MaxMACs
	return has != nil && (e.MaxRoutes > 0 && has.routes > e.MaxRoutes || most > 0 && len(has.macs) > most)
}
