package line

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"

	"weft/routeserver/identity"
	"weft/routeserver/identity/identitytest"
)

func peer(t *testing.T, directory, name string) *tls.Config {
	t.Helper()
	config, err := identity.New(directory).Peer(name)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestStrangersDoNotKeepTheSourceAway(t *testing.T) {
	region, one, other, third := identitytest.NewSigner(t), t.TempDir(), t.TempDir(), t.TempDir()
	region.Certify(one, "c1", "127.0.77.1")
	region.Certify(other, "c2", "127.0.77.2")
	region.Certify(third, "c3", "127.0.77.3")
	listener, err := Listen(t.Context(), "127.0.77.2:0", false)
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	for range strangers / 2 { // they say nothing
		silent, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
	}
	refused, accepted := make(chan error, 16), make(chan error, 1)
	first := errors.New("not the one")
	go func() {
		conn, err := Accept(t.Context(), listener, peer(t, other, "c1"), func(conn net.Conn) error {
			defer func() { first = nil }()
			return first
		}, func(_ net.Addr, reason error) { refused <- reason })
		if err == nil {
			_, err = conn.Write([]byte("hello"))
			_ = conn.Close()
		}
		accepted <- err
	}()
	if conn, err := Dial(t.Context(), address, peer(t, third, "c2"), false); err == nil {
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("another cloudlet is greeted")
		}
	}
	if err := <-refused; err == nil {
		t.Error("no reason")
	}
	for range 2 { // the first greeting fails
		conn, err := Dial(t.Context(), address, peer(t, one, "c2"), false)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Read(make([]byte, 5))
		_ = conn.Close()
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	if _, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		t.Error("others can still connect")
	}
}

func TestWaitingEndsWithTheMove(t *testing.T) {
	listener, err := Listen(t.Context(), "127.0.77.2:0", true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := Accept(ctx, listener, nil, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
