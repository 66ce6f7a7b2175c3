package session_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"golang.org/x/sys/unix"

	"weft/routeserver/internal/petest"
	"weft/routeserver/internal/ruleset"
	"weft/routeserver/internal/session"
)

func ttl(n int) func(int) error {
	return func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TTL, n) }
}

// established reports whether a connection from an address becomes a session, or ends at once.
func (r *region) established(t *testing.T, from, to string, set func(fd int) error) (net.Conn, bool) {
	t.Helper()
	conn, err := dialer(from, set).Dial("tcp", to)
	if err != nil {
		return nil, false
	}
	t.Cleanup(func() { conn.Close() })
	head := make([]byte, 1)
	_, err = conn.Read(head) // the OPEN, or the end
	return conn, err == nil
}

func TestTTLSecurityOfOnePeer(t *testing.T) {
	r := start(t, session.Config{})
	near := ruleset.Peer{Name: "a", Address: "127.0.78.11", ASN: 65000, TTLSecurity: 1}
	r.change(t, ruleset.Operation{Op: ruleset.SetPeer, Peer: &near})
	if _, up := r.established(t, "127.0.78.11", r.remote, ttl(254)); up {
		t.Error("a neighbour two hops away is served")
	}
	strict := func(fd int) error { // this side checks it as well, also for the answer to the SYN
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MINTTL, 255); err != nil {
			return err
		}
		return ttl(255)(fd)
	}
	conn, err := dialer("127.0.78.11", strict).Dial("tcp", r.remote)
	if err != nil {
		t.Fatal(err)
	}
	a := petest.Over(t, conn, petest.Options{Local: "127.0.78.11"})
	a.Handshake()
	a.Run()
	b := r.dial(t, "12") // the limit does not apply to others
	before := dropped(t)
	onFd(t, conn, ttl(254))
	n := petest.VPLS(t, "65000:1", 1, 1, 64, 4097)
	a.Send(petest.Announcement(t, bgp.RF_VPLS, []bgp.NLRI{n}, []string{"65000:1"}))
	r.until(t, "the kernel to drop it", func() bool { return dropped(t) > before })
	onFd(t, conn, ttl(255)) // sent again
	b.Has(map[string]string{n.String(): "65000:2"})

	near.TTLSecurity = 255
	r.change(t, ruleset.Operation{Op: ruleset.SetPeer, Peer: &near})
	a.Closed()
	if _, up := r.established(t, "127.0.78.11", r.remote, ttl(64)); !up {
		t.Error("a neighbour that may be anywhere is not served")
	}
}

func TestTTLSecurityOfAllButOne(t *testing.T) {
	r := start(t, session.Config{Hops: 1})
	if _, up := r.established(t, "127.0.78.11", r.remote, ttl(254)); up {
		t.Error("a neighbour two hops away is served")
	}
	far := ruleset.Peer{Name: "a", Address: "127.0.78.11", ASN: 65000, TTLSecurity: 3}
	r.change(t, ruleset.Operation{Op: ruleset.SetPeer, Peer: &far})
	for ttls, want := range map[int]bool{252: false, 253: true} {
		if _, up := r.established(t, "127.0.78.11", r.remote, ttl(ttls)); up != want {
			t.Errorf("with TTL %d: %t", ttls, up)
		}
	}
	if _, up := r.established(t, "127.0.78.12", r.remote, ttl(254)); up {
		t.Error("the listening socket lets the others through as well")
	}
	if _, up := r.established(t, "127.0.78.12", r.remote, ttl(255)); !up {
		t.Error("a neighbour one hop away is not served")
	}
}

func TestTTLSecurityOverIPv6AndDialled(t *testing.T) {
	probe, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("there is no IPv6 here")
	}
	probe.Close()
	port := netip.MustParseAddrPort(probe.Addr().String()).Port()
	strict := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = errors.Join(ttl(255)(int(fd)), unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MINTTL, 255))
		})
		if err != nil {
			return err
		}
		return failed
	}}
	strict.SetMultipathTCP(false)
	l, err := strict.Listen(t.Context(), "tcp4", "127.0.78.11:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second))
	r := start(t, session.Config{
		Listen: netip.AddrPortFrom(netip.IPv6Unspecified(), port), Active: true, PeerPort: netip.MustParseAddrPort(l.Addr().String()).Port(), ConnectRetry: 1e9,
	})
	six := ruleset.Peer{Name: "c", Address: "::1", ASN: 65000, TTLSecurity: 1}
	r.change(t, ruleset.Operation{Op: ruleset.SetPeer, Peer: &six})
	hops := func(n int) func(int) error {
		return func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, n) }
	}
	to := fmt.Sprintf("[::1]:%d", port)
	if _, up := r.established(t, "::1", to, hops(254)); up {
		t.Error("a neighbour two hops away is served")
	}
	if _, up := r.established(t, "::1", to, hops(255)); !up {
		t.Error("a neighbour one hop away is not served")
	}
	near := ruleset.Peer{Name: "a", Address: "127.0.78.11", ASN: 65000, TTLSecurity: 1}
	r.change(t, ruleset.Operation{Op: ruleset.SetPeer, Peer: &near})
	conn, err := l.Accept() // none came before: with a lower TTL
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// dropped returns the number of packets that the kernel has dropped for their TTL (in this network namespace).
func dropped(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/net/netstat")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		for k, name := range names {
			if name == "TCPMinTTLDrop" {
				n, _ := strconv.Atoi(values[k])
				return n
			}
		}
	}
	t.Skip("the kernel does not count such packets")
	return 0
}
