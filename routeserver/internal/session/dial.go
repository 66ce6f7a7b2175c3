package session

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"time"
)

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// dial tries to connect to a peer whenever it has no connection, until the context ends (states Connect and Active).
func (s *Server) dial(ctx context.Context, name string) {
	local := &net.TCPAddr{IP: s.Listen.Addr().AsSlice()}
	if s.Listen.Addr().IsUnspecified() {
		local = nil
	}
	dialer := net.Dialer{Timeout: s.ConnectRetry}
	dialer.SetMultipathTCP(false)
	if local != nil {
		dialer.LocalAddr = local
	}
	for wait := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		// ConnectRetryTimer, with jitter (RFC 4271 section 10).
		wait = time.Duration(float64(s.ConnectRetry) * (0.75 + 0.25*rand.Float64()))
		peer, stays := s.engine.Set().Peer(name)
		s.mu.Lock()
		busy := s.slot(name).busy() || s.slot(name).idle()
		s.mu.Unlock()
		if !stays || busy {
			continue
		}
		address := netip.AddrPortFrom(netip.MustParseAddr(peer.Address), s.PeerPort)
		own := Keys{}
		p, protected := s.protection(address.Addr())
		if protected {
			own[address.Addr().Unmap()] = p
		}
		dialer.Control = guard(own, s.hopsOf(peer))
		conn, err := dialer.DialContext(ctx, "tcp", address.String())
		if err != nil {
			s.log.Debug("the peer could not be connected to", "peer", name, "error", cause(err))
			continue
		}
		if now, _ := s.protection(address.Addr()); !now.equal(p) {
			conn.Close() // opened with keys that are no longer in force
			continue
		}
		s.start(peer, conn, true)
	}
}
