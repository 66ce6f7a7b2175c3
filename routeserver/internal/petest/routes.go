package petest

import (
	"net/netip"
	"testing"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

// VPLS makes a VPLS NLRI.
func VPLS(t testing.TB, rd string, ve, offset, size uint16, base uint32) bgp.NLRI {
	t.Helper()
	parsed, err := bgp.ParseRouteDistinguisher(rd)
	if err != nil {
		t.Fatal(err)
	}
	return bgp.NewVPLSNLRI(parsed, ve, offset, size, base)
}

// MAC makes an EVPN type 2 NLRI.
func MAC(t testing.TB, rd, mac, ip string, label uint32) bgp.NLRI {
	t.Helper()
	parsed, err := bgp.ParseRouteDistinguisher(rd)
	if err != nil {
		t.Fatal(err)
	}
	var address netip.Addr
	if ip != "" {
		address = netip.MustParseAddr(ip)
	}
	esi := bgp.EthernetSegmentIdentifier{Type: bgp.ESI_ARBITRARY, Value: make([]byte, 9)}
	nlri, err := bgp.NewEVPNMacIPAdvertisementRoute(parsed, esi, 0, mac, address, []uint32{label})
	if err != nil {
		t.Fatal(err)
	}
	return nlri
}

// Announcement makes an UPDATE with the usual attributes and these route targets; more are appended.
func Announcement(t testing.TB, f bgp.Family, nlris []bgp.NLRI, rts []string, more ...bgp.PathAttributeInterface) *bgp.BGPMessage {
	t.Helper()
	return AnnouncementVia(t, Hop, f, nlris, rts, more...)
}

// Hop is the usual next hop.
const Hop = "192.0.2.9"

// AnnouncementVia does the same as Announcement with another next hop.
func AnnouncementVia(t testing.TB, hop string, f bgp.Family, nlris []bgp.NLRI, rts []string, more ...bgp.PathAttributeInterface) *bgp.BGPMessage {
	t.Helper()
	reach, err := bgp.NewPathAttributeMpReachNLRI(f, paths(nlris), netip.MustParseAddr(hop))
	if err != nil {
		t.Fatal(err)
	}
	attributes := []bgp.PathAttributeInterface{
		bgp.NewPathAttributeOrigin(0), bgp.NewPathAttributeAsPath(nil), bgp.NewPathAttributeLocalPref(100), reach,
	}
	communities := []bgp.ExtendedCommunityInterface{bgp.NewEncapExtended(bgp.TUNNEL_TYPE_VXLAN)}
	for _, rt := range rts {
		c, err := bgp.ParseRouteTarget(rt)
		if err != nil {
			t.Fatal(err)
		}
		communities = append(communities, c)
	}
	attributes = append(attributes, bgp.NewPathAttributeExtendedCommunities(communities))
	return bgp.NewBGPUpdateMessage(nil, append(attributes, more...), nil)
}

// Withdrawal makes an UPDATE that withdraws.
func Withdrawal(t testing.TB, f bgp.Family, nlris []bgp.NLRI) *bgp.BGPMessage {
	t.Helper()
	unreach, err := bgp.NewPathAttributeMpUnreachNLRI(f, paths(nlris))
	if err != nil {
		t.Fatal(err)
	}
	return bgp.NewBGPUpdateMessage(nil, []bgp.PathAttributeInterface{unreach}, nil)
}

func paths(nlris []bgp.NLRI) []bgp.PathNLRI {
	list := make([]bgp.PathNLRI, len(nlris))
	for i := range nlris {
		list[i] = bgp.PathNLRI{NLRI: nlris[i]}
	}
	return list
}
