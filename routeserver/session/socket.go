package session

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Passwords are the TCP-MD5 keys (RFC 2385) by a neighbour's address. They are never printed.
type Passwords map[netip.Addr]password

type password string

// String hides the password, also from %v of whatever holds it.
func (password) String() string { return "(hidden)" }

// GoString hides the password from %#v.
func (password) GoString() string { return "(hidden)" }

// maxPassword is TCP_MD5SIG_MAXKEYLEN.
const maxPassword = 80

// ReadPasswords reads a file with lines of an address and a password, between them white space. Empty lines and those
// that begin with # do not count. Others than the owner must not be able to read the file. Errors name the line, and
// never repeat it.
func ReadPasswords(file string) (Passwords, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("the password file cannot be read: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("the password file %s can be read by others than its owner (mode %#o); chmod 600 it", file, info.Mode().Perm())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the password file cannot be read: %w", err)
	}
	passwords := Passwords{}
	for i, line := range strings.Split(string(data), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		bad := func(why string) error { return fmt.Errorf("%s:%d: %s", file, i+1, why) }
		if len(fields) != 2 {
			return nil, bad("is not of the form: address password")
		}
		address, err := netip.ParseAddr(fields[0])
		if err != nil || address.Zone() != "" {
			return nil, bad("does not begin with an address")
		}
		if len(fields[1]) > maxPassword {
			return nil, bad(fmt.Sprintf("the password is longer than %d bytes", maxPassword))
		}
		if _, twice := passwords[address.Unmap()]; twice {
			return nil, bad("the address is there twice")
		}
		passwords[address.Unmap()] = password(fields[1])
	}
	return passwords, nil
}

// guard sets a socket's protection before it is bound: the passwords of those neighbours that it may have, and GTSM.
func (s *Server) guard(neighbours Passwords) func(network, address string, raw syscall.RawConn) error {
	return func(network, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			six := strings.HasSuffix(network, "6")
			if failed = s.setHops(int(fd), six); failed != nil {
				return
			}
			for address, key := range neighbours {
				if failed = setPassword(int(fd), six, address, key); failed != nil {
					return
				}
			}
		})
		return errors.Join(err, failed)
	}
}

// setHops makes a socket take packets only from neighbours within some hops (GTSM, RFC 5082).
func (s *Server) setHops(fd int, six bool) error {
	if s.Hops == 0 {
		return nil
	}
	least := 256 - s.Hops
	set := func(level, option, value int) error {
		return os.NewSyscallError("setsockopt (GTSM)", unix.SetsockoptInt(fd, level, option, value))
	}
	err := errors.Join(set(unix.IPPROTO_IP, unix.IP_TTL, 255), set(unix.IPPROTO_IP, unix.IP_MINTTL, least))
	if six {
		err = errors.Join(err, set(unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, 255), set(unix.IPPROTO_IPV6, unix.IPV6_MINHOPCOUNT, least))
	}
	return err
}

func setPassword(fd int, six bool, address netip.Addr, key password) error {
	sig := unix.TCPMD5Sig{Keylen: uint16(len(key))}
	copy(sig.Key[:], key)
	switch {
	case six: // an IPv4 neighbour of a socket for both is a mapped address
		sig.Addr.Family = unix.AF_INET6
		a := address.As16()
		copy(sig.Addr.Data[6:], a[:]) // port and flow label go first
	case address.Is4():
		sig.Addr.Family = unix.AF_INET
		a := address.As4()
		copy(sig.Addr.Data[2:], a[:])
	default:
		return nil // a socket for IPv4 alone will not meet this neighbour
	}
	err := unix.SetsockoptTCPMD5Sig(fd, unix.IPPROTO_TCP, unix.TCP_MD5SIG, &sig)
	if errors.Is(err, unix.ENOPROTOOPT) || errors.Is(err, unix.EOPNOTSUPP) {
		return errors.New("this kernel has no TCP-MD5 (CONFIG_TCP_MD5SIG)")
	}
	return os.NewSyscallError("setsockopt TCP_MD5SIG", err)
}

// listenConfig is how the BGP address is bound.
func (s *Server) listenConfig() *net.ListenConfig {
	lc := &net.ListenConfig{Control: s.guard(s.Passwords)}
	lc.SetMultipathTCP(false) // which knows neither option
	return lc
}
