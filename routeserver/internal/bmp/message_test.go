package bmp_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	gobmp "github.com/osrg/gobgp/v4/pkg/packet/bmp"

	"weft/routeserver/internal/bmp"
	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/wire"
)

// peer returns an external peer over IPv6, with a four-octet AS number.
func peer(t *testing.T) *engine.Peer {
	t.Helper()
	store, err := ruleset.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	e, err := engine.New(engine.Config{Name: "rs1", ASN: 65000}, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	config := ruleset.Peer{Name: "six", Address: "2001:db8::1", ASN: 4200000001}
	if _, err := e.Replace(&ruleset.Document{Generation: 1, Peers: []ruleset.Peer{config}}, false); err != nil {
		t.Fatal(err)
	}
	open := &wire.Open{ASN: config.ASN, HoldTime: 90, ID: [4]byte{192, 0, 2, 1}, FourOctet: true, Families: [wire.Families]bool{wire.EVPN: true}}
	message, err := open.Message()
	if err != nil {
		t.Fatal(err)
	}
	p := e.Establish(config, open, engine.Opening{
		Local: netip.MustParseAddrPort("[2001:db8::fe]:179"), Remote: netip.MustParseAddrPort("[2001:db8::1]:50000"), Sent: message, Received: message,
	})
	if p == nil {
		t.Fatal("the peer was refused")
	}
	return p
}

func parse(t *testing.T, data []byte) *gobmp.BMPMessage {
	t.Helper()
	m, err := gobmp.ParseBMPMessage(data)
	if err != nil {
		t.Fatalf("gobgp cannot read %x: %v", data, err)
	}
	if int(m.Header.Length) != len(data) {
		t.Fatalf("%d bytes say that they are %d", len(data), m.Header.Length)
	}
	return m
}

func TestAPeerOverIPv6(t *testing.T) {
	p := peer(t)
	at := time.Date(2026, 7, 1, 12, 0, 0, 250_000_000, time.UTC)
	m := parse(t, bmp.Append(nil, engine.Entry{Kind: engine.SessionUp, Peer: p, At: at.UnixNano()}))
	up := m.Body.(*gobmp.BMPPeerUpNotification)
	if up.LocalAddress.String() != "2001:db8::fe" || up.LocalPort != 179 || up.RemotePort != 50000 {
		t.Errorf("Peer Up from %s port %d to port %d", up.LocalAddress, up.LocalPort, up.RemotePort)
	}
	if h := m.PeerHeader; h.PeerAddress.String() != "2001:db8::1" || h.Flags != gobmp.BMP_PEER_FLAG_IPV6 || h.PeerAS != 4200000001 ||
		h.PeerBGPID.String() != "192.0.2.1" || h.Timestamp != float64(at.UnixMilli())/1000 {
		t.Errorf("per-peer header %+v", h)
	}
	m = parse(t, bmp.Append(nil, engine.Entry{Kind: engine.MarkerOut, Peer: p, Family: wire.EVPN, At: 1}))
	if end, family := m.Body.(*gobmp.BMPRouteMonitoring).BGPUpdate.Body.(*bgp.BGPUpdate).IsEndOfRib(); !end || family != bgp.RF_EVPN {
		t.Errorf("End-of-RIB %v of %s", end, family)
	}
	if want := uint8(gobmp.BMP_PEER_FLAG_IPV6 | gobmp.BMP_PEER_FLAG_POST_POLICY | gobmp.BMP_PEER_FLAG_ADJ_RIB_TYP); m.PeerHeader.Flags != want {
		t.Errorf("flags of Adj-RIB-Out %#x", m.PeerHeader.Flags)
	}
}

func TestReasonsOfPeerDown(t *testing.T) {
	p := peer(t)
	sent, received := wire.Shutdown(wire.AdminReset, "again"), &wire.Notification{Code: wire.HoldTimerExpired, Received: true}
	for _, c := range []struct {
		ending engine.Ending
		reason uint8
		code   uint8 // of the NOTIFICATION; 0: none
		data   int   // bytes after the reason
	}{
		{engine.Ending{Notification: sent}, gobmp.BMP_PEER_DOWN_REASON_LOCAL_BGP_NOTIFICATION, wire.Cease, 0},
		{engine.Ending{Notification: received}, gobmp.BMP_PEER_DOWN_REASON_REMOTE_BGP_NOTIFICATION, wire.HoldTimerExpired, 0},
		{engine.Ending{Local: true}, gobmp.BMP_PEER_DOWN_REASON_LOCAL_NO_NOTIFICATION, 0, 2},
		{engine.Ending{}, gobmp.BMP_PEER_DOWN_REASON_REMOTE_NO_NOTIFICATION, 0, 0},
	} {
		m := parse(t, bmp.Append(nil, engine.Entry{Kind: engine.SessionDown, Peer: p, At: 1, Ending: &c.ending}))
		down := m.Body.(*gobmp.BMPPeerDownNotification)
		code := uint8(0)
		if down.BGPNotification != nil {
			code = down.BGPNotification.Body.(*bgp.BGPNotification).ErrorCode
		}
		if down.Reason != c.reason || code != c.code || len(down.Data) != c.data {
			t.Errorf("%+v: reason %d, NOTIFICATION %d, data %x", c.ending, down.Reason, code, down.Data)
		}
	}
}
