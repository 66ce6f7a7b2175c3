package bmp_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	gobmp "github.com/osrg/gobgp/v4/pkg/packet/bmp"

	"weft/routeserver/internal/bmp"
	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

// region is a route server on a loopback address with the PEs a, b and c, of which a and b share a pool.
type region struct {
	*testing.T
	engine *engine.Engine
	listen netip.AddrPort
	config bmp.Config
	stop   func() // ends all sessions
}

const (
	peA = "127.0.79.11"
	peB = "127.0.79.12"
)

func free(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.79.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return netip.MustParseAddrPort(l.Addr().String())
}

func start(t *testing.T) *region {
	t.Helper()
	store, err := ruleset.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id := [4]byte{10, 0, 0, 200}
	var server *session.Server
	e, err := engine.New(engine.Config{Name: "rs1", ASN: 65000, RouterID: id, ClusterID: id}, store,
		func(s *ruleset.Set, peers []string) { server.Reconcile(s, peers) })
	if err != nil {
		t.Fatal(err)
	}
	r := &region{T: t, engine: e, listen: free(t), config: bmp.Config{
		Name: "rs1", Description: "Weft", Retry: 20 * time.Millisecond, RetryMost: 100 * time.Millisecond,
	}}
	server = session.New(session.Config{Listen: r.listen}, e, slog.New(slog.DiscardHandler))
	d := &ruleset.Document{Generation: 1, Vcps: []ruleset.Vcp{{Name: "pool", Members: []string{"lan1", "lan2"}}}}
	for i, address := range []string{peA, peB, "127.0.79.13"} {
		name, rt := string(rune('a'+i)), fmt.Sprintf("65000:%d", i+1)
		d.Peers = append(d.Peers, ruleset.Peer{Name: name, Address: address, ASN: 65000})
		d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: fmt.Sprintf("lan%d", i+1), Peer: name, Family: "l2vpn-evpn", RT: rt, RD: rt})
	}
	if _, err := e.Replace(d, false); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(ctx); err != nil {
			t.Error(err)
		}
	}()
	for !server.Serving() {
		time.Sleep(time.Millisecond)
	}
	r.stop = func() { cancel(); <-ended }
	t.Cleanup(func() { r.stop(); store.Close() })
	return r
}

// station runs a station for a collector until the returned function is called.
func (r *region) station(address string) (*bmp.Station, func()) {
	s := bmp.New(r.config, address, r.engine, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	stop := func() { cancel(); <-ended }
	r.Cleanup(stop)
	return s, stop
}

func (r *region) pe(address string) *petest.PE {
	return petest.Dial(r, petest.Options{Local: address, Remote: r.listen.String()})
}

func (r *region) announce(pe *petest.PE, rd, mac string, rts ...string) string {
	nlri := petest.MAC(r, rd, mac, "", 100)
	pe.Send(petest.Announcement(r, bgp.RF_EVPN, []bgp.NLRI{nlri}, rts))
	return nlri.String()
}

func (r *region) change(op, endpoint string) {
	r.Helper()
	base, _, _ := r.engine.Generation()
	if _, err := r.engine.Change(&ruleset.Change{Base: base, Generation: base + 1, Ops: []ruleset.Operation{{Op: op, Pool: "pool", Member: endpoint}}}); err != nil {
		r.Fatal(err)
	}
}

func (r *region) until(what string, ok func() bool) {
	r.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatalf("waited in vain for %s", what)
		}
	}
}

type routes = map[string]string

func has(in, out routes) func(petest.Monitored) bool {
	return func(p petest.Monitored) bool { return p.Up != nil && maps.Equal(p.In, in) && maps.Equal(p.Out, out) }
}

