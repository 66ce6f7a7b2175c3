package session_test

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

// region is a route server on a loopback address with three PEs: a, b and c, of which a and b share a pool.
type region struct {
	*engine.Engine
	server *session.Server
	remote string
	stop   func()
	ended  chan error
}

func pe(name, address, rt string) (ruleset.Peer, ruleset.Endpoint) {
	return ruleset.Peer{Name: name, Address: address, ASN: 65000},
		ruleset.Endpoint{Name: "lan-" + name, Peer: name, Family: "l2vpn-vpls", RT: rt, RD: rt}
}

func start(t *testing.T, c session.Config, how ...func(*engine.Config)) *region {
	t.Helper()
	store, err := ruleset.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &region{ended: make(chan error, 1)}
	config := engine.Config{Name: "rs", ASN: 65000, RouterID: [4]byte{10, 0, 0, 200}, ClusterID: [4]byte{10, 0, 0, 200}, MaxRoutes: 50, StaleTime: time.Minute}
	for _, change := range how {
		change(&config)
	}
	r.Engine, err = engine.New(config, store, func(s *ruleset.Set, peers []string) { r.server.Reconcile(s, peers) })
	if err != nil {
		t.Fatal(err)
	}
	if !c.Listen.IsValid() {
		c.Listen = freePort(t, "127.0.78.1")
	}
	r.server = session.New(c, r.Engine, slog.New(slog.DiscardHandler))
	r.remote = c.Listen.String()
	d := &ruleset.Document{Generation: 1}
	for _, x := range [][3]string{{"a", "127.0.78.11", "65000:1"}, {"b", "127.0.78.12", "65000:2"}, {"c", "127.0.78.13", "65000:3"}} {
		peer, endpoint := pe(x[0], x[1], x[2])
		d.Peers, d.Endpoints = append(d.Peers, peer), append(d.Endpoints, endpoint)
	}
	d.Vcps = []ruleset.Vcp{{Name: "pool", Members: []string{"lan-a", "lan-b"}}}
	if _, err := r.Replace(d, false); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { r.ended <- r.server.Serve(ctx) }()
	for !r.server.Serving() {
		time.Sleep(time.Millisecond)
	}
	r.stop = func() {
		cancel()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		r.ended <- nil
		store.Close()
	}
	t.Cleanup(r.stop)
	return r
}

func freePort(t *testing.T, address string) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return netip.MustParseAddrPort(l.Addr().String())
}

func (r *region) dial(t *testing.T, host string) *petest.PE {
	t.Helper()
	return petest.Dial(t, petest.Options{Local: "127.0.78." + host, Remote: r.remote})
}

func (r *region) change(t *testing.T, ops ...ruleset.Operation) *engine.Receipt {
	t.Helper()
	g, _, _ := r.Generation()
	receipt, err := r.Change(&ruleset.Change{Base: g, Generation: g + 1, Ops: ops})
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func TestRoutesAreRewrittenWithinAPoolAndGoNowhereElse(t *testing.T) {
	r := start(t, session.Config{})
	a, b, c := r.dial(t, "11"), r.dial(t, "12"), r.dial(t, "13")
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
	b.Has(map[string]string{n.String(): "65000:2"})

	receipt := r.change(t, ruleset.Operation{Op: ruleset.Join, Pool: "pool", Member: "lan-c"})
	c.Has(map[string]string{n.String(): "65000:3"})
	if len(receipt.Peers) != 1 || receipt.Peers[0].Peer != "c" || receipt.Announced != 1 || receipt.Peers[0].WrittenMicros == nil {
		t.Errorf("receipt %+v", receipt)
	}
	receipt = r.change(t, ruleset.Operation{Op: ruleset.Leave, Pool: "pool", Member: "lan-c"})
	c.Has(map[string]string{})
	if receipt.Withdrawn != 1 || receipt.Announced != 0 {
		t.Errorf("receipt %+v", receipt)
	}
	a.Has(map[string]string{})
	a.Conn.Close()
	b.Has(map[string]string{})
}

func TestReflection(t *testing.T) {
	r := start(t, session.Config{})
	a, b := r.dial(t, "11"), r.dial(t, "12")
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	unknown := bgp.NewPathAttributeUnknown(bgp.BGP_ATTR_FLAG_OPTIONAL|bgp.BGP_ATTR_FLAG_TRANSITIVE, 200, []byte{1, 2, 3})
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}, unknown))
	b.Has(map[string]string{n.String(): "65000:2"})
	updates := b.Updates()
	last := updates[len(updates)-1]
	seen := map[bgp.BGPAttrType]bgp.PathAttributeInterface{}
	for _, attribute := range last.PathAttributes {
		seen[attribute.GetType()] = attribute
	}
	if o := seen[bgp.BGP_ATTR_TYPE_ORIGINATOR_ID].(*bgp.PathAttributeOriginatorId); o.Value.String() != "127.0.78.11" {
		t.Errorf("originator %s", o.Value)
	}
	if c := seen[bgp.BGP_ATTR_TYPE_CLUSTER_LIST].(*bgp.PathAttributeClusterList); len(c.Value) != 1 || c.Value[0].String() != "10.0.0.200" {
		t.Errorf("clusters %v", c.Value)
	}
	if m := seen[bgp.BGP_ATTR_TYPE_MP_REACH_NLRI].(*bgp.PathAttributeMpReachNLRI); m.Nexthop.String() != "192.0.2.9" {
		t.Errorf("next hop %s", m.Nexthop)
	}
	if u := seen[200]; u == nil || u.GetFlags()&bgp.BGP_ATTR_FLAG_PARTIAL == 0 {
		t.Errorf("the unknown transitive attribute is %v", u)
	}
	ext := seen[bgp.BGP_ATTR_TYPE_EXTENDED_COMMUNITIES].(*bgp.PathAttributeExtendedCommunities)
	if len(ext.Value) != 2 || ext.Value[0].String() != "VXLAN" {
		t.Errorf("extended communities %v", ext.Value)
	}
	clusters, err := bgp.NewPathAttributeClusterList([]netip.Addr{netip.MustParseAddr("10.0.0.200")})
	if err != nil {
		t.Fatal(err)
	}
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}, clusters))
	b.Has(map[string]string{})
}

