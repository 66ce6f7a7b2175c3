package wire

import "encoding/binary"

// Flow Specification component types with a structure of their own (RFC 8955 section 4.2.2); the others are lists of
// operators and values.
const (
	flowDestination = 1
	flowSource      = 2
	flowLastIPv4    = 12
	flowLastIPv6    = 13 // flow label, RFC 8956 section 3.7
)

// flowLong is the length from which an NLRI's length field has two bytes, the first of them beginning with 0xf (RFC
// 8955 section 4.1).
const flowLong = 0xf0

// flowLongest bounds an NLRI, so that a withdrawal fits into a message to neighbours without extended messages.
const flowLongest = MaxLength - withdrawalHead

// flowHead returns the lengths of the length field and of the rest; 0, 0 if the length field is cut off.
func flowHead(buf []byte) (head, n int) {
	switch {
	case len(buf) > 0 && buf[0] < flowLong:
		return 1, int(buf[0])
	case len(buf) > 1:
		return 2, int(binary.BigEndian.Uint16(buf)) & 0xfff
	}
	return 0, 0
}

// splitFlow splits NLRIs with an RD of rd bytes (8 or none) and components for IPv6 or IPv4. An NLRI is malformed if
// its components are unknown, out of order or of a wrong length (RFC 8955 sections 4.2 and 10).
func splitFlow(rd int, six bool) func([]byte) (int, bool, bool) {
	return func(buf []byte) (int, bool, bool) {
		head, n := flowHead(buf)
		if head == 0 || head+n > len(buf) {
			return 0, false, false
		}
		shortest := head == 1 || n >= flowLong // otherwise the same route would have two NLRIs
		if !shortest || n <= rd || head+n > flowLongest {
			return head + n, false, false
		}
		return head + n, eachFlowPart(buf[head+rd:head+n], six, func(int, int) {}, func(byte, int) {}), false
	}
}

// eachFlowPart walks the components. It calls prefix with the offset and the number of bits of each prefix, and
// operators with the type of the component and the offset of each list.
func eachFlowPart(v []byte, six bool, prefix func(at, bits int), operators func(kind byte, at int)) bool {
	last := byte(flowLastIPv4)
	if six {
		last = flowLastIPv6
	}
	before := byte(0)
	for at := 0; at < len(v); {
		kind := v[at]
		if kind <= before || kind > last {
			return false
		}
		before = kind
		n, start, bits := 0, 0, 0
		switch {
		case kind > flowSource:
			n = flowOperators(v[at+1:])
		case six:
			n, start, bits = flowPrefix6(v[at+1:])
		default:
			n, start, bits = flowPrefix4(v[at+1:])
		}
		if n == 0 {
			return false
		}
		if kind <= flowSource {
			prefix(at+1+start, bits)
		} else {
			operators(kind, at+1)
		}
		at += 1 + n
	}
	return true
}

// flowPrefix4 measures a prefix: length in bits 1, prefix.
func flowPrefix4(v []byte) (n, start, bits int) {
	if len(v) < 1 || v[0] > 32 {
		return 0, 0, 0
	}
	n = 1 + (int(v[0])+7)/8
	if n > len(v) {
		return 0, 0, 0
	}
	return n, 1, int(v[0])
}

// flowPrefix6 measures a prefix: length in bits 1, offset in bits 1, the bits from offset to length (RFC 8956 section 3.1).
func flowPrefix6(v []byte) (n, start, bits int) {
	if len(v) < 2 || v[0] > 128 || v[1] > 0 && v[1] >= v[0] {
		return 0, 0, 0
	}
	bits = int(v[0]) - int(v[1])
	n = 2 + (bits+7)/8
	if n > len(v) {
		return 0, 0, 0
	}
	return n, 2, bits
}

// flowOperators measures a list of operators and values: the last operator has the highest bit, and two other bits give
// the length of its value (RFC 8955 section 4.2.1). 0: the list does not end.
func flowOperators(v []byte) int {
	for at := 0; at < len(v); {
		operator := v[at]
		at += 1 + 1<<(operator>>4&3)
		if operator&0x80 != 0 {
			if at > len(v) {
				return 0
			}
			return at
		}
	}
	return 0
}

// keyFlow returns the NLRI without the meaningless bits: those beyond prefixes, and ignored ones of operators.
func keyFlow(rd int, six bool) func(string) string {
	return func(nlri string) string {
		head, _ := flowHead([]byte(nlri))
		b := []byte(nlri)
		v := b[head+rd:]
		eachFlowPart(v, six, func(at, bits int) {
			if bits%8 != 0 {
				v[at+bits/8] &^= 0xff >> (bits % 8)
			}
		}, func(kind byte, at int) { clearOperators(kind, v[at:]) })
		return string(b)
	}
}

// Component types whose operators match bits, not numbers (RFC 8955 section 4.2.1.2).
const (
	flowTCPFlags = 9
	flowFragment = 12
)

// clearOperators clears the ignored bits of a list's operators: reserved ones, and "and" in the first operator, which
// has no predecessor (RFC 8955 section 4.2.1).
func clearOperators(kind byte, list []byte) {
	reserved := byte(0x08)
	if kind == flowTCPFlags || kind == flowFragment {
		reserved = 0x0c
	}
	for at, ignored := 0, reserved|0x40; at < len(list); ignored = reserved {
		list[at] &^= ignored
		if list[at]&0x80 != 0 {
			return
		}
		at += 1 + 1<<(list[at]>>4&3)
	}
}

// flowOffset reports whether a filter has an IPv6 prefix that does not begin with the first bit.
func (f Family) flowOffset(nlri string) bool {
	if f != Flow6 && f != FlowVPN6 {
		return false
	}
	head, _ := flowHead([]byte(nlri))
	v := []byte(nlri)[head+len(f.RD(nlri)):]
	found := false
	eachFlowPart(v, true, func(at, _ int) { found = found || v[at-1] > 0 }, func(byte, int) {})
	return found
}

// rdFlow returns the route distinguisher of a flowspec-vpn NLRI (RFC 8955 section 8).
func rdFlow(nlri string) string {
	head, _ := flowHead([]byte(nlri))
	return nlri[head : head+8]
}
