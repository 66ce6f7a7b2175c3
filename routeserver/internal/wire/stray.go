package wire

// Strays reports what a route carries that depends on route targets and cannot be rewritten: IPv6-specific route
// targets (RFC 5701), and the action of a traffic filter that redirects into the VRF of a route target (RFC 8955
// section 7.4, RFC 8956 section 6.1).
func (a *Attributes) Strays() (targets, redirects bool) {
	for c := a.Communities; len(c) >= 8; c = c[8:] {
		// two-octet AS, IPv4 and four-octet AS
		if c[1] == 0x08 && c[0] >= 0x80 && c[0] <= 0x82 {
			redirects = true
		}
	}
	EachAttribute(a.Path, func(_, kind uint8, value, _ string) {
		if kind != attrExtCommunities6 {
			return
		}
		for ; len(value) >= 20; value = value[20:] {
			targets = targets || value[0] == 0 && value[1] == 0x02
			redirects = redirects || value[0]&0x3f == 0 && (value[1] == 0x0d || value[1] == 0x08)
		}
	})
	return targets, redirects
}
