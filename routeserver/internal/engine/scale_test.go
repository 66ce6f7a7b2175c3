package engine

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// A region: PEs with a site each, pools of ten.
const (
	regionPeers  = 1000
	regionRoutes = 100 // of each PE
	poolSize     = 10
)

func region(tb testing.TB) *Engine {
	store, err := ruleset.OpenStore(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close() })
	id := [4]byte{10, 255, 0, 1}
	e, err := New(Config{Name: "rs", ASN: 65000, RouterID: id, ClusterID: id}, store, nil)
	if err != nil {
		tb.Fatal(err)
	}
	d := &ruleset.Document{Generation: 1}
	for i := range regionPeers {
		rt := fmt.Sprintf("65000:%d", i+1)
		d.Peers = append(d.Peers, ruleset.Peer{Name: fmt.Sprintf("pe%d", i), Address: fmt.Sprintf("10.0.%d.%d", i/250, i%250+1), ASN: 65000})
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: fmt.Sprintf("e%d", i), Peer: fmt.Sprintf("pe%d", i), Family: "l2vpn-vpls", RT: rt, RD: rt})
		if i%poolSize == 0 {
			d.Vcps = append(d.Vcps, ruleset.Vcp{Name: fmt.Sprintf("v%d", i/poolSize)})
		}
		v := &d.Vcps[i/poolSize]
		v.Members = append(v.Members, fmt.Sprintf("e%d", i))
	}
	if _, err := e.Replace(d, false); err != nil {
		tb.Fatal(err)
	}
	return e
}

// drained takes everything from a peer's queue, as its session does to write it to a socket, and discards it.
func drained(p *Peer) {
	for range p.Queue.Wake() {
		for {
			taken, more := p.Queue.Take(false)
			if !more {
				break
			}
			p.Queue.Written(taken)
		}
	}
}

// announceRegion brings up the sessions of a region, and has each PE announce its routes.
func announceRegion(tb testing.TB, e *Engine, routes int) {
	tb.Helper()
	for i := range regionPeers {
		peer, _ := e.Set().Peer(fmt.Sprintf("pe%d", i))
		p := e.Up(peer, [4]byte{10, 0, byte(i >> 8), byte(i)}, [wire.Families]bool{true, true})
		go drained(p)
		rt, _ := wire.ParseRT(fmt.Sprintf("65000:%d", i+1))
		u := &wire.Update{Attributes: &wire.Attributes{NextHop: "\x0a\x00\x00\x01", RTs: string(rt[:]), Path: "\x40\x01\x01\x00\x40\x02\x00\x40\x05\x04\x00\x00\x00\x64"}}
		for k := range routes {
			u.Reach = append(u.Reach, fmt.Sprintf("\x00\x11\x00\x00\xfd\xe8\x00\x00%c%c%c%c\x00\x01\x00\x40\x01\x00\x10", (i+1)>>7, (i+1)&0x7f, k>>7, k&0x7f))
		}
		if err := e.Update(p, u); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkMembershipChange moves a site between two pools of a full region, over and over.
func BenchmarkMembershipChange(b *testing.B) {
	e := region(b)
	begin := time.Now()
	announceRegion(b, e, regionRoutes)
	b.Logf("%d routes taken in after %s", regionPeers*regionRoutes, time.Since(begin).Round(time.Millisecond))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.Logf("heap %d MB", m.HeapAlloc>>20)
	moves(b, e)
}

// moves moves a site from one pool to another and back, over and over.
func moves(b *testing.B, e *Engine) {
	var times []time.Duration
	g := uint64(1)
	b.ResetTimer()
	for b.Loop() {
		from, to := ruleset.Leave, ruleset.Join
		if g%2 == 0 {
			from, to = to, from
		}
		r, err := e.Change(&ruleset.Change{Base: g, Generation: g + 1, Ops: []ruleset.Operation{
			{Op: from, Pool: "v0", Member: "e5"}, {Op: to, Pool: "v1", Member: "e5"},
		}})
		if err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Duration(r.Micros)*time.Microsecond)
		g++
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
}
