package wire

import "encoding/binary"

// validSet checks an ATTR_SET (RFC 6368 section 5): origin AS 4, and the attributes of a route as a customer announced
// it, with four-octet AS numbers. Each must be well-formed by itself, since a PE that unpacks the set announces them.
func validSet(v []byte) bool {
	if len(v) < 4 {
		return false
	}
	var seen [256]bool
	for v = v[4:]; len(v) > 0; {
		flags, kind, value, rest, ok := cut(v)
		if !ok || seen[kind] || !validInside(flags, kind, value) {
			return false
		}
		seen[kind] = true
		v = rest
	}
	return true
}

// cut splits the first attribute off a run of encoded ones; ok is false if it runs over the end.
func cut(run []byte) (flags, kind uint8, value, rest []byte, ok bool) {
	if len(run) < 3 || run[0]&flagExtended != 0 && len(run) < 4 {
		return 0, 0, nil, nil, false
	}
	head, n := 3, int(run[2])
	if run[0]&flagExtended != 0 {
		head, n = 4, int(binary.BigEndian.Uint16(run[2:]))
	}
	if head+n > len(run) {
		return run[0], run[1], nil, nil, false
	}
	return run[0], run[1], run[head : head+n], run[head+n:], true
}

func validInside(flags, kind uint8, value []byte) bool {
	switch kind {
	case attrNextHop, attrReach, attrUnreach, attrSet: // not in a set
		return false
	}
	if flags&^(flagOptional|flagTransitive|flagPartial|flagExtended) != 0 {
		return false
	}
	if r := &rules[kind]; r.name != "" {
		return r.remedy(flags, value) == fine
	}
	return flags&flagOptional != 0
}
