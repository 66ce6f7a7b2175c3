package wire

// VPN-IPv4 and VPN-IPv6 NLRIs (RFC 4364 section 4.3.4, RFC 4659 section 3): length in bits 1, one label 3 (RFC 8277
// section 2.2: the capability for several labels is not negotiated), RD 8, prefix.
const (
	vpnLabel  = 1              // offset of the label
	vpnRD     = vpnLabel + 3   // offset of the route distinguisher
	vpnPrefix = vpnRD + 8      // offset of the prefix
	vpnBits   = 8 * (3 + 8)    // length field of an empty prefix
	vpnIPv4   = vpnBits + 8*4  // and of a host
	vpnIPv6   = vpnBits + 8*16 //
	vpnHop    = 8 + 4          // next hop: RD (of zeros) and address
	vpnHop6   = 8 + 16         // RFC 4659 section 3.2.1; also of VPN-IPv4 (RFC 8950)
	vpnHopTwo = 2 * (8 + 16)   // with a link-local address
	bottom    = byte(1)        // bottom of stack, in the third byte of a label
	noLabel   = "\x80\x00\x00" // RFC 8277 section 2.4, "withdrawn"
	nullLabel = "\x00\x00\x00" // the same, as older speakers write it
)

// splitVPN takes prefixes of at most max-vpnBits bits. RFC 7606 section 5.3 calls a wrong length a reason to give up.
func splitVPN(max int) func([]byte) (int, bool, bool) {
	return func(buf []byte) (int, bool, bool) {
		if len(buf) == 0 {
			return 0, false, false
		}
		bits := int(buf[0])
		n := 1 + (bits+7)/8
		if bits < vpnBits || bits > max || n > len(buf) {
			return 0, false, false
		}
		// A label that is not the last of its stack would be read as several by speakers of RFC 3107, and what follows
		// as something else; RFC 8277 says one label whatever the bit is. Nobody is to get what can be read in two ways.
		label := string(buf[vpnLabel:vpnRD])
		return n, label[2]&bottom != 0 || label == noLabel || label == nullLabel, false
	}
}

// keyVPN leaves out the label, and the bits beyond the prefix, which have no meaning (RFC 4271 section 4.3).
func keyVPN(nlri string) string {
	return nlri[:1] + masked(nlri[vpnRD:], 8*8+int(nlri[0])-vpnBits)
}

// masked gives the bytes with those bits cleared that are beyond the first n.
func masked(s string, n int) string {
	if n%8 == 0 || s[n/8]&(0xff>>(n%8)) == 0 {
		return s
	}
	b := []byte(s)
	b[n/8] &^= 0xff >> (n % 8)
	return string(b)
}
