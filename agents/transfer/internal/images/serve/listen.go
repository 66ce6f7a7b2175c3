package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"net/netip"
	"time"

	"weft/routeserver/connections"
)

const (
	mostConnections = 64
	mostOfOne       = 8 // from one address
)

// Listen waits for other cloudlets at an address, over MPTCP where both ends have it.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	listen := net.ListenConfig{}
	listen.SetMultipathTCP(true)
	return listen.Listen(ctx, "tcp", address)
}

// Serve answers connections with the store until the context ends, and closes the listener.
func (s *Store) Serve(ctx context.Context, listener net.Listener, secure *tls.Config) error {
	limited := connections.Limit(listener, mostConnections, mostOfOne, func(netip.Addr) {})
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: linger,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: log.New(&errorLog{s.marks.warn}, "", 0),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	// HTTP/1.1 alone, as the listener does not offer another protocol: one request at a time on each connection.
	err := server.Serve(tls.NewListener(limited, secure))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// errorLog gets the server's errors.
type errorLog struct {
	warn func(format string, args ...any)
}

// Write drops the failed handshakes, with which strangers could fill the journal.
func (e *errorLog) Write(line []byte) (int, error) {
	if !bytes.Contains(line, []byte("TLS handshake error")) {
		e.warn("%s", bytes.TrimSpace(line))
	}
	return len(line), nil
}
