// Package connections limits the open connections of a listener, in all and from one address, and the rate of answers
// to callers without a token, so that they do not keep out those with one.
package connections

import (
	"net"
	"net/netip"
	"sync"
)

// Limited is a listener that closes each connection beyond its limits at once.
type Limited struct {
	net.Listener
	most, fromOne int
	refused       func(peer netip.Addr)

	mu   sync.Mutex
	all  int
	open map[netip.Addr]int
}

// Limit bounds a listener to `most` connections in all and `fromOne` from one address (IPv6: one /64). It calls
// `refused` for each connection that it closes; `refused` must not block.
func Limit(listener net.Listener, most, fromOne int, refused func(peer netip.Addr)) *Limited {
	return &Limited{Listener: listener, most: most, fromOne: fromOne, refused: refused, open: map[netip.Addr]int{}}
}

// Accept waits for the next connection within the limits.
func (l *Limited) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := peerOf(connection)
		if l.enter(peer) {
			return &counted{Conn: connection, left: func() { l.leave(peer) }}, nil
		}
		_ = connection.Close()
		l.refused(peer)
	}
}

func (l *Limited) enter(peer netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == l.most || l.open[peer] == l.fromOne {
		return false
	}
	l.all++
	l.open[peer]++
	return true
}

func (l *Limited) leave(peer netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.open[peer]--; l.open[peer] == 0 {
		delete(l.open, peer)
	}
}

// peerOf returns the address to which a connection counts: of IPv6 the /64, since a host can use any address in its /64.
func peerOf(connection net.Conn) netip.Addr {
	return peerAt(connection.RemoteAddr().String())
}

func peerAt(remote string) netip.Addr {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	peer := from.Addr().Unmap().WithZone("")
	if peer.Is6() {
		net64, _ := peer.Prefix(64)
		return net64.Addr()
	}
	return peer
}

type counted struct {
	net.Conn
	once sync.Once
	left func()
}

// Close may be called more than once, as for any connection.
func (c *counted) Close() error {
	c.once.Do(c.left)
	return c.Conn.Close()
}
