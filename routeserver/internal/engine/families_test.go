package engine

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/rib"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// The routes of the second model, of all families.

// offer is a route that PEs of the model announce.
type offer struct {
	family      wire.Family
	nlri        bgp.NLRI
	rd          string // empty: the family has none
	route, text string // its key; the whole NLRI
	n           int    // number of its prefix, MAC or VE ID
}

func texts(list []offer) (texts []string) {
	for _, o := range list {
		texts = append(texts, o.text)
	}
	return texts
}

var mainFamilies = []wire.Family{wire.VPLS, wire.EVPN, wire.VPNv4, wire.VPNv6}

// someFamilies returns the main families of a world's sites: of all kinds, or of a few, so that sites share one more often.
func (w *world) someFamilies() (list [worldSites]wire.Family) {
	kinds := 1 + w.r.IntN(len(mainFamilies))
	first := w.r.IntN(len(mainFamilies))
	for i := range list {
		list[i] = mainFamilies[(first+w.r.IntN(kinds))%len(mainFamilies)]
	}
	return list
}

// anyRoutes returns routes of one family with the route distinguisher of a site. Mostly it is the family of a site, which
// may be another one; otherwise the routes are traffic filters, or of a family that is not the site's.
func (w *world) anyRoutes(site, distinguisher int) (list []offer) {
	f := w.families[site]
	switch w.r.IntN(12) {
	case 0:
		f = mainFamilies[w.r.IntN(len(mainFamilies))]
	case 1, 2:
		f = wire.Flow4 + wire.Family(w.r.IntN(4))
	}
	rd := fmt.Sprintf("65000:%d", distinguisher+1)
	first := 1 + w.r.IntN(3)
	for n := first; n <= min(3, first+w.r.IntN(3)); n++ {
		list = append(list, w.offerOf(f, rd, n))
	}
	return list
}

func (w *world) offerOf(f wire.Family, rd string, n int) offer {
	nlri := w.routeOf(f, rd, n)
	o := offer{family: f, nlri: nlri, rd: rd, route: nlri.String(), text: nlri.String(), n: n}
	switch f {
	case wire.Flow4, wire.Flow6:
		o.rd = ""
	case wire.VPLS:
		o.route, _, _ = strings.Cut(o.text, " ") // without the label block
	}
	return o
}

func (w *world) routeOf(f wire.Family, rd string, n int) bgp.NLRI {
	distinguisher, err := bgp.ParseRouteDistinguisher(rd)
	check := func(err error) {
		if err != nil {
			w.t.Fatal(err)
		}
	}
	check(err)
	text := fmt.Sprintf("10.%d.0.0/20", n)
	if f == wire.VPNv6 || f == wire.Flow6 || f == wire.FlowVPN6 {
		text = fmt.Sprintf("2001:db8:%d::/52", n)
	}
	prefix := netip.MustParsePrefix(text)
	family := bgp.NewFamily(f.AFI(), f.SAFI())
	var nlri bgp.NLRI
	switch f {
	case wire.VPLS:
		nlri = bgp.NewVPLSNLRI(distinguisher, uint16(n), 1, 64, uint32(100*(1+w.r.IntN(2))))
	case wire.EVPN:
		esi := bgp.EthernetSegmentIdentifier{Type: bgp.ESI_ARBITRARY, Value: make([]byte, 9)}
		nlri, err = bgp.NewEVPNMacIPAdvertisementRoute(distinguisher, esi, 0, fmt.Sprintf("02:00:00:00:00:%02x", n), netip.Addr{}, []uint32{7})
	case wire.VPNv4, wire.VPNv6:
		nlri, err = bgp.NewLabeledVPNIPAddrPrefix(prefix, *bgp.NewMPLSLabelStack(uint32(100 * (1 + w.r.IntN(2)))), distinguisher)
	default:
		to, prefixErr := bgp.NewIPAddrPrefix(prefix)
		check(prefixErr)
		parts := []bgp.FlowSpecComponentInterface{bgp.NewFlowSpecDestinationPrefix(to)}
		if f.AFI() == 2 {
			parts[0] = bgp.NewFlowSpecDestinationPrefix6(to, 0)
		}
		if f == wire.Flow4 || f == wire.Flow6 {
			nlri, err = bgp.NewFlowSpecUnicast(family, parts)
		} else {
			nlri, err = bgp.NewFlowSpecVPN(family, distinguisher, parts)
		}
	}
	check(err)
	return nlri
}

// TestWhatCannotBeRewrittenIsQuarantined checks routes that also have route targets in another attribute: everybody in the
// pool would see these.
func TestWhatCannotBeRewrittenIsQuarantined(t *testing.T) {
	set, err := ruleset.Build(&ruleset.Document{
		Peers:     []ruleset.Peer{{Name: "pe0", Address: "10.0.0.1", ASN: 65000}},
		Endpoints: []ruleset.Endpoint{{Name: "site0", Peer: "pe0", Family: "vpnv4", RT: "65000:1", RD: "65000:1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const own, six = "\x00\x02\xfd\xe8\x00\x00\x00\x01", "\xc0\x19\x14\x00\x02\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
	for _, c := range []struct {
		family     wire.Family
		attributes wire.Attributes
		reason     rib.Reason
	}{
		{wire.VPNv4, wire.Attributes{RTs: own}, ""},
		{wire.FlowVPN4, wire.Attributes{RTs: own}, ""},
		{wire.VPNv6, wire.Attributes{RTs: own}, rib.Family},
		{wire.VPNv4, wire.Attributes{RTs: own, Path: six}, rib.Ambiguous},
		{wire.FlowVPN4, wire.Attributes{RTs: own, Communities: "\x80\x08\xfd\xe8\x00\x00\x00\x07"}, rib.Redirect},
	} {
		if endpoint, reason := Judge(set, "pe0", c.family, &c.attributes); reason != c.reason || (endpoint == "") != (reason != "") {
			t.Errorf("%s %+v: %q, %q", c.family, c.attributes, endpoint, reason)
		}
	}
}