// TestACollectorSeesItAll checks that a collector gets the present tables and all changes, until the end.
func TestACollectorSeesItAll(t *testing.T) {
	r := start(t)
	r.config.Statistics = 20 * time.Millisecond
	a, b := r.pe(peA), r.pe(peB)
	mac := r.announce(a, "65000:1", "02:00:00:00:00:01", "65000:1")
	foreign := r.announce(a, "65000:1", "02:00:00:00:00:02", "65000:3") // in quarantine, but reported nevertheless
	b.Has(routes{mac: "65000:2"})

	collector := petest.NewCollector(t)
	station, stop := r.station(collector.Listen("127.0.79.1:0"))
	got := collector.Until("the table", peA, func(p petest.Monitored) bool { return p.EndsIn == 2 && p.EndsOut == 2 })
	if !has(routes{mac: "65000:1", foreign: "65000:3"}, routes{})(got) {
		t.Errorf("of a: in %v, out %v", got.In, got.Out)
	}
	collector.Until("what b was sent", peB, has(routes{}, routes{mac: "65000:2"}))
	if collector.Init[2] != "rs1" || collector.Init[1] != "Weft" {
		t.Errorf("Initiation %v", collector.Init)
	}
	local := a.Conn.LocalAddr().(*net.TCPAddr)
	if up := got.Up; got.Label != "a" || up.LocalPort != r.listen.Port() || int(up.RemotePort) != local.Port || up.LocalAddress != r.listen.Addr() {
		t.Errorf("Peer Up of %q from %s port %d to port %d", got.Label, up.LocalAddress, up.RemotePort, up.LocalPort)
	}
	if open := got.Up.ReceivedOpenMsg.Body.(*bgp.BGPOpen); open.ID.String() != peA || open.HoldTime != 90 {
		t.Errorf("the OPEN that a sent: %+v", open)
	}
	if open := got.Up.SentOpenMsg.Body.(*bgp.BGPOpen); open.ID.String() != "10.0.0.200" {
		t.Errorf("the OPEN that a was sent: %+v", open)
	}
	if h := got.Header; h.PeerAS != 65000 || h.PeerBGPID.String() != peA || time.Since(time.Unix(int64(h.Timestamp), 0)) > time.Minute {
		t.Errorf("per-peer header %+v", h)
	}
	for _, attribute := range got.Attributes[mac] {
		switch attribute.(type) {
		case *bgp.PathAttributeOriginatorId, *bgp.PathAttributeClusterList:
			t.Errorf("a did not announce %v", attribute)
		}
	}
	r.until("monitoring", func() bool { return station.Status().State == bmp.Monitoring })

	r.change(ruleset.Leave, "lan2")
	collector.Until("b without the route", peB, has(routes{}, routes{}))
	r.change(ruleset.Join, "lan2")
	collector.Until("b with the route", peB, has(routes{}, routes{mac: "65000:2"}))
	r.change(ruleset.Join, "lan3")
	collector.Until("quarantine that is none of the rule set's business", peA, has(routes{mac: "65000:1", foreign: "65000:3"}, routes{}))
	stats := collector.Until("statistics", peA, func(p petest.Monitored) bool { return p.Stats[7] == 2 })
	if stats.Stats[0] != 1 || stats.Stats[8] != 1 || stats.Stats[15] != 0 || stats.FamilyStats[9][bgp.RF_EVPN] != 2 || stats.FamilyStats[9][bgp.RF_VPLS] != 0 {
		t.Errorf("statistics of a: %v %v", stats.Stats, stats.FamilyStats)
	}
	if stats := collector.Until("statistics", peB, func(p petest.Monitored) bool { return p.Stats[15] == 1 }); stats.FamilyStats[17][bgp.RF_EVPN] != 1 {
		t.Errorf("statistics of b: %v %v", stats.Stats, stats.FamilyStats)
	}

	a.Send(bgp.NewBGPNotificationMessage(6, 2, nil))
	down := collector.Until("a to be down", peA, func(p petest.Monitored) bool { return p.Down != nil })
	if down.Down.Reason != gobmp.BMP_PEER_DOWN_REASON_REMOTE_BGP_NOTIFICATION {
		t.Errorf("a said why it went, but the reason is %d", down.Down.Reason)
	}
	collector.Until("b without routes", peB, has(routes{}, routes{}))
	b.Conn.Close()
	if down := collector.Until("b to be down", peB, func(p petest.Monitored) bool { return p.Down != nil }); down.Down.Reason != gobmp.BMP_PEER_DOWN_REASON_REMOTE_NO_NOTIFICATION {
		t.Errorf("b went without a word, but the reason is %d", down.Down.Reason)
	}
	r.pe(peB)
	collector.Until("b again", peB, func(p petest.Monitored) bool { return p.Up != nil && p.EndsOut == 2 })
	r.stop()
	down = collector.Until("the end of b's session", peB, func(p petest.Monitored) bool { return p.Down != nil })
	if n, ok := down.Down.BGPNotification.Body.(*bgp.BGPNotification); !ok || down.Down.Reason != gobmp.BMP_PEER_DOWN_REASON_LOCAL_BGP_NOTIFICATION || n.ErrorSubcode != 2 {
		t.Errorf("Peer Down at our stop: %+v", down.Down)
	}
	stop()
	if r.until("a Termination", func() bool { over, _ := collector.Ended(); return over }); station.Status().Messages == 0 {
		t.Error("no messages were counted")
	}
}

