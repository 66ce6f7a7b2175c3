package interop

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/ruleset"
)

var (
	vpnv4   = &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_MPLS_VPN}
	flowVPN = &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_FLOW_SPEC_VPN}
	rtc     = &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_ROUTE_TARGET_CONSTRAINTS}
)

// vrf makes a VRF that imports and exports a route target. With RT-Constrain the daemon asks for it then.
func (g *gobgpd) vrf(number uint32) {
	g.t.Helper()
	rd, err := apiutil.MarshalRD(bgp.NewRouteDistinguisherTwoOctetAS(65000, number))
	if err != nil {
		g.t.Fatal(err)
	}
	rts, err := apiutil.MarshalRTs([]bgp.ExtendedCommunityInterface{bgp.NewTwoOctetAsSpecificExtended(bgp.EC_SUBTYPE_ROUTE_TARGET, 65000, number, true)})
	if err != nil {
		g.t.Fatal(err)
	}
	v := &api.Vrf{Name: fmt.Sprintf("vrf%d", number), Id: number, Rd: rd, ImportRt: rts, ExportRt: rts}
	if _, err := g.api.AddVrf(context.Background(), &api.AddVrfRequest{Vrf: v}); err != nil {
		g.t.Fatal(err)
	}
}

// TestGobgpdVPNv4: two PEs with VPNv4 and traffic filters, a third one that constrains routes to those of its VRF, and a
// fourth that asks for none.
func TestGobgpdVPNv4(t *testing.T) {
	if testing.Short() {
		t.Skip("building gobgpd takes a minute")
	}
	server := free(t, "127.0.77.1")
	host := free(t, "127.0.77.1")
	run(t, build(t, "weft/routeserver/cmd/weft-routeserver"), flags(t, server, host)...)
	c := &control{t, "http://" + host, http.DefaultClient}
	d := &ruleset.Document{Generation: 1}
	for i := range 4 {
		name, rt := fmt.Sprintf("pe%d", i+1), fmt.Sprintf("65000:%d", i+1)
		d.Peers = append(d.Peers, ruleset.Peer{Name: name, Address: fmt.Sprintf("127.0.77.%d", i+11), ASN: 65000})
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: "vrf" + name, Peer: name, Family: "vpnv4", RT: rt, RD: rt})
	}
	d.Vcps = []ruleset.Vcp{{Name: "pool", Members: []string{"vrfpe1", "vrfpe2", "vrfpe3", "vrfpe4"}}}
	c.replace(d)

	binary := build(t, "github.com/osrg/gobgp/v4/cmd/gobgpd")
	var pes []*gobgpd
	for i := range 4 {
		families := []*api.Family{vpnv4, flowVPN}
		if i > 1 {
			families = append(families, rtc)
		}
		pes = append(pes, startGobgpd(t, binary, fmt.Sprintf("127.0.77.%d", i+11), server, families...))
	}
	pes[2].vrf(3)
	until(t, "four sessions", func() bool { return c.established() == 4 })
	for i := range 3 {
		rd := bgp.NewRouteDistinguisherTwoOctetAS(65000, uint32(i+1))
		n, err := bgp.NewLabeledVPNIPAddrPrefix(netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/20", i+1)), *bgp.NewMPLSLabelStack(uint32(100 + i)), rd)
		if err != nil {
			t.Fatal(err)
		}
		pes[i].announceRoute(vpnv4, n, uint32(i+1))
	}
	route := func(i int) string { return fmt.Sprintf("65000:%d:10.%d.0.0/20", i, i) }
	pes[0].hasOf(vpnv4, map[string]string{route(2): "65000:1", route(3): "65000:1"})
	pes[1].hasOf(vpnv4, map[string]string{route(1): "65000:2", route(3): "65000:2"})
	pes[2].hasOf(vpnv4, map[string]string{route(1): "65000:3", route(2): "65000:3"})
	pes[3].hasOf(vpnv4, map[string]string{})

	prefix, err := bgp.NewIPAddrPrefix(netip.MustParsePrefix("10.1.0.0/24"))
	if err != nil {
		t.Fatal(err)
	}
	filter, err := bgp.NewFlowSpecVPN(bgp.RF_FS_IPv4_VPN, bgp.NewRouteDistinguisherTwoOctetAS(65000, 1),
		[]bgp.FlowSpecComponentInterface{bgp.NewFlowSpecDestinationPrefix(prefix)})
	if err != nil {
		t.Fatal(err)
	}
	pes[0].announceRoute(flowVPN, filter, 1, bgp.NewTrafficRateExtended(65000, 0))
	pes[1].hasOf(flowVPN, map[string]string{filter.String(): "65000:2"})
	pes[2].hasOf(flowVPN, map[string]string{filter.String(): "65000:3"})

	c.change(1, ruleset.Leave, "pool", "vrfpe1")
	pes[0].hasOf(vpnv4, map[string]string{})
	pes[1].hasOf(vpnv4, map[string]string{route(3): "65000:2"})
	pes[1].hasOf(flowVPN, map[string]string{})
	pes[2].hasOf(vpnv4, map[string]string{route(2): "65000:3"})
	pes[3].vrf(4) // asks now
	pes[3].hasOf(vpnv4, map[string]string{route(2): "65000:4", route(3): "65000:4"})
}
