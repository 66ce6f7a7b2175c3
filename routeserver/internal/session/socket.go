package session

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// guard sets a socket's protection before it is bound: the keys of the neighbours that it may have, and GTSM.
func guard(neighbours Keys, hops int) func(network, address string, raw syscall.RawConn) error {
	return func(network, _ string, raw syscall.RawConn) error {
		return control(raw, func(fd int) error {
			six := strings.HasSuffix(network, "6")
			if hops > 0 {
				if err := setHops(fd, six, hops); err != nil {
					return err
				}
			}
			for address, p := range neighbours {
				if err := protect(fd, six, address, Protection{}, p); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// control calls a function with a socket's descriptor.
func control(raw syscall.RawConn, do func(fd int) error) error {
	var failed error
	err := raw.Control(func(fd uintptr) { failed = do(int(fd)) })
	return errors.Join(err, failed)
}

// overIPv6 reports whether a socket is an IPv6 socket, which may carry IPv4 as well.
func overIPv6(fd int) (bool, error) {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	return domain == unix.AF_INET6, os.NewSyscallError("getsockopt SO_DOMAIN", err)
}

// protect changes the keys of a neighbour on a socket that is not a connection. A key for an address makes signing
// mandatory for that address, with TCP-MD5 as with TCP-AO.
func protect(fd int, six bool, address netip.Addr, was, is Protection) error {
	if !six && !address.Is4() {
		return nil // this neighbour cannot reach a socket for IPv4 alone
	}
	if was.password != "" && is.password == "" {
		if err := setPassword(fd, six, address, ""); err != nil {
			return err
		}
	}
	for _, k := range was.chain {
		if !slices.Contains(is.chain, k) {
			if err := deleteKey(fd, six, address, k, nil); err != nil {
				return err
			}
		}
	}
	for _, k := range is.chain {
		if !slices.Contains(was.chain, k) {
			if err := addKey(fd, six, address, k); err != nil {
				return err
			}
		}
	}
	if is.password != "" && is.password != was.password {
		return setPassword(fd, six, address, is.password)
	}
	return nil
}

// setPassword sets the TCP-MD5 key for an address, or removes it if the key is empty.
func setPassword(fd int, six bool, address netip.Addr, key secret) error {
	sig := unix.TCPMD5Sig{Keylen: uint16(len(key))}
	copy(sig.Key[:], key)
	storage, _ := sockaddr(six, address)
	sig.Addr.Family = binary.NativeEndian.Uint16(storage[:])
	copy(sig.Addr.Data[:], storage[2:])
	err := unix.SetsockoptTCPMD5Sig(fd, unix.IPPROTO_TCP, unix.TCP_MD5SIG, &sig)
	if errors.Is(err, unix.ENOPROTOOPT) || errors.Is(err, unix.EOPNOTSUPP) {
		return errors.New("this kernel has no TCP-MD5 (CONFIG_TCP_MD5SIG)")
	}
	return os.NewSyscallError("setsockopt TCP_MD5SIG", err)
}

// listenConfig returns the configuration for binding the BGP address, with the keys of all neighbours.
func (s *Server) listenConfig(keys Keys) *net.ListenConfig {
	protect := guard(keys, s.farthest())
	lc := &net.ListenConfig{Control: func(network, address string, raw syscall.RawConn) error {
		saveSYN := func(fd int) error {
			return os.NewSyscallError("setsockopt TCP_SAVE_SYN", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_SAVE_SYN, 1))
		}
		return errors.Join(protect(network, address, raw), control(raw, saveSYN))
	}}
	lc.SetMultipathTCP(false) // which supports none of these options
	return lc
}
