package wire

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Attributes are the path attributes of a route as received. They never change afterwards.
type Attributes struct {
	Path        string // encoded attributes other than those below, in the order received
	NextHop     string // of MP_REACH_NLRI, in VPN families with its RD
	Originator  string // ORIGINATOR_ID: 4 bytes, or none
	ClusterList string // 4 bytes each
	RTs         string // 8 bytes each, in the order received, without repetitions
	Communities string // the other extended communities, 8 bytes each
	Loop        bool   // the route was here before: our AS number is in AS_PATH, or Loops returns true
}

// Bytes returns the total length of the attributes.
func (a *Attributes) Bytes() int {
	return len(a.Path) + len(a.NextHop) + len(a.Originator) + len(a.ClusterList) + len(a.RTs) + len(a.Communities)
}

// Update is a checked UPDATE message.
type Update struct {
	Reach         []string // NLRIs
	ReachFamily   Family
	Unreach       []string
	UnreachFamily Family
	EndOfRIB      bool // for UnreachFamily (RFC 4724)
	Attributes    *Attributes
	Malformed     string   // why the NLRIs in Reach must be treated as withdrawn (RFC 7606); empty if they are fine
	Discarded     []string // faulty attributes that may be left out
	Ignored       int      // NLRIs of a form that we do not handle
}

// fatal returns an error after which the rest of the stream cannot be trusted.
func fatal(subcode uint8, format string, args ...any) error {
	return &Notification{Code: UpdateError, Subcode: subcode, Text: fmt.Sprintf(format, args...)}
}

// update is the state of one parse.
type update struct {
	Update
	from           Neighbour
	seen           [4]uint64 // bit per attribute type
	reach, unreach bool
	path           []byte
	first          uint32    // of AS_PATH; 0: there is none
	old            *twoOctet // nil: the neighbour has four-octet AS numbers
}

// ParseUpdate calls Neighbour.ParseUpdate for an internal peer of AS asn with four-octet AS numbers.
func ParseUpdate(body []byte, asn uint32) (*Update, error) {
	return Neighbour{ASN: asn, Own: asn}.ParseUpdate(body)
}

// ParseUpdate checks the body of an UPDATE from a neighbour, as RFC 4271 section 6.3 and RFC 7606 require. The error is
// a *Notification: the session must end. Nothing in the result shares memory with body.
func (n Neighbour) ParseUpdate(body []byte) (*Update, error) {
	u := &update{from: n}
	if n.TwoOctet {
		u.old = &twoOctet{}
	}
	u.Attributes = &Attributes{}
	if len(body) < 4 {
		return nil, fatal(MalformedList, "UPDATE is too short")
	}
	withdrawn := int(binary.BigEndian.Uint16(body))
	if 4+withdrawn > len(body) {
		return nil, fatal(MalformedList, "withdrawn routes run over the message")
	}
	rest := body[2+withdrawn:]
	total := int(binary.BigEndian.Uint16(rest))
	if 2+total > len(rest) {
		return nil, fatal(MalformedList, "path attributes run over the message")
	}
	// The message may contain IPv4 unicast, which is never negotiated; its routes are ignored (RFC 4760 section 8).
	if withdrawn > 0 || 2+total < len(rest) {
		u.Ignored++
	}
	if err := u.attributes(rest[2 : 2+total]); err != nil {
		return nil, err
	}
	if u.old != nil {
		u.widen()
	}
	if len(u.Reach) > 0 {
		u.mandatory()
	}
	// RFC 7606 section 5.2: without NLRIs to withdraw, the intended routes are in the unreadable part.
	if u.Malformed != "" && !u.reach && !u.unreach && withdrawn == 0 && 2+total == len(rest) {
		return nil, fatal(MalformedList, "%s, and no routes to be found", u.Malformed)
	}
	u.EndOfRIB = u.unreach && !u.reach && len(u.Unreach) == 0 && u.Ignored == 0 && u.Malformed == ""
	u.Attributes.Path = string(u.path)
	return &u.Update, nil
}

func (u *update) attributes(buf []byte) error {
	for len(buf) > 0 {
		flags, kind, value, rest, ok := cut(buf)
		if !ok && (kind == attrReach || kind == attrUnreach) {
			return fatal(MalformedList, "MP_(UN)REACH_NLRI runs over the path attributes")
		}
		if !ok {
			u.malformed("attribute %d runs over the path attributes, or they end in the middle of one", kind) // RFC 7606 section 4
			return nil
		}
		if err := u.attribute(flags, kind, value); err != nil {
			return err
		}
		buf = rest
	}
	return nil
}

