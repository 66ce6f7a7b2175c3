package wire

import "encoding/binary"

// Community is a value of the COMMUNITIES attribute (RFC 1997).
type Community uint32

// Well-known communities of long-lived graceful restart (RFC 9494 sections 3.2 and 3.3).
const (
	LongLivedStale Community = 0xffff0006 // LLGR_STALE
	NoLongLived    Community = 0xffff0007 // NO_LLGR
)

// HasCommunity reports whether the attributes have a community.
func (a *Attributes) HasCommunity(c Community) (has bool) {
	EachAttribute(a.Path, func(_, kind uint8, value, _ string) {
		if kind != attrCommunities {
			return
		}
		for ; len(value) >= 4; value = value[4:] {
			has = has || binary.BigEndian.Uint32([]byte(value)) == uint32(c)
		}
	})
	return has
}

// WithCommunity returns the attributes with a community that they do not have yet.
func (a *Attributes) WithCommunity(c Community) *Attributes {
	var path []byte
	flags, communities := uint8(flagOptional|flagTransitive), []byte(nil)
	EachAttribute(a.Path, func(f, kind uint8, value, whole string) {
		if kind == attrCommunities {
			flags, communities = f, []byte(value)
			return
		}
		path = append(path, whole...)
	})
	b := *a
	b.Path = string(appendAttribute(path, flags, attrCommunities, binary.BigEndian.AppendUint32(communities, uint32(c))))
	return &b
}
