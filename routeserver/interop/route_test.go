package interop

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"weft/routeserver/internal/wire"
)

// route is a route that a PE announces, given by numbers: the site, which determines its route target and RD
// (65000:site), and the number of the site's route. In EVPN that is its type.
type route struct {
	family wire.Family
	site   int
	number int
}

// siteOf returns the number of PE p's site in a family. Traffic filters belong to the site with the filtered addresses.
func siteOf(p int, f wire.Family) int {
	switch f {
	case wire.Flow4, wire.FlowVPN4:
		f = wire.VPNv4
	case wire.Flow6, wire.FlowVPN6:
		f = wire.VPNv6
	}
	return 10*p + int(f)
}

func target(site int) string { return fmt.Sprintf("65000:%d", site) }

func (r route) rt() string      { return target(r.site) }
func (r route) prefix6() string { return fmt.Sprintf("2001:db8:%x:%x::/64", r.site, r.number) }
func (r route) mac() string     { return fmt.Sprintf("02:00:00:00:00:%02x", r.site) }
func (r route) host() string    { return fmt.Sprintf("10.%d.2.1", r.site) }
func (r route) vtep() string    { return ipv4(r.site / 10) }
func (r route) esi() string     { return fmt.Sprintf("03:02:00:00:00:00:%02x:00:00:01", r.site) }
func (r route) label() int      { return 1000 + 64*r.site }

// prefix4 has room for thousands of routes of a site.
func (r route) prefix4() string {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(r.site), byte(r.number), byte(r.number >> 8 << 4)}), 28).String()
}

// prefix returns the prefix of a VPN route or a filter.
func (r route) prefix() string {
	if r.family == wire.VPNv6 || r.family == wire.Flow6 || r.family == wire.FlowVPN6 {
		return r.prefix6()
	}
	return r.prefix4()
}

// String names the route in the same way for all daemons.
func (r route) String() string {
	switch r.family {
	case wire.VPLS:
		return vplsName(r.rt(), r.number, 1, 64, r.label())
	case wire.EVPN: // FRR's notation
		return r.rt() + " " + [...]string{
			1: "[1]:[0]:[" + r.esi() + "]",
			2: "[2]:[0]:[48]:[" + r.mac() + "]:[32]:[" + r.host() + "]",
			3: "[3]:[0]:[32]:[" + r.vtep() + "]",
			4: "[4]:[" + r.esi() + "]:[32]:[" + r.vtep() + "]",
			5: "[5]:[0]:[28]:[" + strings.TrimSuffix(r.prefix4(), "/28") + "]",
		}[r.number]
	case wire.Flow4, wire.Flow6:
		return "to " + r.prefix()
	case wire.FlowVPN4, wire.FlowVPN6:
		return r.rt() + " to " + r.prefix()
	}
	return r.rt() + " " + r.prefix()
}

func vplsName(rd string, ve, offset, size, base int) string {
	return fmt.Sprintf("%s ve %d offset %d size %d base %d", rd, ve, offset, size, base)
}

// table maps the routes that a PE has learned in a family to their route targets.
type table map[string]string

// add adds routes of other PEs that a PE of a site should have: all with the route target of its own site.
func (t table) add(site int, routes ...route) table {
	for _, r := range routes {
		t[r.String()] = target(site)
	}
	return t
}

func (t table) String() string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		lines = append(lines, name+" for "+t[name])
	}
	return "{" + strings.Join(lines, "; ") + "}"
}
