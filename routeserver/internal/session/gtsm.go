package session

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"weft/routeserver/internal/ruleset"
)

// This file implements GTSM (RFC 5082): neighbours send with TTL 255, and the kernel drops packets that have crossed
// too many routers. A neighbour's entry in the rule set gives its largest distance; the default is --ttl-security.

// hopsOf returns the largest distance of a neighbour; 0: any distance.
func (s *Server) hopsOf(p ruleset.Peer) int { return cmp.Or(p.TTLSecurity, s.Hops) }

// farthest returns the largest distance of any neighbour. One listening socket serves them all, so it accepts packets
// from that distance; nearBy checks the nearer ones after they are accepted. It requires the lock.
func (s *Server) farthest() int {
	hops := s.Hops
	for _, h := range s.hops {
		if hops != 0 {
			hops = max(hops, h)
		}
	}
	return hops
}

// measure records the largest distance of a peer by the rule set, and reports whether it has changed. It requires the lock.
func (s *Server) measure(name string, p ruleset.Peer) (changed bool) {
	if s.hops[name] == p.TTLSecurity {
		return false
	}
	if s.hops == nil {
		s.hops = map[string]int{}
	}
	if s.hops[name] = p.TTLSecurity; p.TTLSecurity == 0 {
		delete(s.hops, name)
	}
	return true
}

// keepAway applies the present rule set to the listening socket. It requires the lock.
func (s *Server) keepAway() {
	if s.listener == nil || s.hops == nil {
		return // as it was bound, and the rule set has never set a distance
	}
	err := onSocket(s.listener, func(fd int, six bool) error { return setHops(fd, six, s.farthest()) })
	if err != nil {
		s.log.Error("the distance of neighbours cannot be bounded", "error", err)
	}
}

// nearBy sets the limit for an accepted connection, and returns an error if its SYN exceeds it: the SYN came when only
// the listening socket's limit applied.
func nearBy(conn net.Conn, hops int) error {
	return onSocket(conn, func(fd int, six bool) error {
		if err := setHops(fd, six, hops); err != nil {
			return err
		}
		ttl, err := ttlOfSYN(fd)
		if err == nil && ttl < least(hops) {
			err = fmt.Errorf("its SYN came with TTL %d, and not at least %d", ttl, least(hops))
		}
		return err
	})
}

// least returns the lowest TTL of packets from a distance.
func least(hops int) int {
	if hops == 0 {
		return 0
	}
	return 256 - hops
}

// setHops makes a socket accept packets only from neighbours within some hops, and send with TTL 255.
func setHops(fd int, six bool, hops int) error {
	set := func(level, option, value int) error {
		return os.NewSyscallError("setsockopt (GTSM)", unix.SetsockoptInt(fd, level, option, value))
	}
	err := errors.Join(set(unix.IPPROTO_IP, unix.IP_TTL, 255), set(unix.IPPROTO_IP, unix.IP_MINTTL, least(hops)))
	if six {
		err = errors.Join(err, set(unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, 255), set(unix.IPPROTO_IPV6, unix.IPV6_MINHOPCOUNT, least(hops)))
	}
	return err
}

// ttlOfSYN returns the TTL of the packet that opened a connection, which the kernel has kept.
func ttlOfSYN(fd int) (int, error) {
	var packet [256]byte
	size := uint32(len(packet))
	_, _, failed := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_SAVED_SYN,
		uintptr(unsafe.Pointer(&packet)), uintptr(unsafe.Pointer(&size)), 0)
	switch {
	case failed != 0:
		return 0, os.NewSyscallError("getsockopt TCP_SAVED_SYN", failed)
	case size >= 20 && packet[0]>>4 == 4:
		return int(packet[8]), nil
	case size >= 40 && packet[0]>>4 == 6:
		return int(packet[7]), nil
	}
	return 0, errors.New("the kernel has not kept its SYN")
}
