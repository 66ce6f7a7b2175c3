package interop

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"weft/routeserver/wire"
)

// gobgp is the PE speaker of Weft's own agents. To know about it: it keeps nothing over a restart, so that everything is
// announced again; its MP_REACH_NLRI for filters has a next hop, which nobody wants; it tells VPLS label blocks apart by
// the whole NLRI; a hold time of 0 means its default.
var gobgp = &speaker{
	name:      "gobgpd",
	announces: []wire.Family{wire.VPLS, wire.EVPN, wire.VPNv4, wire.VPNv6, wire.Flow4, wire.Flow6, wire.FlowVPN4, wire.FlowVPN6},
	learns:    []wire.Family{wire.VPLS, wire.EVPN, wire.VPNv4, wire.VPNv6, wire.Flow4, wire.Flow6, wire.FlowVPN4, wire.FlowVPN6},
	evpn:      []int{1, 2, 3, 4, 5},
	graceful:  []wire.Family{wire.VPLS, wire.EVPN, wire.VPNv4, wire.VPNv6, wire.Flow4, wire.Flow6, wire.FlowVPN4, wire.FlowVPN6},
	helps:     []wire.Family{wire.VPLS, wire.EVPN, wire.VPNv4, wire.VPNv6, wire.Flow4, wire.Flow6, wire.FlowVPN4, wire.FlowVPN6},
	mute:      gobgpMute,
	start:     func(t *testing.T, at seat) pe { g := &gobgpd{t: t, seat: at}; g.launch(false); return g },
}

const gobgpMute = "gobgpd keeps what it was sent, and goes through that again when told to refresh"

type gobgpd struct {
	seat
	t       *testing.T
	process *process
	api     api.GoBgpServiceClient
	routes  []route
}

func familyOf(f wire.Family) *api.Family {
	return &api.Family{Afi: api.Family_Afi(f.AFI()), Safi: api.Family_Safi(f.SAFI())}
}

// launch starts the daemon and configures it over gRPC, first its routes and then its neighbour.
func (g *gobgpd) launch(again bool) {
	g.t.Helper()
	host := g.id() + ":50051"
	g.process = spawn(g.t, "ip", "netns", "exec", g.ns, program(g.t, gobgpdCommand), "--api-hosts", host, "--log-level", "warn", "--pprof-disable")
	cc, err := grpc.NewClient("passthrough:///"+host, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return dialIn(g.ns, host) }),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 30 * time.Millisecond, Multiplier: 1, MaxDelay: time.Second}}))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { cc.Close() })
	g.api = api.NewGoBgpServiceClient(cc)
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	if _, err := g.api.StartBgp(ctx, &api.StartBgpRequest{Global: &api.Global{
		Asn: g.asn, RouterId: g.id(), ListenPort: 179, ListenAddresses: []string{g.own()},
	}}, grpc.WaitForReady(true)); err != nil { // once: a second one would be an error
		g.t.Fatal(err)
	}
	for _, r := range g.routes {
		g.path(r, false)
	}
	peer := &api.Peer{
		Conf:      &api.PeerConf{NeighborAddress: g.server(), PeerAsn: 65000},
		Timers:    &api.Timers{Config: &api.TimersConfig{ConnectRetry: 1, IdleHoldTimeAfterReset: 1, HoldTime: uint64(g.hold), KeepaliveInterval: uint64(g.hold / 3)}},
		Transport: &api.Transport{LocalAddress: g.own(), PassiveMode: g.passive},
	}
	peer.Conf.AuthPassword = g.password
	if g.near {
		peer.TtlSecurity = &api.TtlSecurity{Enabled: true, TtlMin: 255}
	}
	if g.restarts {
		peer.GracefulRestart = &api.GracefulRestart{Enabled: true, RestartTime: restartTime, DeferralTime: 5, LocalRestarting: again}
	}
	for _, f := range g.families {
		peer.AfiSafis = append(peer.AfiSafis, &api.AfiSafi{
			Config:            &api.AfiSafiConfig{Family: familyOf(f), Enabled: true},
			MpGracefulRestart: &api.MpGracefulRestart{Config: &api.MpGracefulRestartConfig{Enabled: g.restarts}},
		})
	}
	if g.rtc {
		peer.AfiSafis = append(peer.AfiSafis, &api.AfiSafi{Config: &api.AfiSafiConfig{Family: familyOf(wire.RTC), Enabled: true}})
	}
	if _, err = g.api.AddPeer(context.Background(), &api.AddPeerRequest{Peer: peer}); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gobgpd) announce(routes ...route) {
	g.t.Helper()
	g.routes = append(g.routes, routes...)
	for _, r := range routes {
		g.path(r, false)
	}
}

func (g *gobgpd) withdraw(r route) {
	g.t.Helper()
	g.routes = slices.DeleteFunc(g.routes, func(have route) bool { return have == r })
	if g.process != nil {
		g.path(r, true)
	}
}

func (g *gobgpd) kill()    { g.process.kill(); g.process = nil }
func (g *gobgpd) restart() { g.t.Helper(); g.launch(true) }

func (g *gobgpd) daemon() *process { return g.process }

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

// nlri gives a route's NLRI, and the communities beside its route target.
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
				continue // its own
			}
			n, err := bgp.NLRIFromSlice(bgp.NewFamily(f.AFI(), f.SAFI()), path.NlriBinary)
			if err != nil {
				g.t.Fatal(err)
			}
			routes[nameOf(n)] = targetsOf(g.t, path.PattrsBinary)
		}
	}
}

// nameOf is the route as route.String has it.
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

func (g *gobgpd) refresh(wire.Family) { g.t.Fatal(gobgpMute) }

func (g *gobgpd) received() int {
	g.t.Helper()
	stream, err := g.api.ListPeer(context.Background(), &api.ListPeerRequest{Address: g.server()})
	if err != nil {
		g.t.Fatal(err)
	}
	reply, err := stream.Recv()
	if err != nil {
		g.t.Fatal(err)
	}
	return int(reply.Peer.State.Messages.Received.Update)
}

// vrf makes a VRF that imports and exports a route target. With RT-Constrain the daemon asks for it then.
func (g *gobgpd) vrf(site int) {
	g.t.Helper()
	rd, err := apiutil.MarshalRD(bgp.NewRouteDistinguisherTwoOctetAS(65000, uint32(site)))
	if err != nil {
		g.t.Fatal(err)
	}
	rts, err := apiutil.MarshalRTs([]bgp.ExtendedCommunityInterface{bgp.NewTwoOctetAsSpecificExtended(bgp.EC_SUBTYPE_ROUTE_TARGET, 65000, uint32(site), true)})
	if err != nil {
		g.t.Fatal(err)
	}
	v := &api.Vrf{Name: fmt.Sprintf("vrf%d", site), Id: uint32(site), Rd: rd, ImportRt: rts, ExportRt: rts}
	if _, err := g.api.AddVrf(context.Background(), &api.AddVrfRequest{Vrf: v}); err != nil {
		g.t.Fatal(err)
	}
}
