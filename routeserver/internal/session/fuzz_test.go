package session

import (
	"io"
	"log/slog"
	"net"
	"net/netip"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// wireConn is one end of a connection within the process, with addresses like those of TCP.
type wireConn struct {
	net.Conn
	local, remote netip.AddrPort
}

func (c wireConn) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(c.local) }
func (c wireConn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }

// allocated returns the number of bytes that this process has ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// fuzzed is a route server with two PEs in a pool; the second one has announced a route.
type fuzzed struct {
	engine  *engine.Engine
	server  *Server
	peers   []ruleset.Peer
	witness *engine.Peer
}

func newFuzzed(t testing.TB) *fuzzed {
	store, err := ruleset.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	x := &fuzzed{}
	x.engine, err = engine.New(engine.Config{Name: "rs", ASN: 65000, RouterID: [4]byte{10, 0, 0, 200}, ClusterID: [4]byte{10, 0, 0, 200}, MaxRoutes: 1000}, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.server = New(Config{}, x.engine, slog.New(slog.DiscardHandler))
	x.peers = []ruleset.Peer{{Name: "a", Address: "192.0.2.1", ASN: 65000}, {Name: "b", Address: "192.0.2.2", ASN: 65000}}
	d := &ruleset.Document{Generation: 1, Peers: x.peers}
	for i, family := range []string{"l2vpn-vpls", "l2vpn-evpn", "vpnv4", "vpnv6"} {
		d.Vcps = append(d.Vcps, ruleset.Vcp{Name: family})
		for j, peer := range x.peers {
			rt := "65000:" + string(rune('1'+2*i+j))
			d.Endpoints = append(d.Endpoints, ruleset.Endpoint{Name: family + peer.Name, Peer: peer.Name, Family: family, RT: rt, RD: rt})
			d.Vcps[i].Members = append(d.Vcps[i].Members, family+peer.Name)
		}
	}
	if _, err := x.engine.Replace(d, false); err != nil {
		t.Fatal(err)
	}
	var families [wire.Families]bool
	for f := range wire.RTC {
		families[f] = true
	}
	x.witness = x.engine.Up(x.peers[1], [4]byte{192, 0, 2, 2}, families)
	m, err := petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{petest.VPLS(t, "65000:2", 1, 1, 64, 4097)}, []string{"65000:2"}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	u, err := wire.Neighbour{ASN: 65000, Own: 65000}.ParseUpdate(m[wire.HeaderLength:])
	if err != nil {
		t.Fatal(err)
	}
	if err := x.engine.Update(x.witness, u); err != nil {
		t.Fatal(err)
	}
	return x
}

// play sends a stream of bytes to the first PE's session, and waits until the session is over.
func (x *fuzzed) play(t *testing.T, stream []byte) {
	near, far := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, far) }()
	c := x.server.start(x.peers[0], wireConn{near, netip.MustParseAddrPort("192.0.2.254:179"), netip.MustParseAddrPort("192.0.2.1:40000")}, false)
	_ = far.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_, _ = far.Write(stream)
	far.Close()
	select {
	case <-c.over:
	case <-time.After(10 * time.Second):
		t.Fatal("the session does not end")
	}
}

// check checks that the second PE's session and route are unchanged, that nothing of the first one is left, and that
// the messages to the second one are readable.
func (x *fuzzed) check(t *testing.T) {
	for _, v := range x.engine.PeerViews() {
		if v.Name == "b" && (!v.Up || v.In != 1 || v.Quarantined != 0 || v.Out != 0) || v.Name == "a" && (v.Up || v.In != 0) {
			t.Fatalf("there is %+v", v)
		}
	}
	var stream []byte
	for {
		taken, more := x.witness.Queue.Take(false)
		if !more {
			break
		}
		for _, b := range taken.Buffers {
			stream = append(stream, b...)
		}
		x.witness.Queue.Written(taken)
	}
	var buf []byte
	for r := strings.NewReader(string(stream)); r.Len() > 0; {
		kind, body, err := wire.ReadMessage(r, &buf)
		if err != nil || kind != wire.TypeUpdate {
			t.Fatalf("the other PE is sent type %d: %v", kind, err)
		}
		if u, err := (wire.Neighbour{ASN: 65000, Own: 65000}).ParseUpdate(body); err != nil || u.Malformed != "" {
			t.Fatalf("the other PE is sent %x: %v, %+v", body, err, u)
		}
	}
}

// hello returns an OPEN for all families and a KEEPALIVE.
func hello(t testing.TB) []byte {
	o := wire.Open{ASN: 65000, HoldTime: 90, ID: [4]byte{192, 0, 2, 1}}
	for f := range wire.Families {
		o.Families[f] = true
	}
	m, err := o.Message()
	if err != nil {
		t.Fatal(err)
	}
	return append(m, wire.Keepalive...)
}

// FuzzSession checks that whatever a PE sends, from its first byte or in an established session, the session ends with
// it, in time and with memory in proportion, and another PE's session is not disturbed.
func FuzzSession(f *testing.F) {
	opening := hello(f)
	announce, err := petest.Announcement(f, bgp.RF_VPLS, []bgp.NLRI{petest.VPLS(f, "65000:1", 1, 1, 64, 4097)}, []string{"65000:1"}).Serialize()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(false, opening)
	f.Add(false, wire.Keepalive)
	f.Add(true, announce)
	f.Add(true, append(wire.EndOfRIB(wire.VPLS), announce...))
	f.Add(true, append(wire.Refresh(wire.VPLS, wire.RefreshRequest), wire.Refresh(wire.VPLS, wire.RefreshBegin)...))
	f.Add(true, (&wire.Notification{Code: wire.Cease, Subcode: wire.AdminShutdown, Data: []byte("\x02hi")}).Message())
	f.Add(true, announce[:30])
	f.Add(true, opening)
	x := newFuzzed(f)
	f.Fuzz(func(t *testing.T, established bool, data []byte) {
		if established {
			data = append(append([]byte(nil), opening...), data...)
		}
		for tries := 1; ; tries++ { // the process also does other work
			before := allocated()
			x.play(t, data)
			used := allocated() - before
			x.check(t)
			if used <= 1<<20+1024*uint64(len(data)) {
				return
			} else if tries == 5 {
				t.Fatalf("%d bytes were allocated for %d", used, len(data))
			}
		}
	})
}
