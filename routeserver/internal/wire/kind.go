package wire

import "strings"

// Kind is the property that recipients of the same bytes share. The zero value is an internal neighbour with four-octet
// AS numbers.
type Kind struct {
	External bool // in another AS
	TwoOctet bool // without four-octet AS numbers (RFC 6793)
}

// defaultLocalPref is the LOCAL_PREF of external neighbours' routes within our AS.
const defaultLocalPref = "\x40\x05\x04\x00\x00\x00\x64"

// Towards returns the attributes for recipients of a kind, without the route targets. The next hop is unchanged, within
// the AS and beyond: the route server forwards no packets.
func (a *Attributes) Towards(k Kind, r Reflection) *Attributes {
	b := *a
	switch {
	case r == Reflection{}:
	case k.External:
		b.Originator, b.ClusterList = "", ""
		b.Path, b.Communities = leaving(a.Path, r.ASN), transitive(a.Communities)
	case r.Cluster == "": // from an external neighbour: the route is not reflected
		b.Path += defaultLocalPref
	default:
		if b.Originator == "" {
			b.Originator = r.Originator
		}
		b.ClusterList = r.Cluster + b.ClusterList
	}
	return &b
}

// leaving returns encoded attributes that leave our AS: with our AS number in front of the path, without LOCAL_PREF,
// without non-transitive communities, and with MULTI_EXIT_DISC only if it is ours and not another AS's (RFC 4271
// sections 5.1.2, 5.1.4, 5.1.5).
func leaving(run string, asn uint32) string {
	var left []byte
	ours := true
	EachAttribute(run, func(_, kind uint8, value, _ string) {
		ours = ours && (kind != attrASPath || len(plain(readPath(value, 4))) == 0)
	})
	EachAttribute(run, func(flags, kind uint8, value, whole string) {
		switch {
		case kind == attrASPath:
			left = appendAttribute(left, flags, kind, writePath(prepend(readPath(value, 4), asn), 4))
		case kind == attrLocalPref || kind == attrMED && !ours:
		case kind == attrExtCommunities6:
			if rest := transitive6(value); rest != "" {
				left = appendAttribute(left, flags, kind, []byte(rest))
			}
		default:
			left = append(left, whole...)
		}
	})
	return string(left)
}

// transitive returns the extended communities that may cross the border of an AS (RFC 4360 section 6).
func transitive(communities string) string { return crossing(communities, 8) }

// transitive6 does the same as transitive for IPv6-specific communities (RFC 5701).
func transitive6(communities string) string { return crossing(communities, 20) }

func crossing(communities string, size int) string {
	var rest strings.Builder
	for c := communities; len(c) >= size; c = c[size:] {
		if c[0]&0x40 == 0 {
			rest.WriteString(c[:size])
		}
	}
	return rest.String()
}

// Scope is the range of a route by its well-known communities (RFC 1997).
type Scope uint8

// The scopes.
const (
	Everywhere Scope = iota
	WithinAS         // NO_EXPORT, NO_EXPORT_SUBCONFED
	Nowhere          // NO_ADVERTISE
)

// Reaches reports whether a route may be sent to a neighbour.
func (s Scope) Reaches(external bool) bool { return s == Everywhere || s == WithinAS && !external }

// String returns the community that sets the scope.
func (s Scope) String() string { return [...]string{"", "NO_EXPORT", "NO_ADVERTISE"}[s] }

// Scope returns the range of the route.
func (a *Attributes) Scope() (s Scope) {
	EachAttribute(a.Path, func(_, kind uint8, value, _ string) {
		if kind != attrCommunities {
			return
		}
		for ; len(value) >= 4; value = value[4:] {
			switch value[:4] {
			case "\xff\xff\xff\x01", "\xff\xff\xff\x03":
				s = max(s, WithinAS)
			case "\xff\xff\xff\x02":
				s = Nowhere
			}
		}
	})
	return s
}
