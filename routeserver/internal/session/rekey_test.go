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

	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

// keyed starts a route server with keys, and skips the test if the kernel does not support them.
func keyed(t *testing.T, c session.Config, text string) *region {
	t.Helper()
	c.Keys = readKeys(t, text)
	c.Listen = freePort(t, "127.0.78.1")
	if err := session.New(c, nil, nil).Probe(); err != nil {
		if strings.Contains(err.Error(), "this kernel has no ") {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	return start(t, c)
}

// refused checks that no connection is possible with a socket set like this.
func (r *region) refused(t *testing.T, what string, set func(fd int) error) {
	t.Helper()
	if conn, err := dialer("127.0.78.11", set).Dial("tcp", r.remote); err == nil {
		conn.Close()
		t.Errorf("a connection with %s came to be", what)
	}
}

func (r *region) signed(t *testing.T, set func(fd int) error, hold uint16) (*petest.PE, net.Conn) {
	t.Helper()
	conn, err := dialer("127.0.78.11", set).Dial("tcp", r.remote)
	if err != nil {
		t.Fatal(err)
	}
	a := petest.Over(t, conn, petest.Options{Local: "127.0.78.11", HoldTime: hold})
	a.Handshake()
	a.Run()
	a.Until("the session", func() bool { return r.server.States()["a"].State == session.Established })
	return a, conn
}

func onFd(t *testing.T, conn net.Conn, do func(fd int) error) {
	t.Helper()
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

func unsigned(int) error { return nil }

func TestAnotherPasswordWithoutLosingTheSession(t *testing.T) {
	r := keyed(t, session.Config{}, "127.0.78.11 old\n127.0.78.13 c\n")
	a, conn := r.signed(t, signing("old"), 90)
	b := r.dial(t, "12")
	if err := r.server.Rekey(readKeys(t, "127.0.78.11 new\n127.0.78.13 c\n")); err != nil {
		t.Fatal(err)
	}
	onFd(t, conn, signing("new"))
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
	b.Has(map[string]string{n.String(): "65000:2"})
	b.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{petest.VPLS(t, "65000:2", 1, 1, 64, 4097)}, []string{"65000:2"}))
	a.Has(map[string]string{petest.VPLS(t, "65000:2", 1, 1, 64, 4097).String(): "65000:1"})
	if s := r.server.States()["a"]; s.State != session.Established || s.LastError != "" {
		t.Errorf("the session is %+v", s)
	}
	conn.Close()
	r.refused(t, "the old password", signing("old"))
	r.refused(t, "no password", unsigned)
	r.signed(t, signing("new"), 90)
}

func TestASessionEndsWhenItsKindOfKeyChanges(t *testing.T) {
	r := keyed(t, session.Config{}, "127.0.78.11 old\n")
	a, _ := r.signed(t, signing("old"), 90)
	b := r.dial(t, "12")
	if err := r.server.Rekey(readKeys(t, "127.0.78.12 new\n")); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*petest.PE{"no password any more": a, "a password from now on": b} {
		if n := p.Closed(); n == nil || n.ErrorCode != 6 || n.ErrorSubcode != 6 {
			t.Errorf("%s: ended with %+v", name, n)
		}
	}
	r.signed(t, unsigned, 90)
	if conn, err := dialer("127.0.78.12", unsigned).Dial("tcp", r.remote); err == nil {
		conn.Close()
		t.Error("a new password is not asked for")
	}
}

func TestKeysThatTheKernelDoesNotHaveChangeNothing(t *testing.T) {
	r := keyed(t, session.Config{}, "127.0.78.11 old\n")
	err := r.server.Rekey(readKeys(t, "127.0.78.12 ao 1 1 hmac-sha-1-96 key\n"))
	if err == nil {
		t.Skip("this kernel has TCP-AO")
	}
	if !strings.Contains(err.Error(), "CONFIG_TCP_AO") {
		t.Error(err)
	}
	r.refused(t, "no password", unsigned)
	r.dial(t, "12")
	r.signed(t, signing("old"), 90)
}

// ao sets TCP-AO keys "sendid recvid algorithm key" on a PE's socket, without code of the route server.
func ao(keys ...string) func(fd int) error { return aoTo("127.0.78.1", keys...) }

func aoTo(server string, keys ...string) func(fd int) error {
	return func(fd int) error {
		for _, k := range keys {
			var send, receive uint8
			var algorithm, key string
			if _, err := fmt.Sscan(k, &send, &receive, &algorithm, &key); err != nil {
				return err
			}
			if err := rawAOKey(fd, netip.MustParseAddr(server), send, receive, algorithm, key); err != nil {
				return err
			}
		}
		return nil
	}
}

// rawAOKey fills struct tcp_ao_add by hand.
func rawAOKey(fd int, server netip.Addr, send, receive uint8, algorithm, key string) error {
	b := make([]byte, 288)
	b[0] = syscall.AF_INET
	at, bits := 4, 32
	if server.Is6() {
		b[0], at, bits = syscall.AF_INET6, 8, 128
	}
	copy(b[at:], server.AsSlice())
	copy(b[128:], algorithm)
	b[202], b[203], b[204], b[205], b[207] = byte(bits), send, receive, 12, byte(len(key))
	copy(b[208:], key)
	return syscall.SetsockoptString(fd, syscall.IPPROTO_TCP, 38, string(b))
}

func TestTCPAO(t *testing.T) {
	for file, kernel := range map[string]string{"hmac-sha-1-96": "hmac(sha1)", "aes-128-cmac-96": "cmac(aes128)"} {
		t.Run(file, func(t *testing.T) {
			r := keyed(t, session.Config{}, "127.0.78.11 ao 1 2 "+file+" s3cret\n127.0.78.11 ao 3 4 "+file+" next\n127.0.78.13 md5 x\n")
			r.dial(t, "12") // a PE without a key needs none
			r.refused(t, "no key", unsigned)
			r.refused(t, "another key", ao("2 1 "+kernel+" wrong"))
			r.refused(t, "another identifier", ao("7 1 "+kernel+" s3cret"))
			r.refused(t, "TCP-MD5", signing("s3cret"))
			for _, k := range []string{"2 1 " + kernel + " s3cret", "4 3 " + kernel + " next"} { // any key of the chain is enough
				a, conn := r.signed(t, ao(k), 90)
				a.Send(bgp.NewBGPKeepAliveMessage())
				conn.Close()
				r.until(t, "the end", func() bool { return r.server.States()["a"].State != session.Established })
			}
		})
	}
}

func TestTCPAORollover(t *testing.T) {
	r := keyed(t, session.Config{}, "127.0.78.11 ao 1 1 hmac-sha-1-96 first\n")
	a, conn := r.signed(t, ao("1 1 hmac(sha1) first"), 90)
	b := r.dial(t, "12")
	talk := func(ve uint16) {
		t.Helper()
		n := petest.VPLS(t, "65000:1", ve, 1, 64, 4097)
		a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
		b.Until("the route", func() bool { return len(b.Locked()) > 0 })
		m := petest.VPLS(t, "65000:2", ve, 1, 64, 4097)
		b.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{m}, []string{"65000:2"}))
		before := len(a.Updates())
		a.Until("the route", func() bool { return len(a.Locked()) > before })
	}
	talk(1)
	rekey := func(text string) {
		t.Helper()
		if err := r.server.Rekey(readKeys(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	rekey("127.0.78.11 ao 2 2 hmac-sha-1-96 second\n127.0.78.11 ao 1 1 hmac-sha-1-96 first\n")
	talk(2) // the PE does not have the new key yet
	onFd(t, conn, ao("2 2 hmac(sha1) second"))
	talk(3) // now it has the key, and was asked to use it
	talk(4)
	onFd(t, conn, func(fd int) error { // and asks for the key
		b := make([]byte, 48)
		b[0], b[7] = 2, 2
		return syscall.SetsockoptString(fd, syscall.IPPROTO_TCP, 40, string(b))
	})
	talk(5)
	rekey("127.0.78.11 ao 2 2 hmac-sha-1-96 second\n")
	talk(6)
	if s := r.server.States()["a"]; s.State != session.Established || s.LastError != "" {
		t.Fatalf("the session is %+v", s)
	}
	rekey("127.0.78.11 ao 5 5 hmac-sha-1-96 quite-another\n") // nothing in common
	a.Closed()
	r.refused(t, "the first key", ao("1 1 hmac(sha1) first"))
	r.refused(t, "the second key", ao("2 2 hmac(sha1) second"))
	r.signed(t, ao("5 5 hmac(sha1) quite-another"), 90)
}

// TestTCPAOBothWays lets the route server dial, and listen on a socket of both protocols.
func TestTCPAOBothWays(t *testing.T) {
	keyed(t, session.Config{}, "127.0.78.11 ao 1 1 hmac-sha-1-96 key\n") // or else skipped
	lc := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = ao("1 1 hmac(sha1) key")(int(fd)) })
		if err != nil {
			return err
		}
		return failed
	}}
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(t.Context(), "tcp4", "127.0.78.11:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	keys := readKeys(t, "127.0.78.11 ao 1 1 hmac-sha-1-96 key\n::1 ao 1 1 hmac-sha-1-96 six\n")
	port := netip.MustParseAddrPort(l.Addr().String()).Port()
	start(t, session.Config{Listen: freePort(t, "127.0.78.1"), Keys: keys, Active: true, PeerPort: port})
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	a := petest.Over(t, conn, petest.Options{Local: "127.0.78.11"})
	a.Handshake()

	probe, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("there is no IPv6 here")
	}
	probe.Close()
	r := start(t, session.Config{Listen: netip.AddrPortFrom(netip.IPv6Unspecified(), netip.MustParseAddrPort(probe.Addr().String()).Port()), Keys: keys})
	six := ruleset.Peer{Name: "c", Address: "::1", ASN: 65000}
	r.change(t, ruleset.Operation{Op: ruleset.SetPeer, Peer: &six})
	for from, to := range map[string]string{"127.0.78.11": "127.0.78.1", "::1": "::1"} {
		key := map[string]string{"127.0.78.11": "key", "::1": "six"}[from]
		remote := net.JoinHostPort(to, fmt.Sprint(netip.MustParseAddrPort(probe.Addr().String()).Port()))
		if conn, err := dialer(from, unsigned).Dial("tcp", remote); err == nil {
			conn.Close()
			t.Errorf("%s connects without a key", from)
		}
		conn, err := dialer(from, aoTo(to, "1 1 hmac(sha1) "+key)).Dial("tcp", remote)
		if err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		petest.Over(t, conn, petest.Options{Local: from, ID: "10.0.0.9"}).Handshake()
	}
}

func (r *region) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
