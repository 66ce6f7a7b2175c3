package wire

// VPN-IPv4 and VPN-IPv6 NLRIs (RFC 4364 section 4.3.4, RFC 4659 section 3): length in bits 1, one label 3 (RFC 8277 section
// 2.2: the capability for several labels is not negotiated), RD 8, prefix. A withdrawal's label has no meaning (section 2.4).
const (
	vpnLabel  = 1              // offset of the label
	vpnRD     = vpnLabel + 3   // offset of the route distinguisher
	vpnPrefix = vpnRD + 8      // offset of the prefix
	vpnBits   = 8 * (3 + 8)    // length field of an empty prefix
	vpnIPv4   = vpnBits + 8*4  // length field of a host route
	vpnIPv6   = vpnBits + 8*16 //
	vpnHop    = 8 + 4          // next hop: RD (of zeros) and address
	vpnHop6   = 8 + 16         // RFC 4659 section 3.2.1; also of VPN-IPv4 (RFC 8950)
	vpnHopTwo = 2 * (8 + 16)   // with a link-local address
	bottom    = byte(1)        // bottom of stack, in the third byte of a label
	noLabel   = "\x80\x00\x00" // RFC 8277 section 2.4, "withdrawn"
	nullLabel = "\x00\x00\x00" // the same, as older speakers write it
)

// splitVPN splits prefixes of at most max-vpnBits bits, also after a stack of several labels. By RFC 7606 section 5.3 a
// wrong length ends the session.
func splitVPN(max int) func([]byte) (int, bool, bool) {
	return func(buf []byte) (int, bool, bool) {
		if len(buf) == 0 {
			return 0, false, false
		}
		bits := int(buf[0])
		n := 1 + (bits+7)/8
		if bits < vpnBits || n > len(buf) || bits > max && bits-8*3*(stackDepth(string(buf[:n]))-1) > max {
			return 0, false, false
		}
		return n, true, false
	}
}

// bottomed reports whether the first label of an NLRI is marked as the last of its stack.
func bottomed(nlri string) bool { return nlri[vpnLabel+2]&bottom != 0 }

// stackDepth counts the labels up to the one marked as the last; 1 if none is, or if the first is a withdrawal's.
func stackDepth(nlri string) int {
	if label := nlri[vpnLabel:vpnRD]; label == noLabel || label == nullLabel {
		return 1
	}
	for n := 1; vpnLabel+3*n+8 <= len(nlri); n++ {
		if nlri[vpnLabel+3*n-1]&bottom != 0 {
			return n
		}
	}
	return 1
}

// vpnReadings returns the routes that an NLRI may mean: by RFC 8277, sections 2.2 and 2.4, it has one label whatever
// its bottom bit is; a speaker of RFC 3107 may have written several, the last of them marked. A reading whose route
// distinguisher has an unknown type is returned only if it is the only one. Both have one label.
func vpnReadings(nlri string, f Family) (single, stacked string) {
	most, bits := vpnIPv4, int(nlri[0])
	if f == VPNv6 {
		most = vpnIPv6
	}
	known := func(rd string) bool { return rd[0] == 0 && rd[1] <= 2 }
	if n := stackDepth(nlri); n > 1 {
		more := 3 * (n - 1)
		if left := bits - 8*more; left >= vpnBits && left <= most && known(nlri[vpnRD+more:]) {
			stacked = string([]byte{byte(left)}) + nlri[vpnLabel+more:]
		}
	}
	if bits <= most && (stacked == "" || known(nlri[vpnRD:])) {
		single = nlri
	}
	return single, stacked
}

// canonicalVPN marks the label as the last of its stack and clears the meaningless bits beyond the prefix.
func canonicalVPN(nlri string) string {
	if !bottomed(nlri) {
		b := []byte(nlri)
		b[vpnLabel+2] |= bottom
		nlri = string(b)
	}
	return masked(nlri, int(nlri[0])+8)
}

// keyVPN removes the label, and the meaningless bits beyond the prefix (RFC 4271 section 4.3).
func keyVPN(nlri string) string {
	return nlri[:1] + masked(nlri[vpnRD:], 8*8+int(nlri[0])-vpnBits)
}

// masked returns the bytes with all bits after the first n cleared.
func masked(s string, n int) string {
	clean := true
	for i, keep := n/8, byte(0xff)<<(8-n%8); i < len(s); i, keep = i+1, 0 {
		clean = clean && s[i]&^keep == 0
	}
	if clean {
		return s
	}
	b := []byte(s)
	for i, keep := n/8, byte(0xff)<<(8-n%8); i < len(b); i, keep = i+1, 0 {
		b[i] &= keep
	}
	return string(b)
}
