package wire

import "encoding/binary"

// Reflection is the information that we add to a route: as a reflector within our AS (RFC 4456 section 8), or as its
// last AS beyond. The zero value adds nothing: the route stays as received.
type Reflection struct {
	Originator string // the announcing peer's BGP identifier, used if the route has no ORIGINATOR_ID
	Cluster    string // our cluster identifier; empty: an external peer announced the route, and it is not reflected
	ASN        uint32 // ours
}

// Loops reports whether the route was here before: sent by us, or reflected by our cluster.
func (a *Attributes) Loops(routerID, cluster string) bool {
	if a.Originator == routerID {
		return true
	}
	for i := 0; i+4 <= len(a.ClusterList); i += 4 {
		if a.ClusterList[i:i+4] == cluster {
			return true
		}
	}
	return false
}

// Equal reports whether two routes may share messages.
func (a *Attributes) Equal(b *Attributes) bool { return *a == *b }

// AppendAnnouncements appends UPDATE messages that announce all NLRIs of one family with these attributes to recipients
// of one kind. Each message, with the recipient's route targets, is at most limit bytes long, and lacks only these last
// targets*8 bytes of its extended communities. ends are the offsets in dst at which the messages end, where the
// recipient's route targets have to be inserted. skipped are NLRIs that do not fit.
//
// MP_REACH_NLRI is first (RFC 7606 section 5.1), and the extended communities are last, so that recipients can share
// everything except their route targets.
func (a *Attributes) AppendAnnouncements(dst []byte, f Family, nlris []string, r Reflection, k Kind, targets, limit int) (all []byte, ends []int, skipped []string) {
	tail := a.tail(r, k, targets)
	fixed := a.fixed(tail, targets)
	for i := 0; i < len(nlris); {
		start, size := i, fixed
		for i < len(nlris) && size+len(nlris[i]) <= limit {
			size += len(nlris[i])
			i++
		}
		if i == start {
			skipped = append(skipped, nlris[i])
			i++
			continue
		}
		dst = a.announcement(dst, f, nlris[start:i], tail, targets)
		ends = append(ends, len(dst))
	}
	return dst, ends, skipped
}

func (a *Attributes) announcement(dst []byte, f Family, nlris []string, tail []byte, targets int) []byte {
	start := len(dst)
	dst = append(header(dst, TypeUpdate), 0, 0, 0, 0)
	attributes := len(dst)
	dst = append(dst, flagOptional|flagExtended, attrReach, 0, 0)
	reach := len(dst)
	dst = binary.BigEndian.AppendUint16(dst, f.AFI())
	dst = append(dst, f.SAFI(), byte(len(a.NextHop)))
	dst = append(dst, a.NextHop...)
	dst = append(dst, 0)
	for _, n := range nlris {
		dst = append(dst, n...)
	}
	binary.BigEndian.PutUint16(dst[reach-2:], uint16(len(dst)-reach))
	dst = append(dst, tail...)
	binary.BigEndian.PutUint16(dst[attributes-2:], uint16(len(dst)-attributes+8*targets))
	binary.BigEndian.PutUint16(dst[start+16:], uint16(len(dst)-start+8*targets))
	return dst
}

// tail returns everything after MP_REACH_NLRI, except the recipient's route targets.
func (a *Attributes) tail(r Reflection, k Kind, targets int) []byte {
	sent := a.Towards(k, r)
	t := []byte(sent.Path)
	if k.TwoOctet {
		t = narrow(sent.Path)
	}
	if sent.Originator != "" {
		t = appendAttribute(t, flagOptional, attrOriginator, []byte(sent.Originator))
	}
	if sent.ClusterList != "" {
		t = appendAttribute(t, flagOptional, attrClusterList, []byte(sent.ClusterList))
	}
	switch n := len(sent.Communities) + 8*targets; {
	case n == 0:
	case n > 255:
		t = append(t, flagOptional|flagTransitive|flagExtended, attrExtCommunities)
		t = binary.BigEndian.AppendUint16(t, uint16(n))
	default:
		t = append(t, flagOptional|flagTransitive, attrExtCommunities, byte(n))
	}
	return append(t, sent.Communities...)
}

// withdrawalHead is the length of an UPDATE of withdrawals without its NLRIs. Any NLRI fits into the rest of any message.
const withdrawalHead = HeaderLength + 4 + 4 + 3

// AppendWithdrawals appends UPDATE messages that withdraw all NLRIs; ends are the offsets in dst at which they end.
func AppendWithdrawals(dst []byte, f Family, nlris []string, limit int) (all []byte, ends []int) {
	for i := 0; i < len(nlris); {
		start := len(dst)
		dst = append(header(dst, TypeUpdate), 0, 0, 0, 0, flagOptional|flagExtended, attrUnreach, 0, 0)
		dst = binary.BigEndian.AppendUint16(dst, f.AFI())
		dst = append(dst, f.SAFI())
		for size := withdrawalHead; i < len(nlris) && size+len(nlris[i]) <= limit; i++ {
			size += len(nlris[i])
			dst = append(dst, nlris[i]...)
		}
		body := len(dst) - start - HeaderLength
		binary.BigEndian.PutUint16(dst[start+HeaderLength+2:], uint16(body-4))
		binary.BigEndian.PutUint16(dst[start+HeaderLength+6:], uint16(body-8))
		dst = finish(dst, start)
		ends = append(ends, len(dst))
	}
	return dst, ends
}

// EndOfRIB encodes the marker after the initial routes of a family (RFC 4724 section 2).
func EndOfRIB(f Family) []byte {
	m := append(header(nil, TypeUpdate), 0, 0, 0, 6, flagOptional, attrUnreach, 3)
	m = binary.BigEndian.AppendUint16(m, f.AFI())
	return finish(append(m, f.SAFI()), 0)
}
