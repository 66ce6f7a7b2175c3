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

// This file is GTSM (RFC 5082): neighbours send with TTL 255, and a packet that has crossed more routers than it may is
// dropped by the kernel. How far away a neighbour may be, its entry in the rule set says, or else --ttl-security.

// hopsOf is how far away a neighbour may be; 0: any distance.
func (s *Server) hopsOf(p ruleset.Peer) int { return cmp.Or(p.TTLSecurity, s.Hops) }

// farthest is how far away any neighbour may be. One listening socket serves them all, so it takes what the farthest may
// send; the nearer ones are looked at when they have been accepted. It is called with the lock held.
func (s *Server) farthest() int {
	hops := s.Hops
	for _, h := range s.hops {
		if hops != 0 {
			hops = max(hops, h)
		}
	}
	return hops
}

// measure notes how far away the rule set says that a peer may be, and says whether that is new. It is called with the
// lock held.
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

// keepAway makes the listening socket do what the rule set says now. It is called with the lock held.
func (s *Server) keepAway() {
	if s.listener == nil || s.hops == nil {
		return // as it was bound, and nothing else was ever asked for
	}
	err := onSocket(s.listener, func(fd int, six bool) error { return setHops(fd, six, s.farthest()) })
	if err != nil {
		s.log.Error("the distance of neighbours cannot be bounded", "error", err)
	}
}

// nearBy sets the bound for a connection that was accepted, and says whether it keeps to that already: the SYN came while
// only the listening socket's bound was in force.
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

// least is the lowest TTL with which packets from a distance arrive.
func least(hops int) int {
	if hops == 0 {
		return 0
	}
	return 256 - hops
}

// setHops makes a socket take packets only from neighbours within some hops, and send with TTL 255.
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

// ttlOfSYN reads the TTL of the packet that opened a connection, which the kernel has kept.
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
