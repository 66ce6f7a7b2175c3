package session_test

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"golang.org/x/sys/unix"

	"weft/routeserver/internal/engine"
	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

// dialer connects from an address with options set on the socket.
func dialer(host string, set func(fd int) error) *net.Dialer {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}, Timeout: 700 * time.Millisecond, Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		if err := raw.Control(func(fd uintptr) { failed = set(int(fd)) }); err != nil {
			return err
		}
		return failed
	}}
	d.SetMultipathTCP(false)
	return d
}

func signing(key string) func(fd int) error {
	return func(fd int) error {
		sig := unix.TCPMD5Sig{Keylen: uint16(len(key))}
		sig.Addr.Family = unix.AF_INET
		copy(sig.Addr.Data[2:], []byte{127, 0, 78, 1})
		copy(sig.Key[:], key)
		return unix.SetsockoptTCPMD5Sig(fd, unix.IPPROTO_TCP, unix.TCP_MD5SIG, &sig)
	}
}

func TestANeighbourWithAPasswordHasToUseIt(t *testing.T) {
	keys, err := session.ReadKeys(passwordFile(t, "127.0.78.11 s3cret\n", 0o600))
	if err != nil {
		t.Fatal(err)
	}
	listen := freePort(t, "127.0.78.1")
	if err := session.New(session.Config{Listen: listen, Keys: keys}, nil, nil).Probe(); err != nil {
		if strings.Contains(err.Error(), "no TCP-MD5") {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	r := start(t, session.Config{Listen: listen, Keys: keys})
	r.dial(t, "12") // a PE without a key needs none
	for name, set := range map[string]func(int) error{"none": func(int) error { return nil }, "another": signing("wrong")} {
		if conn, err := dialer("127.0.78.11", set).Dial("tcp", r.remote); err == nil {
			conn.Close()
			t.Errorf("a connection with %s came to be", name)
		}
	}
	conn, err := dialer("127.0.78.11", signing("s3cret")).Dial("tcp", r.remote)
	if err != nil {
		t.Fatal(err)
	}
	a := petest.Over(t, conn, petest.Options{Local: "127.0.78.11"})
	a.Handshake()
	a.Run()
	a.Until("the session", func() bool { return r.server.States()["a"].State == session.Established })
}

func TestTTLSecurity(t *testing.T) {
	r := start(t, session.Config{Hops: 1})
	ttl := func(n int) func(int) error {
		return func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TTL, n) }
	}
	if conn, err := dialer("127.0.78.11", ttl(254)).Dial("tcp", r.remote); err == nil {
		conn.Close()
		t.Error("a neighbour two hops away could connect")
	}
	near := dialer("127.0.78.11", func(fd int) error {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MINTTL, 255); err != nil { // this side checks it as well
			return err
		}
		return ttl(255)(fd)
	})
	conn, err := near.Dial("tcp", r.remote)
	if err != nil {
		t.Fatal(err)
	}
	a := petest.Over(t, conn, petest.Options{Local: "127.0.78.11"})
	a.Handshake()
	a.Run()
	a.Until("the session", func() bool { return r.server.States()["a"].State == session.Established })
}

func TestIPv6Transport(t *testing.T) {
	l, err := net.Listen("tcp", "[::]:0")
	if err != nil {
		t.Skip("there is no IPv6 here")
	}
	l.Close()
	port := netip.MustParseAddrPort(l.Addr().String()).Port()
	r := start(t, session.Config{Listen: netip.AddrPortFrom(netip.IPv6Unspecified(), port), Hops: 0})
	six := ruleset.Peer{Name: "c", Address: "::1", ASN: 65000}
	r.change(t, ruleset.Operation{Op: ruleset.SetPeer, Peer: &six}, ruleset.Operation{Op: ruleset.Join, Pool: "pool", Member: "lan-c"})
	b := petest.Dial(t, petest.Options{Local: "127.0.78.12", Remote: fmt.Sprintf("127.0.78.1:%d", port), Families: []bgp.Family{bgp.RF_VPLS}})
	c := petest.Dial(t, petest.Options{Local: "::1", ID: "10.0.0.6", Remote: fmt.Sprintf("[::1]:%d", port), Families: []bgp.Family{bgp.RF_VPLS}})
	n := petest.VPLS(t, "65000:3", 1, 1, 64, 4097)
	c.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:3"}))
	b.Has(map[string]string{n.String(): "65000:2"})
	if views, _ := r.Select(engine.Filter{Table: engine.AdjIn, Peer: "c", AnyFamily: true, AnyRT: true}); len(views) != 1 {
		t.Errorf("%+v", views)
	}
}

func TestShutdownCommunication(t *testing.T) {
	r := start(t, session.Config{ShutdownText: "back at 6"})
	a, b := r.dial(t, "11"), r.dial(t, "12")
	text := "maintenance till 6 — Löwe"
	data := append([]byte{byte(len(text))}, text...)
	a.Send(bgp.NewBGPNotificationMessage(bgp.BGP_ERROR_CEASE, bgp.BGP_ERROR_SUB_ADMINISTRATIVE_SHUTDOWN, data))
	b.Until("the end of a", func() bool { return strings.Contains(r.server.States()["a"].LastError, text) })
	r.stop()
	n := b.Closed()
	if n == nil || len(n.Data) < 2 || int(n.Data[0]) != len(n.Data)-1 || string(n.Data[1:]) != "back at 6" {
		t.Errorf("ended with %+v", n)
	}
}
