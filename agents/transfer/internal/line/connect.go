package line

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Patience is how long a connection, its handshake and the greetings may take.
const Patience = 15 * time.Second

// strangers is how many connections may be in their handshake at once.
const strangers = 8

// Dial connects to the destination's end; with a configuration, over TLS. `multipath` is MPTCP (RFC 8684).
func Dial(ctx context.Context, address string, secure *tls.Config, multipath bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	dialer := net.Dialer{}
	dialer.SetMultipathTCP(multipath)
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return shake(ctx, conn, secure, tls.Client)
}

// Listen waits at an address for the source's end.
func Listen(ctx context.Context, address string, multipath bool) (net.Listener, error) {
	listen := net.ListenConfig{}
	listen.SetMultipathTCP(multipath)
	return listen.Listen(ctx, "tcp", address)
}

// Accept returns the first connection that proves to be the source's, and closes the listener. `greet` gets each one
// that has the right certificate; connections on which it fails are closed, and others waited for. `refused` gets the
// reasons.
func Accept(ctx context.Context, listener net.Listener, secure *tls.Config, greet func(net.Conn) error, refused func(net.Addr, error)) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	defer listener.Close()
	accepted, failed := make(chan net.Conn, strangers), make(chan error, 1)
	go func() {
		turns := make(chan struct{}, strangers)
		for {
			turns <- struct{}{}
			conn, err := listener.Accept()
			if err != nil {
				failed <- err
				return
			}
			go func() {
				defer func() { <-turns }()
				within, done := context.WithTimeout(ctx, Patience)
				defer done()
				if known, err := shake(within, conn, secure, tls.Server); err != nil {
					refused(conn.RemoteAddr(), err)
				} else {
					accepted <- known
				}
			}()
		}
	}()
	for {
		select {
		case conn := <-accepted:
			_ = conn.SetDeadline(time.Now().Add(Patience))
			if err := greet(conn); err != nil {
				refused(conn.RemoteAddr(), err)
				_ = conn.Close()
				continue
			}
			return conn, conn.SetDeadline(time.Time{})
		case err := <-failed:
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

// shake makes the handshake of TLS, if there is a configuration. If it fails the connection is closed.
func shake(ctx context.Context, conn net.Conn, secure *tls.Config, side func(net.Conn, *tls.Config) *tls.Conn) (net.Conn, error) {
	if secure == nil {
		return conn, nil
	}
	shaken := side(conn, secure)
	if err := shaken.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("the handshake with %s: %w", conn.RemoteAddr(), err)
	}
	return shaken, nil
}
