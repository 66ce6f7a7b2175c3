package wire

import "encoding/binary"

// mpReach reads MP_REACH_NLRI (RFC 4760 section 3).
func (u *update) mpReach(v []byte) error {
	u.reach = true
	if len(v) < 5 || len(v) < 5+int(v[3]) {
		return fatal(MalformedList, "MP_REACH_NLRI is too short")
	}
	family, ok := FamilyOf(binary.BigEndian.Uint16(v), v[2])
	if !ok {
		u.Ignored++
		return nil
	}
	hop, nlris := v[4:4+int(v[3])], v[5+int(v[3]):]
	if formats[family].hops == nil {
		hop = nil // RFC 8955 section 4
	} else if !family.validHop(hop) {
		// The next hop's length tells where the NLRIs begin, so that they can be found (RFC 7606 section 7.11).
		u.malformed("next hop %x, which is not well formed", hop)
	}
	u.Attributes.NextHop = string(hop)
	u.ReachFamily = family
	var err error
	u.Reach, err = u.split(family, nlris, false)
	if err == nil && len(u.Reach) == 0 && u.Ignored == 0 {
		u.malformed("MP_REACH_NLRI without a route")
	}
	return err
}

// mpUnreach reads MP_UNREACH_NLRI (RFC 4760 section 4).
func (u *update) mpUnreach(v []byte) error {
	u.unreach = true
	if len(v) < 3 {
		return fatal(MalformedList, "MP_UNREACH_NLRI is too short")
	}
	family, ok := FamilyOf(binary.BigEndian.Uint16(v), v[2])
	if !ok {
		u.Ignored++
		return nil
	}
	u.UnreachFamily = family
	var err error
	u.Unreach, err = u.split(family, v[3:], true)
	return err
}

// nlriRun is the largest number of bytes for which NLRIs that came together share memory.
const nlriRun = 256

// split splits a field of NLRIs. If the end of one cannot be found, the rest is unreadable and the neighbour's routes
// cannot be known, so the session ends (RFC 7606 section 5.3). One with a wrong length is left out, and the routes
// beside it are treated as withdrawn.
func (u *update) split(family Family, buf []byte, withdrawn bool) ([]string, error) {
	format := &formats[family]
	var nlris []string
	run, start := "", 0 // few NLRIs share memory, because one that remains alone keeps all of it
	for at := 0; at < len(buf); {
		n, ok, skip := format.split(buf[at:])
		if n > 0 && at+n > start+len(run) {
			run, start = string(buf[at:min(len(buf), max(at+n, at+nlriRun))]), at
		}
		one := func() string { return run[at-start : at-start+n] }
		switch {
		case n == 0:
			return nil, fatal(InvalidNetwork, "%s NLRI of an impossible length, or that runs over its attribute", family)
		case skip:
			u.Ignored++
		case !ok:
			u.malformed("%s NLRI of %d bytes is not well formed", family, n)
		case format.labelled && !bottomed(one()):
			nlris = append(nlris, u.unbottomed(family, one(), withdrawn)...)
		case format.canonical != nil:
			nlris = append(nlris, format.canonical(one()))
		default:
			nlris = append(nlris, one())
		}
		at += n
	}
	return nlris, nil
}

// unbottomed returns the possible routes of an NLRI whose first label is not marked as the last of its stack. If an
// announcement has a reading other than that of RFC 8277, its routes are treated as withdrawn: no peer should get an
// ambiguous route, and an older version must not stay in force.
func (u *update) unbottomed(family Family, nlri string, withdrawn bool) []string {
	single, stacked := vpnReadings(nlri, family)
	if !withdrawn && stacked != "" {
		u.malformed("%s NLRI with several labels, which were not negotiated, or with one that is not marked as the last", family)
	}
	var readings []string
	for _, reading := range []string{single, stacked} {
		if reading != "" {
			readings = append(readings, formats[family].canonical(reading))
		}
	}
	return readings
}
