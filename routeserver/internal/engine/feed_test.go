package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"weft/routeserver/internal/bmp"
	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/wire"
)

// follower is a collector that knows only what BMP tells it. Its copy must agree with the looking glass.
type follower struct {
	t         testing.TB
	e         *engine.Engine
	feed      *engine.Feed
	collector *petest.Collector
}

func init() {
	engine.Follow = func(t testing.TB, e *engine.Engine, steps int) func() string {
		f := &follower{t: t, e: e}
		f.begin()
		n := 0
		return func() string {
			n++
			if n%steps == 0 { // begins again, and copies while things change
				e.Unfeed(f.feed)
				f.begin()
			}
			return f.check()
		}
	}
}

func (f *follower) begin() {
	f.feed, f.collector = f.e.Feed(), petest.NewCollector(f.t)
}

// check reads a part of the table, or compares the copy once it has all of it.
func (f *follower) check() string {
	for entries := f.feed.Take(); len(entries) > 0; entries = f.feed.Take() {
		for _, entry := range entries {
			f.collector.Hear(bmp.Append(nil, entry))
		}
	}
	if f.feed.Behind() {
		f.e.Copy(f.feed)
		return ""
	}
	var up []string
	for _, a := range f.e.Accounts() {
		if a.Session == nil {
			continue
		}
		address := a.Session.Config().Address
		up = append(up, address)
		have := f.collector.Peer(address)
		if in := f.table(engine.AdjIn, a.Peer); !maps.Equal(in, have.In) {
			return fmt.Sprintf("Adj-RIB-In of %s is\n%v\nbut by BMP\n%v", a.Peer, in, have.In)
		}
		if out := f.table(engine.AdjOut, a.Peer); !maps.Equal(out, have.Out) {
			return fmt.Sprintf("Adj-RIB-Out of %s is\n%v\nbut by BMP\n%v", a.Peer, out, have.Out)
		}
	}
	for _, address := range f.collector.Up() {
		// Sessions of peers that are no longer in the rule set end only when these are told.
		if _, stays := f.e.Set().Peer(f.collector.Peer(address).Label); stays && !slices.Contains(up, address) {
			return fmt.Sprintf("sessions are up with %v, but by BMP also with %s", up, address)
		}
	}
	return ""
}

func (f *follower) table(table, peer string) map[string]string {
	routes := map[string]string{}
	views, _ := f.e.Select(engine.Filter{Table: table, Peer: peer, AnyFamily: true, AnyRT: true})
	for _, v := range views {
		if v.Held != nil {
			continue // it was not sent
		}
		var rts []string
		for _, rt := range wire.RTs(v.Targets) {
			rts = append(rts, rt.String())
		}
		slices.Sort(rts)
		routes[v.Family.Full(v.NLRI)] = strings.Join(rts, " ")
	}
	return routes
}
