package wire

import (
	"encoding/binary"
	"slices"
)

// Segments of an AS_PATH (RFC 4271 section 4.3, RFC 5065 section 3).
const (
	asSet            = 1
	asSequence       = 2
	asConfedSequence = 3
	asConfedSet      = 4
	maxSegment       = 255 // AS numbers
)

// segment is a segment of an AS_PATH.
type segment struct {
	kind uint8
	ases []uint32
}

func (s segment) confederation() bool { return s.kind >= asConfedSequence }

// validPath returns a check for segments whose AS numbers have so many octets. AS 0 must not be in a path (RFC 7607).
func validPath(octets int) func(v []byte) bool {
	return func(v []byte) bool {
		for len(v) > 0 {
			if len(v) < 2 || v[0] < asSet || v[0] > asConfedSet || v[1] == 0 || len(v) < 2+octets*int(v[1]) {
				return false
			}
			end := 2 + octets*int(v[1])
			for at := 2; at < end; at += octets {
				if number(v[at:], octets) == 0 {
					return false
				}
			}
			v = v[end:]
		}
		return true
	}
}

// validAggregator returns a check for an AS number and an address (RFC 7606 section 7.7, RFC 7607).
func validAggregator(octets int) func(v []byte) bool {
	return func(v []byte) bool { return len(v) == octets+4 && number(v, octets) != 0 }
}

func number[T string | []byte](v T, octets int) uint32 {
	n := uint32(0)
	for i := range octets {
		n = n<<8 | uint32(v[i])
	}
	return n
}

// pathHas reports whether an AS number is in a valid AS_PATH with four-octet numbers.
func pathHas(v []byte, asn uint32) bool {
	for len(v) > 0 {
		n := int(v[1])
		for i := range n {
			if binary.BigEndian.Uint32(v[2+4*i:]) == asn {
				return true
			}
		}
		v = v[2+4*n:]
	}
	return false
}

// Passed reports whether the route has passed through an AS.
func (a *Attributes) Passed(asn uint32) (passed bool) {
	EachAttribute(a.Path, func(_, kind uint8, value, _ string) {
		if kind == attrASPath {
			passed = pathHas([]byte(value), asn)
		}
	})
	return passed
}

// readPath reads a valid AS_PATH.
func readPath[T string | []byte](v T, octets int) (path []segment) {
	for len(v) > 0 {
		s := segment{kind: v[0], ases: make([]uint32, v[1])}
		for i := range s.ases {
			s.ases[i] = number(v[2+octets*i:], octets)
		}
		path = append(path, s)
		v = v[2+octets*len(s.ases):]
	}
	return path
}

// writePath encodes an AS_PATH; with two octets, AS_TRANS replaces numbers that do not fit.
func writePath(path []segment, octets int) (v []byte) {
	for _, s := range path {
		v = append(v, s.kind, byte(len(s.ases)))
		for _, asn := range s.ases {
			if octets == 4 {
				v = binary.BigEndian.AppendUint32(v, asn)
			} else {
				v = binary.BigEndian.AppendUint16(v, twoOctets(asn))
			}
		}
	}
	return v
}

// prepend puts our AS number in front of a path that leaves our AS (RFC 4271 section 5.1.2), and removes the segments
// that have a meaning only within a confederation (RFC 5065 section 4).
func prepend(path []segment, asn uint32) []segment {
	path = plain(path)
	if len(path) > 0 && path[0].kind == asSequence && len(path[0].ases) < maxSegment {
		first := segment{asSequence, append([]uint32{asn}, path[0].ases...)}
		return append([]segment{first}, path[1:]...)
	}
	return append([]segment{{asSequence, []uint32{asn}}}, path...)
}

// plain removes the segments of confederations.
func plain(path []segment) []segment {
	return slices.DeleteFunc(slices.Clone(path), segment.confederation)
}

// pathLength returns the length of a path for comparisons (RFC 4271 section 9.1.2.2, RFC 5065 section 5.3).
func pathLength(path []segment) (n int) {
	for _, s := range path {
		n += s.length()
	}
	return n
}

func (s segment) length() int {
	switch s.kind {
	case asSequence:
		return len(s.ases)
	case asSet:
		return 1
	}
	return 0
}