func (u *update) attribute(flags, kind uint8, value []byte) error {
	first := u.seen[kind/64]&(1<<(kind%64)) == 0
	u.seen[kind/64] |= 1 << (kind % 64)
	switch {
	case kind == attrReach || kind == attrUnreach:
		if !first {
			return fatal(MalformedList, "MP_(UN)REACH_NLRI twice in one UPDATE")
		}
		if flags&(flagOptional|flagTransitive) != flagOptional {
			u.malformed("MP_(UN)REACH_NLRI with flags %#02x", flags)
		}
		if kind == attrReach {
			return u.mpReach(value)
		}
		return u.mpUnreach(value)
	case !first:
		u.discard(fmt.Sprintf("attribute %d again", kind)) // RFC 7606 section 3 g
		return nil
	}
	r := u.from.rule(kind)
	if r == nil {
		return u.unknown(flags, kind, value)
	}
	switch r.remedy(flags, value) {
	case fine:
		u.known(legalFlags(flags), kind, value, r)
	case discard:
		u.discard(r.name)
	case withdraw:
		u.malformed("%s of %d bytes with flags %#02x is not well formed", r.name, len(value), flags)
	}
	return nil
}

// discard records, once, that an attribute is left out.
func (u *update) discard(name string) {
	if !slices.Contains(u.Discarded, name) {
		u.Discarded = append(u.Discarded, name)
	}
}

func (u *update) known(flags, kind uint8, value []byte, r *rule) {
	drop := r.drop
	if r.list > 0 {
		value = distinct(value, r.list)
	}
	switch kind {
	case attrOriginator:
		u.Attributes.Originator = string(value)
	case attrClusterList:
		u.Attributes.ClusterList = string(value)
	case attrExtCommunities:
		u.extCommunities(value)
	case attrASPath:
		if u.old == nil {
			u.takePath(value)
		}
	case attrExtCommunities6:
		if u.from.External() {
			value = []byte(transitive6(string(value)))
			drop = len(value) == 0
		}
	}
	if u.old != nil {
		u.old.take(flags, kind, value)
	}
	if !drop {
		u.path = appendAttribute(u.path, flags, kind, value)
	}
}

// takePath examines a well-formed AS_PATH with four-octet AS numbers.
func (u *update) takePath(v []byte) {
	u.Attributes.Loop = pathHas(v, u.from.Own)
	if len(v) > 0 {
		u.first = binary.BigEndian.Uint32(v[2:])
	}
	for ; u.from.External() && len(v) > 0; v = v[2+4*int(v[1]):] {
		if v[0] >= asConfedSequence { // RFC 5065 section 5
			u.malformed("AS_PATH with segments of a confederation, which only internal peers may send")
		}
	}
}

// unknown passes transitive attributes on, marked partial (RFC 4271 section 5).
func (u *update) unknown(flags, kind uint8, value []byte) error {
	if flags&flagOptional == 0 {
		return fatal(UnknownWellKnown, "well-known attribute %d is not known", kind)
	}
	if flags&flagTransitive != 0 {
		u.path = appendAttribute(u.path, legalFlags(flags)|flagPartial, kind, value)
	}
	return nil
}

func (u *update) extCommunities(value []byte) {
	var targets, others []byte
	for ; len(value) > 0; value = value[8:] {
		switch {
		case value[0]&0x40 != 0 && u.from.External(): // must not leave its AS (RFC 4360 section 6)
		case !isRT(value):
			others = append(others, value[:8]...)
		default:
			targets = append(targets, value[:8]...)
		}
	}
	u.Attributes.RTs, u.Attributes.Communities = string(targets), string(others)
}

// mandatory checks RFC 7606 section 3 d; LOCAL_PREF is mandatory within an AS. From another AS, the first AS of the
// path must be the neighbour's (RFC 4271 section 6.3, RFC 7606 section 7.2).
func (u *update) mandatory() {
	for _, kind := range []uint8{attrOrigin, attrASPath, attrLocalPref} {
		if u.seen[0]&(1<<kind) == 0 && !(kind == attrLocalPref && u.from.External()) {
			u.malformed("%s is missing", rules[kind].name)
		}
	}
	if u.from.External() && u.first != u.from.ASN {
		u.malformed("AS_PATH begins with AS %d, not with the peer's AS %d", u.first, u.from.ASN)
	}
}

// malformed keeps the first reason.
func (u *update) malformed(format string, args ...any) {
	if u.Malformed == "" {
		u.Malformed = fmt.Sprintf(format, args...)
	}
}
