package main

import (
	"context"
	"fmt"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// gobgp is stock gobgpd, used in two ways (reorigin is a third one).
//
// With RT-Constrain: an import policy with a statement per pool replaces a route's route target by those of all
// members, and RT-Constrain decides which PEs get the route. A change sets the policies and softly resets the members
// of both pools inbound. PEs see the route targets of their whole pool.
//
// With export statements: the import policy marks routes with their pool; the export policy has a statement per PE that
// takes the pool's routes and sets the PE's route target. A change sets the policies and softly resets one PE. gobgpd
// tries the statements one after the other for each path and peer, so that this suits few PEs only.
type gobgp struct {
	way    way
	p      *Process
	api    api.GoBgpServiceClient
	w      *World
	binary string
}

// way is the way in which gobgpd does the job.
type way int

const (
	constrained way = iota
	exports
	reorigination
)

func startGobgp(how way) func(Cell, *World, string) (Driver, error) {
	return func(c Cell, w *World, dir string) (Driver, error) { return runGobgpd(c, w, dir, how) }
}

func runGobgpd(c Cell, w *World, dir string, how way) (*gobgp, error) {
	p, err := startProcess(dir, c.Tools.Gobgpd, "--api-hosts", "127.0.0.1:50051", "--log-level", "error", "--pprof-disable")
	if err != nil {
		return nil, err
	}
	g := &gobgp{way: how, p: p, w: w, binary: c.Tools.Gobgpd}
	if err := g.configure(c); err != nil {
		p.stop()
		return nil, err
	}
	return g, nil
}

var (
	rtc = &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_ROUTE_TARGET_CONSTRAINTS}
)

func (f *Family) gobgp() *api.Family {
	return &api.Family{Afi: api.Family_Afi(f.afi), Safi: api.Family_Safi(f.safi)}
}