// TestACollectorComesAndGoes checks that a collector gets what it missed, after a late start and after a loss.
func TestACollectorComesAndGoes(t *testing.T) {
	r := start(t)
	a, b := r.pe(peA), r.pe(peB)
	address := free(t).String()
	station, _ := r.station(address)
	r.until("a failure", func() bool { return station.Status().LastError != "" })
	mac := r.announce(a, "65000:1", "02:00:00:00:00:01", "65000:1")
	b.Has(routes{mac: "65000:2"})

	first := petest.NewCollector(t)
	first.Listen(address)
	first.Until("the table", peB, has(routes{}, routes{mac: "65000:2"}))
	first.Close()
	r.until("the loss", func() bool { return station.Status().State != bmp.Monitoring })
	r.change(ruleset.Leave, "lan2")
	b.Has(routes{})

	second := petest.NewCollector(t)
	second.Listen(address)
	second.Until("the table", peA, has(routes{mac: "65000:1"}, routes{}))
	second.Until("nothing for b", peB, has(routes{}, routes{}))
	if s := station.Status(); s.Connections < 2 || s.CutOff != 0 {
		t.Errorf("station %+v", s)
	}
}

// TestAStuckCollectorIsCutOff checks that a collector that reads nothing is cut off, with bounded memory; sessions and
// changes go on.
func TestAStuckCollectorIsCutOff(t *testing.T) {
	r := start(t)
	listener, err := net.Listen("tcp", "127.0.79.1:0")
	if err != nil {
		t.Fatal(err)
	}
	station, _ := r.station(listener.Addr().String())
	conn, err := listener.Accept() // and never reads
	if err != nil {
		t.Fatal(err)
	}
	a, b := r.pe(peA), r.pe(peB)
	have := routes{}
	for i := range 1000 { // each in its own UPDATE and group
		nlri := petest.MAC(t, "65000:1", fmt.Sprintf("02:00:00:00:%02x:%02x", i/256, i%256), "", 100)
		a.Send(petest.Announcement(t, bgp.RF_EVPN, []bgp.NLRI{nlri}, []string{"65000:1"}, bgp.NewPathAttributeMultiExitDisc(uint32(i))))
		have[nlri.String()] = "65000:2"
	}
	b.Has(have)
	changes := 0
	for worst := 0; station.Status().CutOff == 0; changes += 2 {
		r.change(ruleset.Leave, "lan2")
		r.change(ruleset.Join, "lan2")
		if worst = max(worst, station.Status().Backlog); worst > 1<<17 {
			t.Fatalf("%d entries wait", worst)
		}
		if changes > 2000 {
			t.Fatalf("after %d changes of 1,000 routes the station is not cut off: %+v", changes, station.Status())
		}
	}
	b.Has(have)
	if a.Over() || b.Over() {
		t.Fatal("a session ended")
	}
	conn.Close()
	listener.Close()
	collector := petest.NewCollector(t)
	collector.Listen(listener.Addr().String())
	collector.Until("all routes at b", peB, has(routes{}, have))
	t.Logf("cut off after %d changes: %+v", changes, station.Status())
}