func TestMalformedUpdateIsAWithdrawalAndTheSessionStays(t *testing.T) {
	r := start(t, session.Config{})
	a, b := r.dial(t, "11"), r.dial(t, "12")
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	good := petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"})
	a.Send(good)
	b.Has(map[string]string{n.String(): "65000:2"})
	data, err := good.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	at := bytesIndex(data, []byte{0x40, 1, 1, 0})
	data[at+3] = 7 // ORIGIN
	a.Write(data)
	b.Has(map[string]string{})
	a.Send(good)
	b.Has(map[string]string{n.String(): "65000:2"})
	if s := r.server.States()["a"]; s.State != session.Established {
		t.Errorf("the session is %+v", s)
	}
}

func bytesIndex(data, part []byte) int {
	for i := range data {
		if i+len(part) <= len(data) && string(data[i:i+len(part)]) == string(part) {
			return i
		}
	}
	return -1
}

func TestAddressOfNoPeerIsRejected(t *testing.T) {
	r := start(t, session.Config{})
	p := petest.Connect(t, petest.Options{Local: "127.0.78.99", Remote: r.remote, Silent: true})
	p.Run()
	if n := p.Closed(); n == nil || n.ErrorCode != 6 || n.ErrorSubcode != 5 {
		t.Errorf("ended with %+v", n)
	}
}

func TestRemovedPeerIsToldAndClosed(t *testing.T) {
	r := start(t, session.Config{})
	c := r.dial(t, "13")
	r.change(t, ruleset.Operation{Op: ruleset.RemoveEndpoint, Name: "lan-c"}, ruleset.Operation{Op: ruleset.RemovePeer, Name: "c"})
	if n := c.Closed(); n == nil || n.ErrorCode != 6 || n.ErrorSubcode != 3 {
		t.Errorf("ended with %+v", n)
	}
}

func TestShutdownIsACease(t *testing.T) {
	r := start(t, session.Config{})
	a := r.dial(t, "11")
	r.stop()
	if n := a.Closed(); n == nil || n.ErrorCode != 6 || n.ErrorSubcode != 2 {
		t.Errorf("ended with %+v", n)
	}
}

func TestTooManyRoutesEndTheSession(t *testing.T) {
	r := start(t, session.Config{})
	a := r.dial(t, "11")
	var list []bgp.NLRI
	for i := range uint16(51) {
		list = append(list, petest.VPLS(t, "65000:1", 1, 1+64*i, 64, 4097))
	}
	a.Send(petest.Announcement(t, bgp.RF_VPLS, list, []string{"65000:1"}))
	if n := a.Closed(); n == nil || n.ErrorCode != 6 || n.ErrorSubcode != 1 {
		t.Errorf("ended with %+v", n)
	}
}