func (g *gobgp) configure(c Cell) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cc, err := grpc.NewClient("127.0.0.1:50051", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	g.api = api.NewGoBgpServiceClient(cc)
	err = patiently(g.p, func() error {
		_, err := g.api.StartBgp(ctx, &api.StartBgpRequest{Global: &api.Global{
			Asn: asn, RouterId: "10.255.0.1", ListenPort: 179, ListenAddresses: []string{server},
		}})
		return err
	})
	if err != nil {
		return err
	}
	if err := g.policies(ctx); err != nil {
		return err
	}
	for name, direction := range map[string]api.PolicyDirection{"pools": api.PolicyDirection_POLICY_DIRECTION_IMPORT, "reflect": api.PolicyDirection_POLICY_DIRECTION_EXPORT} {
		_, err := g.api.AddPolicyAssignment(ctx, &api.AddPolicyAssignmentRequest{Assignment: &api.PolicyAssignment{
			Name: "global", Direction: direction, Policies: []*api.Policy{{Name: name}}, DefaultAction: api.RouteAction_ROUTE_ACTION_REJECT,
		}})
		if err != nil {
			return err
		}
	}
	for i := range c.PEs {
		_, err := g.api.AddPeer(ctx, &api.AddPeerRequest{Peer: &api.Peer{
			Conf:           &api.PeerConf{NeighborAddress: address(i), PeerAsn: asn},
			Timers:         &api.Timers{Config: &api.TimersConfig{HoldTime: 240, KeepaliveInterval: 80, ConnectRetry: 1, IdleHoldTimeAfterReset: 1}},
			Transport:      &api.Transport{PassiveMode: true, LocalAddress: server},
			RouteReflector: &api.RouteReflector{RouteReflectorClient: true, RouteReflectorClusterId: "10.255.0.1"},
			AfiSafis:       g.families(),
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *gobgp) families() []*api.AfiSafi {
	list := []*api.AfiSafi{{Config: &api.AfiSafiConfig{Family: g.w.family.gobgp(), Enabled: true}}}
	if g.way != exports {
		list = append(list, &api.AfiSafi{Config: &api.AfiSafiConfig{Family: rtc, Enabled: true}})
	}
	return list
}

// policies sets the policies for the present state of the world; the assignments stay.
func (g *gobgp) policies(ctx context.Context) error {
	accept := api.RouteAction_ROUTE_ACTION_ACCEPT
	if g.way == reorigination {
		_, err := g.api.SetPolicies(ctx, &api.SetPoliciesRequest{Policies: []*api.Policy{
			{Name: "pools", Statements: []*api.Statement{{Name: "all", Actions: &api.Actions{RouteAction: accept}}}},
			{Name: "reflect", Statements: []*api.Statement{{
				Name: "our own", Conditions: &api.Conditions{RouteType: api.Conditions_ROUTE_TYPE_LOCAL}, Actions: &api.Actions{RouteAction: accept},
			}}},
		}})
		return err
	}
	r := &api.SetPoliciesRequest{}
	pools := &api.Policy{Name: "pools", Statements: []*api.Statement{{
		Name: "membership", Conditions: &api.Conditions{AfiSafiIn: []*api.Family{rtc}}, Actions: &api.Actions{RouteAction: accept},
	}}}
	for v := range g.w.pools {
		var neighbours, targets []string
		for _, i := range g.w.members(v) {
			neighbours = append(neighbours, address(i)+"/32")
			targets = append(targets, fmt.Sprintf("rt:%d:%d", asn, i+1))
		}
		if len(neighbours) == 0 {
			continue // an empty set of neighbours would match every neighbour
		}
		r.DefinedSets = append(r.DefinedSets, &api.DefinedSet{DefinedType: api.DefinedType_DEFINED_TYPE_NEIGHBOR, Name: pool(v), List: neighbours})
		pools.Statements = append(pools.Statements, &api.Statement{
			Name:       pool(v),
			Conditions: &api.Conditions{NeighborSet: &api.MatchSet{Type: api.MatchSet_TYPE_ANY, Name: pool(v)}},
			Actions:    g.mark(v, targets),
		})
	}
	reflect := &api.Policy{Name: "reflect", Statements: []*api.Statement{{ // gobgpd sends no membership routes
		Name: "routes", Conditions: &api.Conditions{AfiSafiIn: []*api.Family{g.w.family.gobgp()}}, Actions: &api.Actions{RouteAction: accept},
	}}}
	if g.way == exports {
		reflect.Statements = nil
		for v := range g.w.pools {
			r.DefinedSets = append(r.DefinedSets, &api.DefinedSet{
				DefinedType: api.DefinedType_DEFINED_TYPE_COMMUNITY, Name: "of-" + pool(v), List: []string{fmt.Sprintf("^1:%d$", v)},
			})
		}
		for i, v := range g.w.pool {
			r.DefinedSets = append(r.DefinedSets, &api.DefinedSet{
				DefinedType: api.DefinedType_DEFINED_TYPE_NEIGHBOR, Name: site(i), List: []string{address(i) + "/32"},
			})
			reflect.Statements = append(reflect.Statements, &api.Statement{
				Name: "to-" + site(i),
				Conditions: &api.Conditions{
					NeighborSet:  &api.MatchSet{Type: api.MatchSet_TYPE_ANY, Name: site(i)},
					CommunitySet: &api.MatchSet{Type: api.MatchSet_TYPE_ANY, Name: "of-" + pool(v)},
				},
				Actions: &api.Actions{RouteAction: accept, ExtCommunity: &api.CommunityAction{
					Type: api.CommunityAction_TYPE_REPLACE, Communities: []string{fmt.Sprintf("rt:%d:%d", asn, i+1)},
				}},
			})
		}
	}
	r.Policies = []*api.Policy{pools, reflect}
	_, err := g.api.SetPolicies(ctx, r)
	return err
}

// mark returns the actions of the import policy on the routes of a pool.
func (g *gobgp) mark(pool int, targets []string) *api.Actions {
	a := &api.Actions{RouteAction: api.RouteAction_ROUTE_ACTION_ACCEPT}
	if g.way == exports {
		a.Community = &api.CommunityAction{Type: api.CommunityAction_TYPE_REPLACE, Communities: []string{fmt.Sprintf("1:%d", pool)}}
	} else {
		a.ExtCommunity = &api.CommunityAction{Type: api.CommunityAction_TYPE_REPLACE, Communities: targets}
	}
	return a
}

func (g *gobgp) process() *Process { return g.p }
func (g *gobgp) version() string   { return output(g.binary, "--version") }

func (g *gobgp) move(s, from, to int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := g.policies(ctx); err != nil {
		return err
	}
	if g.way == exports {
		_, err := g.api.ResetPeer(ctx, &api.ResetPeerRequest{Address: address(s), Soft: true, Direction: api.ResetPeerRequest_DIRECTION_BOTH})
		return err
	}
	concerned := map[int]bool{s: true}
	for _, v := range []int{from, to} {
		for _, i := range g.w.members(v) {
			concerned[i] = true
		}
	}
	for i := range concerned {
		_, err := g.api.ResetPeer(ctx, &api.ResetPeerRequest{Address: address(i), Soft: true, Direction: api.ResetPeerRequest_DIRECTION_IN})
		if err != nil {
			return err
		}
	}
	return nil
}
