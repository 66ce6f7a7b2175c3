package connections

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"
)

// dial connects from one of this machine's addresses; the test closes the connection at its end.
func dial(t *testing.T, to net.Addr, from string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 5 * time.Second}
	connection, err := dialer.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// closed reports whether the other side has closed a connection. It waits for up to five seconds.
func closed(t *testing.T, connection net.Conn) bool {
	t.Helper()
	_ = connection.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, err := connection.Read(make([]byte, 1))
	return err != nil && !isTimeout(err)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestWhoHasTooManyIsRefusedAndNobodyElse(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan netip.Addr, 10)
	limited := Limit(plain, 3, 2, func(peer netip.Addr) { refused <- peer })
	defer limited.Close()
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			connection, err := limited.Accept()
			if err != nil {
				return
			}
			accepted <- connection
		}
	}()
	enters := func(from string) net.Conn {
		t.Helper()
		dial(t, plain.Addr(), from)
		select {
		case connection := <-accepted:
			return connection
		case peer := <-refused:
			t.Fatalf("%s was refused", peer)
		case <-time.After(5 * time.Second):
			t.Fatal("nobody came")
		}
		return nil
	}
	isRefused := func(from string) {
		t.Helper()
		caller := dial(t, plain.Addr(), from)
		select {
		case <-accepted:
			t.Fatalf("%s came in", from)
		case peer := <-refused:
			if peer.String() != from {
				t.Fatalf("%s was refused as %s", from, peer)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("nobody was refused")
		}
		if !closed(t, caller) {
			t.Fatalf("the connection of %s is open", from)
		}
	}

	first := enters("127.0.0.2")
	enters("127.0.0.2")
	isRefused("127.0.0.2") // two from one address
	third := enters("127.0.0.3")
	isRefused("127.0.0.4") // three in all
	_ = first.Close()
	_ = first.Close()
	enters("127.0.0.4")
	isRefused("127.0.0.3")
	_ = third.Close()
	enters("127.0.0.2")
	if limited.all != 3 || len(limited.open) != 2 {
		t.Fatalf("%d connections of %v are counted", limited.all, limited.open)
	}
}

func TestWhoAPeerIs(t *testing.T) {
	for address, peer := range map[string]string{
		"192.0.2.1:80":               "192.0.2.1",
		"[::ffff:192.0.2.1]:80":      "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:80":  "2001:db8:1:2::",
		"[fe80::1%lo]:80":            "fe80::",
		"[2001:db8:1:2:ffff::1]:443": "2001:db8:1:2::",
	} {
		if found := peerOf(from{address: address}); found.String() != peer {
			t.Errorf("%s counts for %s, not %s", address, found, peer)
		}
	}
}

type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr { return f }
func (from) Network() string        { return "tcp" }
func (f from) String() string       { return f.address }
