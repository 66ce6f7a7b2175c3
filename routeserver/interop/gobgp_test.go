package interop

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"weft/routeserver/internal/wire"
)

// gobgp is the PE speaker of Weft's own agents. Notes: it keeps nothing over a restart, so all routes are announced
// again; its MP_REACH_NLRI for filters has a next hop, which nobody needs; it distinguishes VPLS label blocks by the
// whole NLRI; a hold time of 0 means its default.
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
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 30 * time.Millisecond, Multiplier: 1, MaxDelay: time.Second}, MinConnectTimeout: 20 * time.Second}))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { cc.Close() })
	g.api = api.NewGoBgpServiceClient(cc)
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	if _, err := g.api.StartBgp(ctx, &api.StartBgpRequest{Global: &api.Global{
		Asn: g.asn, RouterId: g.id(), ListenPort: 179, ListenAddresses: []string{g.own()},
	}}, grpc.WaitForReady(true)); err != nil { // once: a second call would fail
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

func (g *gobgpd) kill() { g.process.kill(); g.process = nil }

func (g *gobgpd) restart() { g.t.Helper(); g.launch(true) }

func (g *gobgpd) daemon() *process { return g.process }

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

// vrf makes a VRF that imports and exports a route target. With RT-Constrain the daemon then asks for that target.
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
