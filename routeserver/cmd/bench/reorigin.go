package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/osrg/gobgp/v4/api"
)

// reorigin is stock gobgpd beside a program that listens to all Adj-RIB-Ins and originates every route again, with the
// route targets of the other members of its site's pool. RT-Constrain decides which PEs get it, and gobgpd does not
// reflect the PEs' announcements. A change originates the routes of both pools' members again.
type reorigin struct {
	*gobgp
	ctx    context.Context
	cancel context.CancelFunc
	add    api.GoBgpService_AddPathStreamClient

	mu     sync.Mutex
	routes []map[string]*api.Path // per site, as its PE announced them
	sites  map[string]int         // by address
}

// batch is the number of routes that the program reads or originates at once.
const batch = 1000

func startReorigin(c Cell, w *World, dir string) (Driver, error) {
	g, err := runGobgpd(c, w, dir, reorigination)
	if err != nil {
		return nil, err
	}
	o := &reorigin{gobgp: g, routes: make([]map[string]*api.Path, c.PEs)}
	o.ctx, o.cancel = context.WithCancel(context.Background())
	go func() {
		<-g.p.ended
		o.cancel()
	}()
	if err := o.listen(); err != nil {
		g.p.stop()
		return nil, err
	}
	return o, nil
}

func (o *reorigin) listen() (err error) {
	if o.add, err = o.api.AddPathStream(o.ctx); err != nil {
		return err
	}
	stream, err := o.api.WatchEvent(o.ctx, &api.WatchEventRequest{
		Peer: &api.WatchEventRequest_Peer{},
		Table: &api.WatchEventRequest_Table{Filters: []*api.WatchEventRequest_Table_Filter{
			{Type: api.WatchEventRequest_Table_Filter_TYPE_ADJIN, Init: true},
		}},
		BatchSize: batch,
	})
	if err != nil {
		return err
	}
	o.sites = map[string]int{}
	for i := range o.routes {
		o.sites[address(i)], o.routes[i] = i, map[string]*api.Path{}
	}
	go func() {
		for {
			event, err := stream.Recv()
			if err != nil {
				return // the daemon has ended
			}
			if o.heard(event) != nil {
				return
			}
		}
	}()
	return nil
}

// heard originates the routes that PEs announce, and withdraws those that they withdraw or lose with their session.
func (o *reorigin) heard(event *api.WatchEventResponse) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if peer := event.GetPeer(); peer != nil && peer.Type == api.WatchEventResponse_PeerEvent_TYPE_STATE {
		if peer.Peer.State.SessionState == api.PeerState_SESSION_STATE_ESTABLISHED {
			return nil
		}
		site := o.sites[peer.Peer.State.NeighborAddress]
		gone := slices.Collect(maps.Values(o.routes[site]))
		o.routes[site] = map[string]*api.Path{}
		return o.originate(gone, true)
	}
	var there, gone []*api.Path
	for _, path := range event.GetTable().GetPaths() {
		if path.Nlri.GetRouteTargetMembership() != nil {
			continue
		}
		site, key := o.sites[path.NeighborIp], path.Nlri.String()
		if path.IsWithdraw {
			if known := o.routes[site][key]; known != nil {
				gone = append(gone, known)
			}
			delete(o.routes[site], key)
			continue
		}
		o.routes[site][key] = path
		there = append(there, path)
	}
	if err := o.originate(gone, true); err != nil {
		return err
	}
	return o.originate(there, false)
}

// originate requires the lock.
func (o *reorigin) originate(paths []*api.Path, withdraw bool) error {
	targets := map[string]*api.Attribute{}
	var out []*api.Path
	for _, p := range paths {
		own := &api.Path{Family: p.Family, Nlri: p.Nlri, IsWithdraw: withdraw}
		for _, a := range p.Pattrs {
			if a.GetExtendedCommunities() == nil {
				own.Pattrs = append(own.Pattrs, a)
			}
		}
		if targets[p.NeighborIp] == nil {
			targets[p.NeighborIp] = o.targets(o.sites[p.NeighborIp])
		}
		own.Pattrs = append(own.Pattrs, targets[p.NeighborIp])
		out = append(out, own)
	}
	for part := range slices.Chunk(out, batch) {
		if err := o.add.Send(&api.AddPathStreamRequest{TableType: api.TableType_TABLE_TYPE_GLOBAL, Paths: part}); err != nil {
			return err
		}
	}
	return nil
}

// targets returns the route targets of the other sites in a site's pool.
func (o *reorigin) targets(site int) *api.Attribute {
	list := &api.ExtendedCommunitiesAttribute{}
	for _, i := range o.w.members(o.w.pool[site]) {
		if i != site {
			list.Communities = append(list.Communities, &api.ExtendedCommunity{Extcom: &api.ExtendedCommunity_TwoOctetAsSpecific{
				TwoOctetAsSpecific: &api.TwoOctetAsSpecificExtended{IsTransitive: true, SubType: 2, Asn: asn, LocalAdmin: uint32(i + 1)},
			}})
		}
	}
	return &api.Attribute{Attr: &api.Attribute_ExtendedCommunities{ExtendedCommunities: list}}
}

func (o *reorigin) move(s, from, to int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	concerned := append([]int{s}, slices.DeleteFunc(append(o.w.members(from), o.w.members(to)...), func(i int) bool { return i == s })...)
	var paths []*api.Path
	for _, i := range concerned {
		paths = append(paths, slices.Collect(maps.Values(o.routes[i]))...)
	}
	if err := o.originate(paths, false); err != nil {
		return fmt.Errorf("originating again: %w", err)
	}
	return nil
}
