package wire

import "encoding/binary"

// This file serves neighbours without four-octet AS numbers (RFC 6793): their messages are converted when read, and
// messages to them when encoded, so that no other code handles them.

// ASTrans replaces an AS number that does not fit into two octets.
const ASTrans = 23456

// twoOctets returns an AS number as such a neighbour sees it.
func twoOctets(asn uint32) uint16 {
	if asn > 0xffff {
		return ASTrans
	}
	return uint16(asn)
}

// twoOctetRules replace rules for such neighbours. None of these attributes is sent on as received.
var twoOctetRules = map[uint8]*rule{
	attrASPath:        {name: "AS_PATH", flags: flagsWellKnown, check: validPath(2), bad: withdraw, drop: true},
	attrAggregator:    {name: "AGGREGATOR", flags: flagsTransitive, check: validAggregator(2), bad: discard, drop: true},
	attrAS4Path:       {name: "AS4_PATH", flags: flagsTransitive, check: func(v []byte) bool { return len(v) > 0 && validPath(4)(v) }, bad: discard, drop: true},
	attrAS4Aggregator: {name: "AS4_AGGREGATOR", flags: flagsTransitive, check: validAggregator(4), bad: discard, drop: true},
}

// twoOctet holds the attributes of such a neighbour's UPDATE; nil: absent.
type twoOctet struct {
	path, aggregator, path4, aggregator4 []byte
	aggregatorFlags                      uint8
}

// take records an attribute of twoOctetRules.
func (o *twoOctet) take(flags, kind uint8, value []byte) {
	value = value[:len(value):len(value)]
	switch kind {
	case attrASPath:
		o.path = append([]byte{}, value...) // not nil, even if empty
	case attrAggregator:
		o.aggregator, o.aggregatorFlags = value, flags
	case attrAS4Path:
		o.path4 = value
	case attrAS4Aggregator:
		o.aggregator4 = value
	}
}

// widen composes the four-octet AS_PATH and AGGREGATOR (RFC 6793 section 4.2.3).
func (u *update) widen() {
	o := u.old
	if o.aggregator != nil {
		wide := append([]byte{0, 0}, o.aggregator...)
		switch {
		case o.aggregator4 == nil:
		case binary.BigEndian.Uint16(o.aggregator) != ASTrans: // a two-octet speaker aggregated after AS4_* was made
			o.path4 = nil
		default:
			wide = o.aggregator4
		}
		u.path = appendAttribute(u.path, o.aggregatorFlags, attrAggregator, wide)
	}
	if o.path == nil {
		return
	}
	path := readPath(o.path, 2)
	if o.path4 != nil {
		path4 := readPath(o.path4, 4)
		if whole := len(path4); len(plain(path4)) < whole { // section 6
			u.discard("confederation segments of AS4_PATH")
		}
		path = merge(path, plain(path4))
	}
	value := writePath(path, 4)
	u.takePath(value)
	u.path = appendAttribute(u.path, flagTransitive, attrASPath, value)
}

// merge puts the AS numbers that two-octet speakers have added in front of AS4_PATH (section 4.2.3).
func merge(path, path4 []segment) []segment {
	added := pathLength(path) - pathLength(path4)
	if added < 0 || len(path4) == 0 {
		return path
	}
	var merged []segment
	for _, s := range path {
		if added == 0 && !s.confederation() {
			break
		}
		if s.kind == asSequence && len(s.ases) > added {
			merged = append(merged, segment{asSequence, s.ases[:added]})
			break
		}
		merged = append(merged, s)
		added -= s.length()
	}
	if last := len(merged) - 1; last >= 0 && merged[last].kind == asSequence && path4[0].kind == asSequence &&
		len(merged[last].ases)+len(path4[0].ases) <= maxSegment {
		joined := append(merged[last].ases[:len(merged[last].ases):len(merged[last].ases)], path4[0].ases...)
		merged[last] = segment{asSequence, joined}
		path4 = path4[1:]
	}
	return append(merged, path4...)
}

// narrow returns encoded attributes as a neighbour without four-octet AS numbers reads them (section 4.2.2).
func narrow(run string) []byte {
	var narrowed []byte
	EachAttribute(run, func(flags, kind uint8, value, whole string) {
		switch kind {
		case attrASPath:
			path := readPath(value, 4)
			narrowed = appendAttribute(narrowed, flags, kind, writePath(path, 2))
			if path4 := plain(path); !mappable(path) && len(path4) > 0 {
				narrowed = appendAttribute(narrowed, flagOptional|flagTransitive, attrAS4Path, writePath(path4, 4))
			}
		case attrAggregator:
			asn := number(value, 4)
			narrowed = appendAttribute(narrowed, flags, kind, append(binary.BigEndian.AppendUint16(nil, twoOctets(asn)), value[4:]...))
			if asn > 0xffff {
				narrowed = appendAttribute(narrowed, flags, attrAS4Aggregator, []byte(value))
			}
		default:
			narrowed = append(narrowed, whole...)
		}
	})
	return narrowed
}

// mappable reports whether all AS numbers fit into two octets.
func mappable(path []segment) bool {
	for _, s := range path {
		for _, asn := range s.ases {
			if asn > 0xffff {
				return false
			}
		}
	}
	return true
}
