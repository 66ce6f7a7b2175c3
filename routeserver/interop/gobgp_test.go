package interop

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"weft/routeserver/ruleset"
)

// gobgpd is a PE: the daemon, configured wholly over gRPC.
type gobgpd struct {
	t       *testing.T
	api     api.GoBgpServiceClient
	address string
}

func free(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func startGobgpd(t *testing.T, binary, address, server string, families ...*api.Family) *gobgpd {
	t.Helper()
	if families == nil {
		families = []*api.Family{vpls}
	}
	var enabled []*api.AfiSafi
	for _, f := range families {
		enabled = append(enabled, &api.AfiSafi{Config: &api.AfiSafiConfig{Family: f, Enabled: true}})
	}
	host := free(t, address)
	run(t, binary, "--api-hosts", host, "--log-level", "warn", "--pprof-disable")
	cc, err := grpc.NewClient(host, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	g := &gobgpd{t, api.NewGoBgpServiceClient(cc), address}
	until(t, "gobgpd", func() bool {
		_, err := g.api.StartBgp(context.Background(), &api.StartBgpRequest{Global: &api.Global{Asn: 65000, RouterId: address, ListenPort: -1}})
		return err == nil
	})
	remote := netip.MustParseAddrPort(server)
	_, err = g.api.AddPeer(context.Background(), &api.AddPeerRequest{Peer: &api.Peer{
		Conf:      &api.PeerConf{NeighborAddress: remote.Addr().String(), PeerAsn: 65000},
		Timers:    &api.Timers{Config: &api.TimersConfig{ConnectRetry: 1, IdleHoldTimeAfterReset: 1}},
		Transport: &api.Transport{LocalAddress: address, RemotePort: uint32(remote.Port())},
		AfiSafis:  enabled,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

var vpls = &api.Family{Afi: api.Family_AFI_L2VPN, Safi: api.Family_SAFI_VPLS}

func (g *gobgpd) announce(site uint16, rt uint32) {
	g.t.Helper()
	rd := bgp.NewRouteDistinguisherTwoOctetAS(65000, uint32(site))
	g.announceRoute(vpls, bgp.NewVPLSNLRI(rd, site, 1, 64, uint32(site)<<12|1), rt, bgp.NewVPLSExtended(0, 1450))
}

func (g *gobgpd) announceRoute(f *api.Family, n bgp.NLRI, rt uint32, more ...bgp.ExtendedCommunityInterface) {
	g.t.Helper()
	reach, err := bgp.NewPathAttributeMpReachNLRI(bgp.NewFamily(uint16(f.Afi), uint8(f.Safi)), []bgp.PathNLRI{{NLRI: n}}, netip.MustParseAddr(g.address))
	if err != nil {
		g.t.Fatal(err)
	}
	nlri, err := n.Serialize()
	if err != nil {
		g.t.Fatal(err)
	}
	path := &api.Path{NlriBinary: nlri, Family: f}
	communities := append(more, bgp.NewTwoOctetAsSpecificExtended(bgp.EC_SUBTYPE_ROUTE_TARGET, 65000, rt, true), bgp.NewEncapExtended(bgp.TUNNEL_TYPE_VXLAN))
	for _, a := range []bgp.PathAttributeInterface{bgp.NewPathAttributeOrigin(0), reach, bgp.NewPathAttributeExtendedCommunities(communities)} {
		data, err := a.Serialize()
		if err != nil {
			g.t.Fatal(err)
		}
		path.PattrsBinary = append(path.PattrsBinary, data)
	}
	if _, err := g.api.AddPath(context.Background(), &api.AddPathRequest{TableType: api.TableType_TABLE_TYPE_GLOBAL, Path: path}); err != nil {
		g.t.Fatal(err)
	}
}

// routes gives what gobgpd learned: NLRI to route targets.
func (g *gobgpd) routes() map[string]string { return g.routesOf(vpls) }

func (g *gobgpd) routesOf(f *api.Family) map[string]string {
	g.t.Helper()
	stream, err := g.api.ListPath(context.Background(), &api.ListPathRequest{
		TableType: api.TableType_TABLE_TYPE_GLOBAL, Family: f, EnableAttributeBinary: true,
	})
	if err != nil {
		g.t.Fatal(err)
	}
	routes := map[string]string{}
	for {
		reply, err := stream.Recv()
		if err == io.EOF {
			return routes
		}
		if err != nil {
			g.t.Fatal(err)
		}
		for _, path := range reply.Destination.Paths {
			if path.NeighborIp == "" || path.NeighborIp == "<nil>" || path.NeighborIp == "invalid IP" {
				continue // its own
			}
			routes[reply.Destination.Prefix] = targetsOf(g.t, path.PattrsBinary)
		}
	}
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
				if _, sub := c.GetTypes(); sub == bgp.EC_SUBTYPE_ROUTE_TARGET {
					rts = append(rts, c.String())
				}
			}
		}
	}
	return strings.Join(rts, " ")
}

func (g *gobgpd) has(want map[string]string) { g.t.Helper(); g.hasOf(vpls, want) }

func (g *gobgpd) hasOf(f *api.Family, want map[string]string) {
	g.t.Helper()
	until(g.t, fmt.Sprintf("%s to have %v, not %v", g.address, want, g.routesOf(f)), func() bool { return fmt.Sprint(g.routesOf(f)) == fmt.Sprint(want) })
}

func TestGobgpd(t *testing.T) {
	if testing.Short() {
		t.Skip("building gobgpd takes a minute")
	}
	server := free(t, "127.0.79.1")
	host := free(t, "127.0.79.1")
	run(t, build(t, "weft/routeserver/cmd/weft-routeserver"), flags(t, server, host)...)
	c := &control{t, "http://" + host, http.DefaultClient}
	d := &ruleset.Document{Generation: 1}
	for i := range 3 {
		name, rt := fmt.Sprintf("pe%d", i+1), fmt.Sprintf("65000:%d", i+1)
		d.Peers = append(d.Peers, ruleset.Peer{Name: name, Address: fmt.Sprintf("127.0.79.%d", i+11), ASN: 65000})
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: "lan" + name, Peer: name, Family: "l2vpn-vpls", RT: rt, RD: rt})
	}
	d.Vcps = []ruleset.Vcp{{Name: "pool", Members: []string{"lanpe1", "lanpe2"}}}
	c.replace(d)

	binary := build(t, "github.com/osrg/gobgp/v4/cmd/gobgpd")
	var pes []*gobgpd
	for i := range 3 {
		pes = append(pes, startGobgpd(t, binary, fmt.Sprintf("127.0.79.%d", i+11), server))
		pes[i].announce(uint16(i+1), uint32(i+1))
	}
	until(t, "three sessions", func() bool { return c.established() == 3 })
	route := func(i int) string {
		return fmt.Sprintf("65000:%d:%d:1 (Block Size: 64, Label Block Base: %d)", i, i, i<<12|1)
	}
	pes[0].has(map[string]string{route(2): "65000:1"})
	pes[1].has(map[string]string{route(1): "65000:2"})
	pes[2].has(map[string]string{})

	if r := c.change(1, ruleset.Join, "pool", "lanpe3"); r.Announced != 4 || len(r.Peers) != 3 {
		t.Errorf("receipt of the join %+v", r)
	}
	pes[0].has(map[string]string{route(2): "65000:1", route(3): "65000:1"})
	pes[2].has(map[string]string{route(1): "65000:3", route(2): "65000:3"})
	if r := c.change(2, ruleset.Leave, "pool", "lanpe1"); r.Withdrawn != 4 {
		t.Errorf("receipt of the leave %+v", r)
	}
	pes[0].has(map[string]string{})
	pes[1].has(map[string]string{route(3): "65000:2"})

	// A PE that announces another's route target: quarantined, and forwarded to nobody.
	pes[0].announce(9, 3)
	until(t, "the quarantine", func() bool {
		var list struct {
			Routes []struct{ Reason, Peer string }
		}
		if err := c.call("GET", "/v1/routes?table=quarantine", nil, &list); err != nil {
			t.Fatal(err)
		}
		return len(list.Routes) == 1 && list.Routes[0].Reason == "foreign-rt" && list.Routes[0].Peer == "pe1"
	})
	pes[1].has(map[string]string{route(3): "65000:2"})
}
