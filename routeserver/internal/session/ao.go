package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// Socket options and structures of TCP-AO (linux/tcp.h, since Linux 6.7).
const (
	tcpAOAdd  = 38
	tcpAODel  = 39
	tcpAOInfo = 40
)

// Flags of the structures.
const (
	aoSetCurrent = 1 << 0
	aoSetNext    = 1 << 1
)

// aoAdd is struct tcp_ao_add: a key that signs segments from and to an address.
type aoAdd struct {
	Address       [128]byte // struct sockaddr_storage
	Algorithm     [64]byte
	Interface     int32
	Flags         uint32
	_             uint16
	Prefix        uint8
	Send, Receive uint8
	MAC           uint8 // its length
	KeyFlags      uint8
	KeyLength     uint8
	Key           [maxSecret]byte
}

// aoDel is struct tcp_ao_del. Current and Next name the keys to use if the deleted key is in use.
type aoDel struct {
	Address       [128]byte
	Interface     int32
	Flags         uint32
	_             uint16
	Prefix        uint8
	Send, Receive uint8
	Current, Next uint8
	KeyFlags      uint8
}

// aoInfo is struct tcp_ao_info_opt: the key that the neighbour is asked to sign with.
type aoInfo struct {
	Flags         uint32
	_             uint16
	Current, Next uint8
	Counters      [5]uint64
}

// sockaddr returns an address as struct sockaddr_storage, and its length in bits. For a socket of both protocols an
// IPv4 address is IPv4-mapped.
func sockaddr(six bool, address netip.Addr) (storage [128]byte, bits uint8) {
	if six {
		binary.NativeEndian.PutUint16(storage[:], unix.AF_INET6)
		a := address.As16()
		copy(storage[8:], a[:]) // port and flow label precede it
	} else {
		binary.NativeEndian.PutUint16(storage[:], unix.AF_INET)
		a := address.As4()
		copy(storage[4:], a[:])
	}
	return storage, uint8(address.Unmap().BitLen())
}

func addKey(fd int, six bool, address netip.Addr, k aoKey) error {
	a := aoAdd{Send: k.send, Receive: k.receive, MAC: 12, KeyLength: uint8(len(k.secret))} // 96 bits (RFC 5926)
	a.Address, a.Prefix = sockaddr(six, address)
	copy(a.Algorithm[:], k.algorithm)
	copy(a.Key[:], k.secret)
	err := setAO(fd, tcpAOAdd, &a)
	if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("this kernel has no %s for TCP-AO", k.algorithm)
	}
	return err
}

// deleteKey deletes a key; on a connection that uses it, another one takes its place.
func deleteKey(fd int, six bool, address netip.Addr, k aoKey, instead *aoKey) error {
	d := aoDel{Send: k.send, Receive: k.receive}
	d.Address, d.Prefix = sockaddr(six, address)
	if instead != nil {
		d.Flags, d.Current, d.Next = aoSetCurrent|aoSetNext, instead.send, instead.receive
	}
	return setAO(fd, tcpAODel, &d)
}

// askFor asks the neighbour of a connection to sign with a key; this also tells the neighbour that we have the key.
func askFor(fd int, k aoKey) error {
	return setAO(fd, tcpAOInfo, &aoInfo{Flags: aoSetNext, Next: k.receive})
}

func setAO(fd, option int, value any) error {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.NativeEndian, value); err != nil {
		return err
	}
	err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, option, b.String())
	if errors.Is(err, unix.ENOPROTOOPT) || errors.Is(err, unix.EOPNOTSUPP) {
		return errors.New("this kernel has no TCP-AO (CONFIG_TCP_AO)")
	}
	return os.NewSyscallError("setsockopt TCP-AO", err)
}
