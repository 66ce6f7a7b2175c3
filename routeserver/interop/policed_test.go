package interop

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// policed is gobgpd in the route server's place, as far as policies allow: import policies mark a PE's routes that have
// its route target with its pools; export policies take those of the recipient's pools and replace their route target.
type policed struct {
	t   *testing.T
	api api.GoBgpServiceClient
}

func startPoliced(t *testing.T, remote netip.AddrPort) *policed {
	t.Helper()
	host := free(t, remote.Addr().String())
	spawn(t, program(t, gobgpdCommand), "--api-hosts", host, "--log-level", "warn", "--pprof-disable")
	cc, err := grpc.NewClient(host, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	p := &policed{t, api.NewGoBgpServiceClient(cc)}
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	_, err = p.api.StartBgp(ctx, &api.StartBgpRequest{Global: &api.Global{
		Asn: 65000, RouterId: "10.255.0.2", ListenPort: int32(remote.Port()), ListenAddresses: []string{remote.Addr().String()},
	}}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	p.set(nil)
	for name, direction := range map[string]api.PolicyDirection{"in": api.PolicyDirection_POLICY_DIRECTION_IMPORT, "out": api.PolicyDirection_POLICY_DIRECTION_EXPORT} {
		_, err := p.api.AddPolicyAssignment(ctx, &api.AddPolicyAssignmentRequest{Assignment: &api.PolicyAssignment{
			Name: "global", Direction: direction, Policies: []*api.Policy{{Name: name}}, DefaultAction: api.RouteAction_ROUTE_ACTION_REJECT,
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for pe := range differentialPEs {
		peer := &api.Peer{
			Conf:           &api.PeerConf{NeighborAddress: differentialAddress(pe), PeerAsn: 65000},
			Transport:      &api.Transport{PassiveMode: true, LocalAddress: remote.Addr().String()},
			RouteReflector: &api.RouteReflector{RouteReflectorClient: true, RouteReflectorClusterId: "10.255.0.2"},
		}
		for _, f := range []bgp.Family{bgp.RF_IPv4_VPN, bgp.RF_FS_IPv4_VPN} {
			peer.AfiSafis = append(peer.AfiSafis, &api.AfiSafi{Config: &api.AfiSafiConfig{
				Family: &api.Family{Afi: api.Family_Afi(f.Afi()), Safi: api.Family_Safi(f.Safi())}, Enabled: true,
			}})
		}
		if _, err := p.api.AddPeer(ctx, &api.AddPeerRequest{Peer: peer}); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// set puts the policies for some memberships in force, and softly resets all neighbours.
func (p *policed) set(members map[membership]bool) {
	p.t.Helper()
	r := &api.SetPoliciesRequest{}
	in, out := &api.Policy{Name: "in"}, &api.Policy{Name: "out"}
	any := func(name string) *api.MatchSet { return &api.MatchSet{Type: api.MatchSet_TYPE_ANY, Name: name} }
	define := func(kind api.DefinedType, name string, list ...string) {
		r.DefinedSets = append(r.DefinedSets, &api.DefinedSet{DefinedType: kind, Name: name, List: list})
	}
	for pe := range differentialPEs {
		name, rt := fmt.Sprintf("pe%d", pe), fmt.Sprintf("65000:%d", pe+1)
		var marks, expressions []string
		for pool := range differentialPools {
			if members[membership{pe, pool}] {
				marks = append(marks, fmt.Sprintf("1:%d", pool))
				expressions = append(expressions, fmt.Sprintf("^1:%d$", pool))
			}
		}
		if marks == nil {
			continue // an empty set would match everything
		}
		define(api.DefinedType_DEFINED_TYPE_NEIGHBOR, name, differentialAddress(pe)+"/32")
		define(api.DefinedType_DEFINED_TYPE_COMMUNITY, "pools-of-"+name, expressions...)
		define(api.DefinedType_DEFINED_TYPE_EXT_COMMUNITY, "rt-of-"+name, "rt:^"+rt+"$")
		in.Statements = append(in.Statements, &api.Statement{
			Name:       "from-" + name,
			Conditions: &api.Conditions{NeighborSet: any(name), ExtCommunitySet: any("rt-of-" + name)},
			Actions: &api.Actions{RouteAction: api.RouteAction_ROUTE_ACTION_ACCEPT,
				Community: &api.CommunityAction{Type: api.CommunityAction_TYPE_REPLACE, Communities: marks}},
		})
		out.Statements = append(out.Statements, &api.Statement{
			Name:       "to-" + name,
			Conditions: &api.Conditions{NeighborSet: any(name), CommunitySet: any("pools-of-" + name)},
			Actions: &api.Actions{RouteAction: api.RouteAction_ROUTE_ACTION_ACCEPT,
				ExtCommunity: &api.CommunityAction{Type: api.CommunityAction_TYPE_REPLACE, Communities: []string{"rt:" + rt}}},
		})
	}
	r.Policies = []*api.Policy{in, out}
	if _, err := p.api.SetPolicies(context.Background(), r); err != nil {
		p.t.Fatal(err)
	}
	for pe := range differentialPEs {
		if members == nil {
			break // there are no neighbours yet
		}
		_, err := p.api.ResetPeer(context.Background(), &api.ResetPeerRequest{
			Address: differentialAddress(pe), Soft: true, Direction: api.ResetPeerRequest_DIRECTION_BOTH,
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
}
