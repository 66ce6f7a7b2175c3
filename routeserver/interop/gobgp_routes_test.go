package interop

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/wire"
)

// path announces or withdraws a route.
func (g *gobgpd) path(r route, withdrawal bool) {
	g.t.Helper()
	n, communities := g.nlri(r)
	hop := netip.MustParseAddr(g.id())
	if r.family == wire.VPNv6 {
		hop = netip.MustParseAddr(g.hop6())
	}
	reach, err := bgp.NewPathAttributeMpReachNLRI(bgp.NewFamily(r.family.AFI(), r.family.SAFI()), []bgp.PathNLRI{{NLRI: n}}, hop)
	if err != nil {
		g.t.Fatal(err)
	}
	nlri, err := n.Serialize()
	if err != nil {
		g.t.Fatal(err)
	}
	path := &api.Path{NlriBinary: nlri, Family: familyOf(r.family), IsWithdraw: withdrawal}
	communities = append(communities, bgp.NewTwoOctetAsSpecificExtended(bgp.EC_SUBTYPE_ROUTE_TARGET, 65000, uint32(r.site), true))
	for _, a := range []bgp.PathAttributeInterface{bgp.NewPathAttributeOrigin(0), reach, bgp.NewPathAttributeExtendedCommunities(communities)} {
		data, err := a.Serialize()
		if err != nil {
			g.t.Fatal(err)
		}
		path.PattrsBinary = append(path.PattrsBinary, data)
	}
	if withdrawal {
		_, err = g.api.DeletePath(context.Background(), &api.DeletePathRequest{TableType: api.TableType_TABLE_TYPE_GLOBAL, Family: path.Family, Path: path})
	} else {
		_, err = g.api.AddPath(context.Background(), &api.AddPathRequest{TableType: api.TableType_TABLE_TYPE_GLOBAL, Path: path})
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// nlri returns a route's NLRI, and the communities beside its route target.
func (g *gobgpd) nlri(r route) (n bgp.NLRI, communities []bgp.ExtendedCommunityInterface) {
	g.t.Helper()
	rd := bgp.NewRouteDistinguisherTwoOctetAS(65000, uint32(r.site))
	label := uint32(r.label())
	vxlan := bgp.NewEncapExtended(bgp.TUNNEL_TYPE_VXLAN)
	single := bgp.EthernetSegmentIdentifier{Value: make([]byte, 9)}
	esi := bgp.EthernetSegmentIdentifier{Type: bgp.ESI_MAC, Value: []byte{2, 0, 0, 0, 0, byte(r.site), 0, 0, 1}}
	var err error
	switch r.family {
	case wire.VPLS:
		return bgp.NewVPLSNLRI(rd, uint16(r.number), 1, 64, label), []bgp.ExtendedCommunityInterface{bgp.NewVPLSExtended(0, 1450), vxlan}
	case wire.EVPN:
		communities = append(communities, vxlan)
		switch r.number {
		case 1:
			n, communities = bgp.NewEVPNEthernetAutoDiscoveryRoute(rd, esi, 0, label), append(communities, bgp.NewESILabelExtended(0, false))
		case 2:
			n, err = bgp.NewEVPNMacIPAdvertisementRoute(rd, single, 0, r.mac(), netip.MustParseAddr(r.host()), []uint32{label})
		case 3:
			n, err = bgp.NewEVPNMulticastEthernetTagRoute(rd, 0, netip.MustParseAddr(r.vtep()))
		case 4:
			n, err = bgp.NewEVPNEthernetSegmentRoute(rd, esi, netip.MustParseAddr(r.vtep()))
			communities = append(communities, bgp.NewESImportRouteTarget(r.mac()))
		case 5:
			p := netip.MustParsePrefix(r.prefix4())
			n, err = bgp.NewEVPNIPPrefixRoute(rd, single, 0, uint8(p.Bits()), p.Addr(), netip.IPv4Unspecified(), label)
			communities = append(communities, bgp.NewRoutersMacExtended(r.mac()))
		}
	case wire.VPNv4, wire.VPNv6:
		n, err = bgp.NewLabeledVPNIPAddrPrefix(netip.MustParsePrefix(r.prefix()), *bgp.NewMPLSLabelStack(label), rd)
	default:
		communities = append(communities, bgp.NewTrafficRateExtended(65000, 0))
		prefix, bad := bgp.NewIPAddrPrefix(netip.MustParsePrefix(r.prefix()))
		if bad != nil {
			g.t.Fatal(bad)
		}
		filter := []bgp.FlowSpecComponentInterface{bgp.NewFlowSpecDestinationPrefix(prefix)}
		if r.family == wire.Flow6 || r.family == wire.FlowVPN6 {
			filter[0] = bgp.NewFlowSpecDestinationPrefix6(prefix, 0)
		}
		if r.family == wire.Flow4 || r.family == wire.Flow6 {
			n, err = bgp.NewFlowSpecUnicast(bgp.NewFamily(r.family.AFI(), r.family.SAFI()), filter)
		} else {
			n, err = bgp.NewFlowSpecVPN(bgp.NewFamily(r.family.AFI(), r.family.SAFI()), rd, filter)
		}
	}
	if err != nil {
		g.t.Fatal(err)
	}
	return n, communities
}

func (g *gobgpd) learned(f wire.Family) table {
	g.t.Helper()
	stream, err := g.api.ListPath(context.Background(), &api.ListPathRequest{
		TableType: api.TableType_TABLE_TYPE_GLOBAL, Family: familyOf(f), EnableAttributeBinary: true, EnableNlriBinary: true,
	})
	if err != nil {
		g.t.Fatal(err)
	}
	routes := table{}
	for {
		reply, err := stream.Recv()
		if err == io.EOF {
			return routes
		}
		if err != nil {
			g.t.Fatal(err)
		}
		for _, path := range reply.Destination.Paths {
			if path.NeighborIp != g.server() {
				continue // gobgpd's own
			}
			n, err := bgp.NLRIFromSlice(bgp.NewFamily(f.AFI(), f.SAFI()), path.NlriBinary)
			if err != nil {
				g.t.Fatal(err)
			}
			routes[nameOf(n)] = targetsOf(g.t, path.PattrsBinary)
		}
	}
}

// nameOf returns the name of the route as route.String gives it.
func nameOf(n bgp.NLRI) string {
	switch n := n.(type) {
	case *bgp.VPLSNLRI:
		return vplsName(n.RD().String(), int(n.VEID), int(n.VEBlockOffset), int(n.VEBlockSize), int(n.LabelBlockBase))
	case *bgp.EVPNNLRI:
		rd := n.RD().String() + " "
		switch d := n.RouteTypeData.(type) {
		case *bgp.EVPNEthernetAutoDiscoveryRoute:
			return rd + fmt.Sprintf("[1]:[%d]:[%s]", d.ETag, esiName(d.ESI))
		case *bgp.EVPNMacIPAdvertisementRoute:
			return rd + fmt.Sprintf("[2]:[%d]:[48]:[%s]:[%d]:[%s]", d.ETag, d.MacAddress, d.IPAddressLength, d.IPAddress)
		case *bgp.EVPNMulticastEthernetTagRoute:
			return rd + fmt.Sprintf("[3]:[%d]:[%d]:[%s]", d.ETag, d.IPAddressLength, d.IPAddress)
		case *bgp.EVPNEthernetSegmentRoute:
			return rd + fmt.Sprintf("[4]:[%s]:[%d]:[%s]", esiName(d.ESI), d.IPAddressLength, d.IPAddress)
		case *bgp.EVPNIPPrefixRoute:
			return rd + fmt.Sprintf("[5]:[%d]:[%d]:[%s]", d.ETag, d.IPPrefixLength, d.IPPrefix)
		}
	case *bgp.LabeledVPNIPAddrPrefix:
		return n.RD.String() + " " + n.IPPrefix()
	case *bgp.FlowSpecNLRI:
		name := "to " + strings.TrimSuffix(strings.TrimSuffix(n.Value[0].String()[len("[destination: "):], "]"), "/0")
		if rd := n.RD(); rd != nil {
			name = rd.String() + " " + name
		}
		return name
	}
	return n.String()
}

func esiName(esi bgp.EthernetSegmentIdentifier) string {
	data, err := esi.Serialize()
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(fmt.Sprintf("% x", data), " ", ":")
}

func targetsOf(t *testing.T, attributes [][]byte) string {
	t.Helper()
	var rts []string
	for _, data := range attributes {
		p, err := bgp.GetPathAttribute(data)
		if err == nil {
			err = p.DecodeFromBytes(data)
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := p.(*bgp.PathAttributeExtendedCommunities); ok {
			for _, c := range c.Value {
				if kind, sub := c.GetTypes(); sub == bgp.EC_SUBTYPE_ROUTE_TARGET && kind <= bgp.EC_TYPE_TRANSITIVE_FOUR_OCTET_AS_SPECIFIC {
					rts = append(rts, c.String())
				}
			}
		}
	}
	return strings.Join(rts, " ")
}
