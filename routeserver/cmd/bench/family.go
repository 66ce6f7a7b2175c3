package main

import "encoding/binary"

// Family is the address family that the PEs announce. Every NLRI contains its site and its route number.
type Family struct {
	afi  uint16
	safi byte
	hop  []byte // octets before the four bytes of the next hop
	size int    // of an NLRI
	nlri func(dst []byte, site, k int) []byte
	read func(nlri []byte) (site, k int) // of an NLRI of the right size

	weft string // names of the family
	frr  string
}

var families = map[string]*Family{
	"vpnv4": {afi: 1, safi: 128, hop: make([]byte, 8), size: 16, nlri: vpnv4Route, weft: "vpnv4", frr: "ipv4 vpn",
		read: func(n []byte) (int, int) { return site32(n[8:]), int(binary.BigEndian.Uint16(n[14:])) }},
	"evpn": {afi: 25, safi: 70, size: 35, nlri: evpnRoute, weft: "l2vpn-evpn", frr: "l2vpn evpn",
		read: func(n []byte) (int, int) { return site32(n[6:]), int(binary.BigEndian.Uint16(n[29:])) }},
	"vpls": {afi: 25, safi: 65, size: 19, nlri: vplsRoute, weft: "l2vpn-vpls",
		read: func(n []byte) (int, int) { return site32(n[6:]), int(binary.BigEndian.Uint16(n[10:])) - 1 }},
}

func site32(b []byte) int { return int(binary.BigEndian.Uint32(b)) - 1 }

// rd appends a site's route distinguisher, of type 0.
func rd(dst []byte, i int) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0, 0, asn>>8, asn&0xff), uint32(i+1))
}

// vpnv4Route appends a host route (RFC 4364 section 4.3.4).
func vpnv4Route(dst []byte, i, k int) []byte {
	label := uint32(i+16)<<4 | 1
	dst = rd(append(dst, 24+64+32, byte(label>>16), byte(label>>8), byte(label)), i)
	return append(dst, 100, 64, byte(k>>8), byte(k))
}

// evpnRoute appends a MAC advertisement (RFC 7432 section 7.2).
func evpnRoute(dst []byte, i, k int) []byte {
	dst = rd(append(dst, 2, 33), i)
	dst = append(dst, make([]byte, 10+4)...) // single-homed, no tag
	dst = append(dst, 48, 2, 0, byte(i>>8), byte(i), byte(k>>8), byte(k), 0)
	return append(dst, byte(i>>12), byte(i>>4), byte(i<<4)|1)
}

// vplsRoute appends a label block (RFC 4761 section 3.2.2); the VE IDs number a site's routes.
func vplsRoute(dst []byte, i, k int) []byte {
	dst = rd(append(dst, 0, 17), i)
	dst = append(dst, byte((k+1)>>8), byte(k+1), 0, 1, 0, 8)
	return append(dst, byte(k>>4), byte(k<<4), 1)
}
