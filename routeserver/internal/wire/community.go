package wire

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// RT is a route target as it is on the wire (RFC 4360 section 4).
type RT [8]byte

// isRT reports whether a community is a route target: transitive AS-, IPv4- or 4-octet-AS-specific, sub-type 2. EVPN's
// ES-Import (type 6) is not one.
func isRT(community []byte) bool {
	return community[0] <= 2 && community[1] == 2
}

// admin reads `asn:n`, `asnL:n` or `a.b.c.d:n` into six bytes and a type: 0 two-octet AS, 1 IPv4, 2 four-octet AS.
// These are the same for route targets (RFC 4360, 5668) and route distinguishers (RFC 4364). The L marks an AS number
// that fits into two octets but is encoded in four: a different route target. With other AS numbers it has no meaning
// and is refused, so that each value has one text.
func admin(text string) (kind byte, value [6]byte, err error) {
	left, right, found := strings.Cut(text, ":")
	n, numberErr := strconv.ParseUint(right, 10, 32)
	if !found || numberErr != nil || (right[0] == '0' && right != "0") {
		return 0, value, fmt.Errorf("%q is not of the form asn:number or a.b.c.d:number", text)
	}
	if addr, addrErr := netip.ParseAddr(left); addrErr == nil && addr.Is4() {
		kind = 1
		copy(value[:4], addr.AsSlice())
	} else if digits, long := strings.CutSuffix(left, "L"); digits == "" || digits[0] == '0' && digits != "0" {
		return 0, value, fmt.Errorf("%q is not of the form asn:number or a.b.c.d:number", text)
	} else if as, asErr := strconv.ParseUint(digits, 10, 32); asErr != nil {
		return 0, value, fmt.Errorf("%q is not of the form asn:number or a.b.c.d:number", text)
	} else if long && as > 0xffff {
		return 0, value, fmt.Errorf("%q: an AS number beyond 65535 has four octets anyway and is written without L", text)
	} else if as <= 0xffff && !long {
		binary.BigEndian.PutUint16(value[:], uint16(as))
		binary.BigEndian.PutUint32(value[2:], uint32(n))
		return 0, value, nil
	} else {
		kind = 2
		binary.BigEndian.PutUint32(value[:], uint32(as))
	}
	if n > 0xffff {
		return 0, value, fmt.Errorf("%q: the number after an address or a four-octet AS is at most 65535", text)
	}
	binary.BigEndian.PutUint16(value[4:], uint16(n))
	return kind, value, nil
}

func adminText(kind byte, value []byte) string {
	switch kind {
	case 0:
		return fmt.Sprintf("%d:%d", binary.BigEndian.Uint16(value), binary.BigEndian.Uint32(value[2:]))
	case 1:
		return fmt.Sprintf("%s:%d", netip.AddrFrom4([4]byte(value)), binary.BigEndian.Uint16(value[4:]))
	case 2:
		if value[0] == 0 && value[1] == 0 {
			return fmt.Sprintf("%dL:%d", binary.BigEndian.Uint32(value), binary.BigEndian.Uint16(value[4:]))
		}
		return fmt.Sprintf("%d:%d", binary.BigEndian.Uint32(value), binary.BigEndian.Uint16(value[4:]))
	}
	return fmt.Sprintf("type-%d:%x", kind, value)
}

// sameNumbers reports whether two values of different types have the same AS number and the same number after it.
func sameNumbers(kind byte, value []byte, other byte, others []byte) bool {
	if kind > other {
		kind, value, other, others = other, others, kind, value
	}
	return kind == 0 && other == 2 && uint32(binary.BigEndian.Uint16(value)) == binary.BigEndian.Uint32(others) &&
		binary.BigEndian.Uint32(value[2:]) == uint32(binary.BigEndian.Uint16(others[4:]))
}

// ParseRT reads a route target such as 65000:7, 4200000000:7 or 192.0.2.1:7.
func ParseRT(text string) (RT, error) {
	kind, value, err := admin(text)
	return RT(append([]byte{kind, 2}, value[:]...)), err
}

// String returns the route target in the form that ParseRT reads.
func (t RT) String() string { return adminText(t[0], t[2:]) }

// Resembles reports whether a route target has the numbers of another one in another encoding: it is a different one,
// but looks the same in texts that do not show the encoding.
func (t RT) Resembles(other RT) bool { return sameNumbers(t[0], t[2:], other[0], other[2:]) }

// RTs returns the route targets in a string of eight-byte communities.
func RTs(communities string) []RT {
	list := make([]RT, 0, len(communities)/8)
	for i := 0; i+8 <= len(communities); i += 8 {
		list = append(list, RT([]byte(communities[i:i+8])))
	}
	return list
}

// RD is a route distinguisher as it is on the wire (RFC 4364 section 4.2).
type RD [8]byte

// ParseRD reads a route distinguisher such as 65000:7.
func ParseRD(text string) (RD, error) {
	kind, value, err := admin(text)
	return RD(append([]byte{0, kind}, value[:]...)), err
}

// String returns the route distinguisher in the form that ParseRD reads.
func (d RD) String() string {
	if d[0] != 0 {
		return fmt.Sprintf("type-%d:%x", binary.BigEndian.Uint16(d[:]), d[2:])
	}
	return adminText(d[1], d[2:])
}

// Resembles reports whether a route distinguisher has the numbers of another one in another encoding.
func (d RD) Resembles(other RD) bool {
	return d[0] == 0 && other[0] == 0 && sameNumbers(d[1], d[2:], other[1], other[2:])
}
